"""Define minimal array and tuple types for compiled functions that create no arrays.

An array in C order is represented by its address and shape. Indexing takes one instruction, and
indices must not be negative. A tuple from Python is the address of its words, which are read item
by item (:mod:`stochastic.compile_cache.native`). Numba's own types take many more instructions,
which LLVM is slow to remove.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils, typing
from numba.core.imputils import lower_builtin, lower_getattr, lower_getattr_generic
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
)
from numba.extending import models, register_model

_WORD = ir.IntType(64)


class FlatArray(types.Type):  # type: ignore[misc]
    """The type of an array in C order."""

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim
        super().__init__(f"flat({dtype}, {ndim})")

    @property
    def word_count(self) -> int:
        """Return the number of words in which Python passes the array."""
        return 5 + 2 * self.ndim


class WordTuple(types.BaseTuple):  # type: ignore[misc]
    """The type of a tuple that is passed as the address of its words."""

    def __init__(self, parts: tuple[Any, ...], names: tuple[str, ...]) -> None:
        self.types, self.names = parts, names
        super().__init__(f"words({', '.join(map(str, parts))}; {', '.join(names)})")

    def __len__(self) -> int:
        return len(self.types)

    def __iter__(self) -> Any:
        return iter(self.types)

    def __getitem__(self, place: Any) -> Any:
        return self.types[place]

    @property
    def word_count(self) -> int:
        """Return the number of words in which Python passes the tuple."""
        return sum(getattr(part, "word_count", 1) for part in self.types)

    def load_item(self, context: Any, builder: Any, words: Any, number: int) -> Any:
        """Load an item of the tuple; LLVM loads each word once, because words are constant."""
        kind = self.types[number]
        place = sum(getattr(part, "word_count", 1) for part in self.types[:number])
        return load_value(context, builder, kind, words, place)


def load_value(context: Any, builder: Any, kind: Any, words: Any, place: int) -> Any:
    """Load a value of type ``kind`` from the words that begin at index ``place``."""

    def read(ahead: int, form: Any) -> Any:
        at = builder.gep(words, [_WORD(place + ahead)], inbounds=True)
        result = builder.load(builder.bitcast(at, form.as_pointer()))
        result.set_metadata("invariant.load", builder.module.add_metadata([]))
        return result

    if isinstance(kind, WordTuple):
        return builder.gep(words, [_WORD(place)], inbounds=True)
    if isinstance(kind, FlatArray):
        data = context.get_value_type(types.CPointer(kind.dtype))
        shape = [read(5 + k, _WORD) for k in range(kind.ndim)]
        return cgutils.pack_struct(builder, [read(4, data), *shape])
    if kind == types.boolean:
        return builder.trunc(read(0, _WORD), ir.IntType(1))
    return read(0, context.get_value_type(kind))


@register_model(FlatArray)
class _FlatArrayModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        sizes = [(f"size{k}", types.int64) for k in range(kind.ndim)]
        super().__init__(manager, kind, [("data", types.CPointer(kind.dtype)), *sizes])


@register_model(WordTuple)
class _WordTupleModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _WORD.as_pointer())


@infer_getattr
class _FlatArrayAttributes(AttributeTemplate):  # type: ignore[misc]
    key = FlatArray

    def resolve_shape(self, kind: Any) -> Any:
        return types.UniTuple(types.int64, kind.ndim)

    def resolve_size(self, _: Any) -> Any:
        return types.int64


@infer_getattr
class _WordTupleAttributes(AttributeTemplate):  # type: ignore[misc]
    key = WordTuple

    def generic_resolve(self, kind: Any, name: str) -> Any:
        return kind.types[kind.names.index(name)] if name in kind.names else None


@lower_getattr(FlatArray, "shape")  # type: ignore[untyped-decorator]
def _lower_shape(_: Any, builder: Any, kind: Any, array: Any) -> Any:
    return cgutils.pack_array(builder, _dimension_sizes(builder, kind, array))


@lower_getattr(FlatArray, "size")  # type: ignore[untyped-decorator]
def _lower_size(_: Any, builder: Any, kind: Any, array: Any) -> Any:
    result, *rest = _dimension_sizes(builder, kind, array)
    for size in rest:
        result = builder.mul(result, size)
    return result


def _dimension_sizes(builder: Any, kind: Any, array: Any) -> list[Any]:
    return [builder.extract_value(array, k + 1) for k in range(kind.ndim)]


@lower_getattr_generic(WordTuple)  # type: ignore[untyped-decorator]
def _lower_attribute(context: Any, builder: Any, kind: Any, words: Any, name: str) -> Any:
    return kind.load_item(context, builder, words, kind.names.index(name))


@lower_builtin("static_getitem", WordTuple, types.IntegerLiteral)  # type: ignore[untyped-decorator]
def _lower_item(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return signature.args[0].load_item(context, builder, *args)


def _index_count(kind: Any, index: Any) -> int | None:
    """Return the number of integer indices into a flat array; None for other arrays or indices."""
    parts = tuple(index) if isinstance(index, types.BaseTuple) else (index,)
    whole = all(isinstance(part, types.Integer | types.Boolean) for part in parts)
    return len(parts) if isinstance(kind, FlatArray) and whole else None


@infer_global(operator.getitem)
class _GetItemTyping(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, _: Any) -> Any:
        array, index = args
        count = _index_count(array, index)
        if count is None or count > array.ndim:
            return None
        rest = array.ndim - count
        result = FlatArray(array.dtype, rest) if rest else array.dtype
        return typing.signature(result, array, index)


@infer_global(operator.setitem)
class _SetItemTyping(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, _: Any) -> Any:
        array, index, _ = args
        if _index_count(array, index) != getattr(array, "ndim", 0):
            return None
        return typing.signature(types.none, array, index, array.dtype)


def _item_address(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return the address of an item or a row, and the shape of the row."""
    (kind, form), (array, index) = signature.args[:2], args[:2]
    single = not isinstance(form, types.BaseTuple)
    forms, parts = ((form,), [index]) if single else (form, cgutils.unpack_tuple(builder, index))
    sizes, place = _dimension_sizes(builder, kind, array), None
    steps = [context.cast(builder, *pair, types.int64) for pair in zip(parts, forms, strict=True)]
    for k, size in enumerate(sizes):
        if place is not None:
            place = builder.mul(place, size, flags=["nsw"])
        if k < len(steps):
            place = steps[k] if place is None else builder.add(place, steps[k], flags=["nsw"])
    data = builder.gep(builder.extract_value(array, 0), [place], inbounds=True)
    return data, sizes[len(steps) :]


@lower_builtin(operator.getitem, FlatArray, types.Any)  # type: ignore[untyped-decorator]
def _lower_getitem(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    data, sizes = _item_address(context, builder, signature, args)
    if sizes:
        return cgutils.pack_struct(builder, [data, *sizes])
    return context.unpack_value(builder, signature.return_type, data)


@lower_builtin(operator.setitem, FlatArray, types.Any, types.Any)  # type: ignore[untyped-decorator]
def _lower_setitem(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    data, _ = _item_address(context, builder, signature, args)
    context.pack_value(builder, signature.args[0].dtype, args[2], data)
    return context.get_dummy_value()
