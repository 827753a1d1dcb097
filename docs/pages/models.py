"""Generate a page for each model: equations, sources, units, regimes, advice."""

import contextlib
import importlib
import inspect
import re
from itertools import combinations

import dse
from pages.gallery import figures_of
from pages.rst import heading, listed, math, paragraphs, plain, table
from symbolic.answer import value_text
from symbolic.closed_form import latex_symbols
from symbolic.library import SHIPPED_FOLDER, available_models, run_file
from symbolic.node import is_readable
from symbolic.quantities import RULES

#: Formulas longer than this, in LaTeX, are left to the equations they are made of.
LONG = 260

KEPT = "A configuration that breaks a rule is infeasible. Rules of unknown quantities are skipped."


def module_of(model):
    """Return the module of a model, which is loaded from its file if it is not shipped."""
    path = available_models().get(model.name)
    if path is None or path.parent == SHIPPED_FOLDER:
        return importlib.import_module(f"symbolic.models.{model.name}")
    return run_file(path)[0]


def label_of(model, eq):
    """Return the label of an equation, or of the first equation of a quantity."""
    return (
        f"{model.name}-{eq}" if isinstance(eq, str) else f"{model.name}-{eq.name}-{eq.switch_text}"
    )


def link(model, name):
    """Return the name of a quantity, as a link if the model has an equation for it."""
    return f":ref:`{name} <{label_of(model, name)}>`" if name in model.yields else f"``{name}``"


def symbol(model, name):
    """Return the symbol of the paper, if the model has one."""
    return latex_symbols(model)[name] if name in model.symbols_by_name else ""


def written(model, name):
    """Return the LaTeX of a quantity: its symbol, or else its name."""
    return symbol(model, name) or rf"\mathrm{{{name}}}".replace("_", r"\_")


def latex(model, expression):
    """Return the LaTeX of a SymPy expression with the symbols of the paper."""
    from sympy import latex as write

    names = {part: written(model, part.name) for part in expression.free_symbols}
    return write(expression, symbol_names=names, mul_symbol="dot")


def domain(row):
    """Return the values that a quantity may take, as text."""
    if row.is_label:
        return " or ".join(f"``{label}``" for label in row.labels) or "a label"
    return plain(row.domain).replace("inf", "∞").replace(" ", "\N{NO-BREAK SPACE}")


def default(model, row):
    """Return the default value of a quantity, as text."""
    if row.default is None:
        return ""
    if row.is_label or row.default in model.quantities:
        return f"``{row.default}``"
    return value_text(row.default, row.unit)


def quantities(model, names):
    """Return a table of quantities."""
    rows = []
    for name in names:
        row, sign = model.quantity(name), symbol(model, name)
        cells = [link(model, name), f":math:`{sign}`" if sign else "", plain(row.unit), domain(row)]
        rows.append([*cells, default(model, row), plain(row.meaning)])
    header = ["quantity", "symbol", "unit", "domain", "default", "meaning"]
    kept = [at for at in range(6) if at in (0, 5) or any(row[at] for row in rows)]
    return table([header[at] for at in kept], [[row[at] for at in kept] for row in rows])


def switches_of(model):
    """Return the equations that each switch of a model selects."""
    found = {}
    for eq in model.equations:
        for name in eq.when:
            found.setdefault(name, {}).setdefault(eq.name, []).append(eq)
    return found


def switches(model):
    """Yield each switch with its labels, its equations and the reason of a correction."""
    for name, chosen in switches_of(model).items():
        row = model.quantity(name)
        yield f"**{name}**: {plain(row.meaning)}; {domain(row)}, by default ``{row.default}``."
        if name != "printed":
            yield "Selects the equations of " + ", ".join(link(model, of) for of in chosen) + "."
            continue
        yield "These equations are corrected by default; ``true`` gives the printed equations:"
        reasons = {of: [told(eq) for eq in eqs if told(eq)] for of, eqs in chosen.items()}
        yield listed(f"{link(model, of)}. {' '.join(why)}" for of, why in reasons.items())


def told(eq):
    """Return the docstring of a correction without its first paragraph."""
    if eq.when.get("printed") != "false":
        return ""
    parts = re.split(r"\n\s*\n", eq.doc)[1:]
    return " ".join(" ".join(p.split()) for p in parts if not p.startswith((">>>", ".. math")))


def regimes(model):
    """Yield each family of regimes with conditions, main outputs and borders."""
    union = getattr(module_of(model), "UNION", "")
    if union:
        parts = ", ".join(f":ref:`{part} <model-{part}>`" for part in union.split(" + "))
        yield f"The regimes of its parts: {parts}."
        return
    families = {family.of: family for family in model.regime_families}
    known = [set(family.terms) for family in model.regime_families]
    flagged = [
        eq.name
        for eq in model.equations
        if eq.flags
        and (eq.table or is_readable(eq.node))
        and not any(terms <= set(eq.flags.values()) for terms in known)
    ]
    for of in dict.fromkeys([*families, *flagged]):
        try:
            found = model.regimes(of)
        except dse.DseError:  # of a switch that is not the default
            found = ()
        family = families.get(of)
        if family is None and not found:
            continue
        size = "largest" if family and family.largest else "smallest"
        terms = family.terms.items() if family else ()
        which = ", ".join(f"*{name}* {link(model, term)}" for name, term in terms)
        points = [text for one in found if (text := regime(model, one, family is None))]
        if which or points:
            yield f"{link(model, of)}" + (f", the {size} of: {which}." if which else ":")
            yield listed(points)
        rows = list(borders(model, family)) if found and family else []
        if rows:
            yield "Borders, at which two of these are equal:"
            yield table(["between", "at"], rows)


def regime(model, one, alone):
    """Return the condition of a regime, and the main outputs if their formulas are short.

    Nothing where there are none, unless the condition stands alone: no terms tell it.
    """
    condition = latex(model, one.condition)
    short = len(condition) < LONG
    text = f"*{plain(one.label)}* where\n\n{math(condition)}" if short else f"*{plain(one.label)}*"
    found = []
    for name, expression in one.outputs.items():
        if name != one.of and hasattr(expression, "free_symbols"):
            formula = f"{written(model, name)} = {latex(model, expression)}"
            found += [formula] if len(formula) < LONG and "cases" not in formula else []
    joined = math(", \\quad ".join(found))
    if not found:
        return text if alone and short else ""
    return f"{text}\n\nwith\n\n{joined}"


def borders(model, family):
    """Yield the borders between regimes, solved for the inputs of their terms."""
    standing = {}
    for term in family.terms.values():
        names = {term}
        with contextlib.suppress(dse.DseError):
            names |= {part.name for part in model.closed_form(term).free_symbols}
        standing[term] = names
    for (a, first), (b, second) in combinations(family.terms.items(), 2):
        for name in model.inputs:
            if name not in standing[first] | standing[second]:
                continue
            with contextlib.suppress(dse.DseError):
                found = model.border(a, b, solve_for=name)
                for one in found if isinstance(found, list) else [found]:
                    text = latex(model, one)
                    if len(text) < LONG:
                        at = f":math:`{written(model, name)} = {text}`"
                        yield [f"{plain(a)}, {plain(b)}", at]


def rules(model):
    """Yield the rules of the model, and the common rules about its quantities."""
    known = {*model.inputs, *model.yields}
    for rule in model.rules:
        if rule not in RULES or known.issuperset(re.findall(r"[a-z_]\w*", rule)):
            yield f"``{rule}``"


def advice(model):
    """Yield the inputs that ``dse.advise`` tries."""
    for guide in model.guides:
        aim = "larger" if guide.maximize else "smaller"
        by = f", depending on {link(model, guide.state)}" if guide.state != guide.goal else ""
        yield f"Advice to make {link(model, guide.goal)} {aim}{by}."
        labels = next(eq.flags for eq in model.variants(guide.state)).values()
        helps = {"in any": guide.helps} if isinstance(guide.helps, str) else guide.helps
        for label, text in helps.items():
            if text and (label in labels or label == "in any" or not labels):
                names = re.sub(r"\w+", lambda name: link(model, name[0]), text)
                names = re.sub(r"\s*\+\s*", " with ", names)
                yield listed([f"*{plain(label)}*: change {names}"])
        for switch, note in guide.notes.items():
            yield f"With ``{switch}``: {plain(note)}."
        for name, of in guide.suggests.items():
            if name in model.yields:
                yield f"{link(model, name)} is the suggested {link(model, of)}, in closed form."
        for name, what in guide.remedies.items():
            yield f"With {link(model, what)}, it would be {link(model, name)}."


def equations(model):
    """Yield every equation with its source, switches, formula and docstring."""
    for eq, line in zip(model.equations, model.latex().splitlines(), strict=True):
        row = model.quantity(eq.name)
        first = eq is model.variants(eq.name)[0]
        extra = f"\n\n.. _{label_of(model, eq.name)}:" if first else ""
        title = f"{eq.name} ({eq.switch_text})" if eq.when else eq.name
        yield f".. _{label_of(model, eq)}:{extra}\n\n" + heading(title, "~")
        unit = f" [{plain(row.unit)}]" if row.unit else ""
        meaning = f": {plain(row.meaning)}" if row.meaning else ""
        flags = "; ".join(f"{value} {text}" for value, text in eq.flags.items())
        flags = f" Values: {plain(flags)}." if flags else ""
        source = f"*{plain(eq.source)}*. " if eq.source else ""
        yield f"{source}``{eq.name}``{unit} in {domain(row)}{meaning}.{flags}"
        if eq.table:
            names = ", ".join(link(model, name) for name in eq.inputs)
            yield f"A table equation, computed before the grid from {names}."
        else:
            yield math(line.rsplit(r" \quad \text{", 1)[0])
        yield eq.doc


def model_page(model):
    """Return the page of a model."""
    doc = inspect.getdoc(module_of(model)) or ""
    parts = [heading(model.name, "=", f"model-{model.name}"), doc]
    parts += [f"In Python ``dse.model({model.name!r})``, in a shell ``dse models {model.name}``."]
    parts += figures_of(model)
    sections = {
        "Inputs": [quantities(model, model.inputs)],
        "Main outputs": [quantities(model, model.outputs)],
        "Switches and corrections": list(switches(model)),
        "Rules": [KEPT, listed(rules(model))] if any(rules(model)) else [],
        "Regimes": list(regimes(model)),
        "Advice": list(advice(model)),
    }
    for title, texts in sections.items():
        if any(texts):
            parts += [heading(title, "-"), *texts]
    parts += [heading("Equations", "-"), *equations(model)]
    return paragraphs(*parts)
