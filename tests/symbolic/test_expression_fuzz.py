import math

from hypothesis import example, given, settings
from hypothesis import strategies as st

from symbolic import ops
from symbolic.errors import DseError, ExpressionError
from symbolic.expression import parse, parse_condition, parse_value
from symbolic.ops import Node
from symbolic.quantities import TABLE
from tests.long import draws

VALID = [
    "power(active_sms, 2) <= 150 and time <= 10 ms",
    "where(1 <= active_sms <= n_sms, 2 * time, 3 s)",
    "divide(total_cycles, core_clock, 1e3 ms) + time",
    "-mem_bandwidth ** 2 / 141.7 GB/s",
    "not (occupancy < 50 % or exec_cycles > 420 cycles)",
    "max(min(mwp, cwp), floor(warps_per_sm / 4), 2 J s / 1 J s)",
    "400 ns * core_clock ^ 1 / (1_000 / ms)",
    "sqrt(absolute(log2(threads))) != exp(-1.5e-3)",
]
WORDS = [
    *("active_sms", "time", "core_clock", "threads", "printed", "x", "s", "ms", "GB", "GB/s", "%"),
    *("min", "where", "divide", "power", "sqrt", "exp", "log", "floor", "and", "or", "not"),
    *("+", "-", "*", "/", "**", "^", "(", ")", ",", "<", "<=", ">", ">=", "==", "!=", "//", "="),
    *("0", "1", "2", "10", "64", "65", "0.5", "1e3", "1e308", "1e999", "1e-320", "9" * 30),
    *(".", "'", "[", "]", "__class__", "lambda", "é", "\n", "\x00"),
]


def outcome(read, text):
    try:
        return read(text, TABLE), 0
    except ExpressionError as error:
        return None, error.position


def check(text):
    """Only our errors come out, that point into the text; what is read is sound."""
    for read in (parse, parse_condition):
        node, position = outcome(read, text)
        if node is None:
            assert 0 <= position <= len(text)
            continue
        assert isinstance(node, Node)
        assert set(ops.references(node)) <= TABLE.keys()
        assert node.is_boolean is (read is parse_condition)
        for part in ops.walk((node,)):
            if part.op == "constant":
                assert type(part.args[0]) in (int, float)
    for name in ("time", "n_sms", "mem_bandwidth", "printed"):
        try:
            value = parse_value(text, TABLE[name], TABLE)
        except DseError:
            continue
        if isinstance(value, float):
            assert math.isfinite(value)
        else:
            assert ops.references(value)


@settings(deadline=None, max_examples=draws(100))
@given(st.text())
@example("\ud800")
@example("\x1c")
@example("1e999999999999999999")
@example("0e-999999999999")
def test_any_text(text):
    check(text)


@settings(deadline=None, max_examples=draws(100))
@given(st.text("abcdefgs0123456789.eE_+-*/^()<>=!,% \t'\"[]", max_size=60))
def test_any_text_of_the_alphabet(text):
    check(text)


@settings(deadline=None, max_examples=draws(150))
@given(st.lists(st.sampled_from(WORDS), max_size=25), st.sampled_from(["", " "]))
def test_any_words(words, blank):
    check(blank.join(words))


@st.composite
def mutants(draw):
    text = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 5)))
        filling = draw(st.sampled_from(["", text[start:end] * 2, *WORDS]))
        text = text[:start] + filling + text[end:]
    return text


@settings(deadline=None, max_examples=draws(150))
@given(mutants())
def test_valid_formulas_with_faults(text):
    check(text)


@settings(deadline=None, max_examples=draws(50))
@given(st.sampled_from(WORDS), st.integers(1, 12_000))
def test_one_word_over_and_over(word, count):
    check(word * count)
    check((word + " ") * min(count, 3_000))


def test_the_valid_ones_are_valid():
    for text in VALID:
        read = parse_condition if any(sign in text for sign in ("<", "!=", "not")) else parse
        if text.startswith("where"):
            read = parse
        assert isinstance(read(text, TABLE), Node)
