"""The edit that gives an expression back the leaf's dtype: `(state.step + 1.0).astype(...)`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from donatree.fixes import code, naming, returned
from donatree.fixes.code import Text
from donatree.ledger import Edit, Grade, Leaf, Location, Slot
from donatree.origin.drift import Origin
from donatree.source.tree import Source, begin_of, end_of, source_of

_LONG = 90

# What returns no single array: of `jax.numpy`, and of `jax.lax`.
_SEVERAL = frozenset(
    (
        *("array_split", "broadcast_arrays", "divmod", "dsplit", "frexp", "gradient", "histogram"),
        *("hsplit", "ix_", "meshgrid", "modf", "nonzero", "split", "unique", "unstack", "vsplit"),
        *("associative_scan", "cond", "fori_loop", "map", "scan", "switch", "top_k", "while_loop"),
        *("broadcast_shapes", "indices", "mask_indices", "tril_indices", "triu_indices"),
    )
)
_MODULES = ("jax.numpy", "jax.lax", "jax.nn", "jax.random", "jax.scipy.special")


Makes = Callable[[Location, Collection[int], Collection[int]], bool]


@dataclass(frozen=True, slots=True)
class Drifted:
    """Leaves that drifted in one expression.

    Attributes:
        origin: where; None where that is not known.
        leaves: of one dtype.
        slots: their successors.
        harmless: indices of slots that are of their leaf's type, which a cast to that changes not.
        function: where the jitted function is defined.
    """

    origin: Origin | None
    leaves: Sequence[Leaf]
    slots: Sequence[Slot]
    harmless: frozenset[int]
    function: Location | None


@dataclass(frozen=True, slots=True)
class Cast:
    """An edit that casts the value of an expression, or what is known where there is none.

    Attributes:
        shown: the edited expression with what it is given to, on one line; None where the edit is
            not one expression.
        edit: None where the edit is not one expression.
        grade: how far it is certain.
        notes: facts, where the edit is not certain.
        leaves_out: whether the edit aims a cast that is there at the leaf's dtype.
    """

    shown: str | None
    edit: Edit | None
    grade: Grade
    notes: tuple[str, ...] = ()
    leaves_out: bool = False


def cast(drifted: Drifted, makes: Makes, *, can_leave_out: bool) -> Cast:
    """Finds the edit that makes of a program what a cast at its end makes of it.

    That is the expression in which the leaves drifted, if it makes nothing else than their slots;
    or else the expression that is returned as the slot.

    Args:
        drifted: the leaves.
        makes: whether the expression at a place makes just the values of some slots.
        can_leave_out: whether the slots had their leaves' dtype before a last cast.

    Returns:
        A sketch where there is no such expression.
    """
    first = _at_origin(drifted, makes, can_leave_out)
    if first.grade == "sure":
        return first
    second = _at_return(drifted)
    if second is not None and (second.grade == "sure" or first.edit is None):
        return second
    return first


def _at_origin(drifted: Drifted, makes: Makes, can_leave_out: bool) -> Cast:
    origin = drifted.origin
    if origin is None or origin.location is None:
        return _sketch("its place is not known")
    if origin.library is not None:
        return _sketch("a library's code makes the value")
    if origin.also:
        return _sketch("several expressions do the same")
    where = origin.location
    source = source_of(where.file)
    node = node_of(source, where) if source else None
    if source is None or node is None:
        return _sketch("the place is not one expression")
    jitted = code.function_around(source, node, drifted.function)
    text = Text(where.file)
    dtype = naming.dtype_of(source, text, node, drifted.leaves, drifted.function)
    each_by_its_own = dtype.how in ("pattern", "parameter")
    harmless = drifted.harmless if each_by_its_own else frozenset()
    if not makes(where, [each.flat_index for each in drifted.slots], harmless):
        return _sketch("the step goes on with the value that the expression makes")
    leaves_out = can_leave_out and target_of_cast(node) is not None
    if isinstance(node, ast.AugAssign):
        made = _of_statement(text, where.file, node, dtype.text)
    elif leaves_out:
        made = _of_cast(source, text, where.file, node, dtype.text)
    elif _makes_one_array(source, node):
        made = _of_expression(source, text, where.file, node, dtype.text)
    else:
        return _sketch("what the expression makes may be more than one array")
    grade, notes = _graded(drifted.leaves, dtype, jitted)
    return Cast(*made, grade, notes, leaves_out)


def _at_return(drifted: Drifted) -> Cast | None:
    """The edit of what is returned as the one slot."""
    if len(drifted.slots) != 1 or (drifted.origin and drifted.origin.unknown):
        return None
    found = returned.expression_of(drifted.slots[0].path, drifted.function)
    if found is None:
        return None
    source, node = found
    if isinstance(node, ast.Constant):
        return None
    text = Text(source.file)
    dtype = naming.dtype_of(source, text, node, drifted.leaves, drifted.function)
    return Cast(*_of_expression(source, text, source.file, node, dtype.text), "sure")


def _sketch(why: str) -> Cast:
    return Cast(None, None, "sketch", (f"it is no edit of one expression: {why}",))


def node_of(source: Source, where: Location) -> ast.expr | ast.AugAssign | None:
    """The expression that takes up a location, or the augmented assignment.

    A method called over several lines has the place of its name and arguments alone, up to the
    end of the call (measured on Python 3.11 to 3.13).
    """
    if where.column is None or where.end_line is None or where.end_column is None:
        return None
    start, end = (where.line, where.column), (where.end_line, where.end_column)
    node = source.at((where.line, where.end_line, where.column, where.end_column))
    if node is None or end_of(node) != end:
        return None
    if begin_of(node) == start:
        return node if isinstance(node, ast.expr | ast.AugAssign) else None
    match node:
        case ast.Call(func=ast.Attribute(value=value)) if end_of(value) < start:
            return node
    return None


def _of_expression(
    source: Source, text: Text, file: str, node: ast.expr, dtype: str
) -> tuple[str, Edit]:
    start, end = text.with_parentheses(node, code.own_layers(source, node))
    inner = text.slice(start, end)
    if (start, end) == text.span(node) and code.needs_parentheses(node):
        inner = f"({inner})"
    made = f"{inner}.astype({dtype})"
    shown = made if "\n" not in made else f"({ast.unparse(node)}).astype({dtype})"
    return _shown(source, text, node, shown), text.edit(file, start, end, made)


def _of_cast(source: Source, text: Text, file: str, node: ast.expr, dtype: str) -> tuple[str, Edit]:
    """`x.astype(t)`, `jnp.asarray(x, t)` and their like with another type."""
    wanted = target_of_cast(node)
    assert wanted is not None
    start, end = text.span(node)
    first, last = text.span(wanted)
    made = text.slice(start, first) + dtype + text.slice(last, end)
    return _shown(source, text, node, made), text.edit(file, start, end, made)


def target_of_cast(node: ast.AST) -> ast.expr | None:
    """The type that an expression casts to; None where it is no cast."""
    if not isinstance(node, ast.Call):
        return None
    name = code.last_name(node.func)
    place = 0 if name == "astype" else 1
    if name not in ("astype", "asarray", "array", "convert_element_type"):
        return None
    for each in node.keywords:
        if each.arg in ("dtype", "new_dtype"):
            return each.value
    return node.args[place] if len(node.args) > place else None


def _of_statement(text: Text, file: str, node: ast.AugAssign, dtype: str) -> tuple[str, Edit]:
    """`x = (x + 1.0).astype(x.dtype)` for `x += 1.0`."""
    start, end = text.span(node)
    target, value = text.of(node.target), text.of(node.value)
    between = text.slice(text.span(node.target)[1], text.span(node.value)[0])
    sign = between.strip().rstrip("( \t").removesuffix("=").strip()
    if code.needs_parentheses(node.value) and not isinstance(node.value, ast.Constant):
        value = f"({value})"
    made = f"{target} = ({target} {sign} {value}).astype({dtype})"
    return " ".join(made.split()), text.edit(file, start, end, made)


def _makes_one_array(source: Source, node: ast.expr) -> bool:
    match node:
        case ast.BinOp() | ast.UnaryOp() | ast.Subscript() | ast.Compare():
            return True
        case ast.Call(func=ast.Attribute(value=value, attr=name)):
            if naming.is_module(source, value, *_MODULES):
                return name not in _SEVERAL
            return _is_method_of_an_array(source, value, name)
    return False


_METHODS = frozenset(
    (
        *("add", "apply", "argmax", "argmin", "astype", "clip", "copy", "cumprod", "cumsum"),
        *("diagonal", "divide", "dot", "flatten", "get", "max", "mean", "min", "multiply", "mul"),
        *("power", "prod", "ravel", "repeat", "reshape", "round", "set", "sort", "squeeze", "std"),
        *("sum", "swapaxes", "take", "trace", "transpose", "var", "view", "conj"),
    )
)


def _is_method_of_an_array(source: Source, value: ast.expr, name: str) -> bool:
    root = value
    while isinstance(root, ast.Attribute | ast.Subscript | ast.Call):
        root = root.func if isinstance(root, ast.Call) else root.value
    return name in _METHODS and not naming.is_module(source, value, "jax", "jax.tree")


def _graded(
    leaves: Sequence[Leaf], dtype: naming.Dtype, function: code.Function | None
) -> tuple[Grade, tuple[str, ...]]:
    if function is None:
        return "maybe", ("the expression stands outside of the jitted function",)
    if dtype.how == "literal" and len(leaves) > 1:
        return "maybe", ("the expression is that of several leaves",)
    return "sure", ()


def _shown(source: Source, text: Text, node: ast.AST, made: str) -> str:
    """The edited expression with the keyword, key or name that it is given to."""
    made = " ".join(made.split())
    if len(made) > _LONG:
        made = f"(...){made[made.rindex('.astype(') :]}"
    match source.parent(node):
        case ast.keyword(arg=str(name)):
            return f"{name}={made}"
        case ast.Dict(keys=keys, values=values) if node in values:
            key = keys[values.index(node)]  # type: ignore[arg-type]
            return f"{text.of(key)}: {made}" if key is not None else made
        case ast.Assign(targets=[target]):
            return f"{text.of(target)} = {made}"
        case ast.Return():
            return f"return {made}"
    return made
