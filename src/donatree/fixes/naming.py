"""How the code at an expression names the dtype of a leaf: `state.step.dtype`, `jnp.int32`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from donatree import paths
from donatree.fixes.code import FUNCTIONS, Function, Text, chains, function_around
from donatree.ledger import Leaf, Location
from donatree.source.binding import bindings
from donatree.source.tree import Source

How = Literal["leaf", "pattern", "parameter", "self", "literal"]

_HELPERS = 4  # functions between the jitted one and the one in which `jax.tree.map` is called
_MAPS = ("tree.map", "tree_map", "tree_util.tree_map")


@dataclass(frozen=True, slots=True)
class Dtype:
    """The text of a dtype, and how it was found.

    Attributes:
        text: for example ``state.step.dtype``.
        how: ``leaf`` where it names the leaf itself, ``pattern`` where it names each of the leaves
            in its turn, ``parameter`` where it names what
            `jax.tree.map` hands to a function of the leaf, ``self`` where a method names an
            attribute of the leaf's own path, else ``literal``.
    """

    text: str
    how: How


def dtype_of(
    source: Source, text: Text, node: ast.AST, leaves: Sequence[Leaf], where: Location | None
) -> Dtype:
    """Names the dtype of leaves where an expression stands.

    Args:
        source: the file.
        text: its text.
        node: the expression, or a statement such as `x += 1.0`.
        leaves: of one dtype.
        where: where the jitted function is defined.
    """
    found = _by_map(source, node, leaves, where)
    if found:
        return Dtype(f"{found}.dtype", "parameter")
    function = function_around(source, node, where)
    if function is not None:
        found = _by_pattern(source, text, node, leaves, function)
        if found:
            return Dtype(f"{found}.dtype", "pattern")
        found = _by_path(source, text, node, leaves, function)
        if found:
            return Dtype(f"{found}.dtype", "leaf")
    else:
        found = _by_self(source, text, node, leaves)
        if found:
            return Dtype(f"{found}.dtype", "self")
    return Dtype(literal(source, leaves[0].spec.dtype), "literal")


def literal(source: Source, dtype: str) -> str:
    """A dtype by the file's own name of `jax.numpy`, in quotes where it has none.

    Example:
        >>> literal(Source("<x>", ast.parse("import jax.numpy as np2")), "bfloat16")
        'np2.bfloat16'
    """
    name = module_name(source, "jax.numpy")
    return f"{name}.{dtype}" if name else f'"{dtype}"'


def module_name(source: Source, module: str) -> str | None:
    """What a file calls a module, or something in one.

    Args:
        source: the file.
        module: ``jax.numpy``, ``functools.partial``.

    Returns:
        None where the file does not import it at its outermost level.
    """
    package, _, last = module.rpartition(".")
    found = None
    for node in source.module.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname and alias.name == module:
                    return alias.asname
                if alias.asname and alias.name == package:
                    found = f"{alias.asname}.{last}"
                elif not alias.asname and alias.name.partition(".")[0] == package:
                    found = found or module
        elif isinstance(node, ast.ImportFrom) and node.module == package and not node.level:
            for alias in node.names:
                if alias.name == last:
                    return alias.asname or last
    return found


def _by_path(
    source: Source, text: Text, node: ast.AST, leaves: Sequence[Leaf], function: Function
) -> str | None:
    """The one leaf's own path, where its argument still has its name."""
    if len(leaves) != 1:
        return None
    path = leaves[0].path
    try:
        parsed = ast.parse(path, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    wanted = ast.unparse(parsed)
    if not any(parsed is each for each in chains(parsed)):
        return None
    if not _is_argument(source, node, wanted, function):
        return None
    for place in (node, function):
        for each in chains(place):
            if ast.unparse(each) == wanted:
                return text.of(each)
    double = text.data.count(b'"') >= text.data.count(b"'")
    return wanted.replace("'", '"') if double and '"' not in wanted else wanted


def _by_pattern(
    source: Source, text: Text, node: ast.AST, leaves: Sequence[Leaf], function: Function
) -> str | None:
    """An operand such as `params[k]` that stands for every leaf in turn."""
    for each in chains(node):
        pieces = [*_pieces(each)]
        if len(pieces) < 2 or None not in pieces[1:] or pieces[0] is None:
            continue
        if not all(_matches(pieces, leaf.path) for leaf in leaves):
            continue
        if _is_argument(source, node, pieces[0], function):
            return text.of(each)
    return None


def _pieces(chain: ast.expr) -> Iterator[str | None]:
    """The pieces of a chain as paths have them; None for an item that is not a constant."""
    match chain:
        case ast.Attribute(value=value, attr=attr):
            yield from _pieces(value)
            yield f".{attr}"
        case ast.Subscript(value=value, slice=ast.Constant(value=key)):
            yield from _pieces(value)
            yield f"[{key!r}]"
        case ast.Subscript(value=value, slice=ast.Name()):
            yield from _pieces(value)
            yield None
        case ast.Name(id=name):
            yield name
        case _:
            yield "?"


def _matches(pieces: Sequence[str | None], path: str) -> bool:
    parts = paths.split(path)
    return len(parts) == len(pieces) and all(
        piece is None or piece == part for piece, part in zip(pieces, parts, strict=True)
    )


def _by_map(
    source: Source, node: ast.AST, leaves: Sequence[Leaf], where: Location | None
) -> str | None:
    """The parameter to which `jax.tree.map` hands each of the leaves."""
    inner = source.scope(node)
    if not isinstance(inner, FUNCTIONS):
        return None
    call = mapping_call(source, inner)
    if call is None:
        return None
    for parameter, tree in zip(inner.args.args, call.args[1:], strict=False):
        text = _as_jitted(source, call, ast.unparse(tree), where)
        parts = paths.split(text) if text else ()
        if not parts or not all(paths.split(leaf.path)[: len(parts)] == parts for leaf in leaves):
            continue
        bound = bindings(source, node, parameter.arg)
        if bound and all(each.node is parameter for each in bound):
            return parameter.arg
    return None


def _as_jitted(source: Source, node: ast.AST, path: str, where: Location | None) -> str | None:
    """What a path at `node` is in the jitted function: through helpers that are called once.

    Returns:
        A path that begins at a parameter of the jitted function; None where it is not one.
    """
    for _ in range(_HELPERS):
        jitted = function_around(source, node, where)
        if jitted is not None:
            return path if _is_argument(source, node, path, jitted) else None
        helper = source.scope(node)
        if not isinstance(helper, ast.FunctionDef) or not _is_argument(source, node, path, helper):
            return None
        root, *rest = paths.split(path)
        call = _only_call(source, helper)
        given = _given(helper, call, root) if call else None
        if call is None or given is None:
            return None
        node, path = call, ast.unparse(given) + "".join(rest)
    return None


def _only_call(source: Source, helper: ast.FunctionDef) -> ast.Call | None:
    uses = [
        each
        for each in ast.walk(source.module)
        if isinstance(each, ast.Name) and each.id == helper.name
    ]
    call = source.parent(uses[0]) if len(uses) == 1 else None
    return call if isinstance(call, ast.Call) and call.func is uses[0] else None


def _given(helper: ast.FunctionDef, call: ast.Call, name: str) -> ast.expr | None:
    """The argument of a call that a parameter gets."""
    if any(isinstance(each, ast.Starred) for each in call.args):
        return None
    names = [each.arg for each in (*helper.args.posonlyargs, *helper.args.args)]
    by_position = dict(zip(names, call.args, strict=False))
    by_name = {each.arg: each.value for each in call.keywords}
    return by_position.get(name) or by_name.get(name)


def mapping_call(source: Source, inner: Function) -> ast.Call | None:
    """The only use of a function, where that is `jax.tree.map(inner, ...)`."""
    if isinstance(inner, ast.Lambda):
        uses: list[ast.AST] = [inner]
    else:
        uses = [
            each
            for each in ast.walk(source.module)
            if isinstance(each, ast.Name) and each.id == inner.name
        ]
    call = source.parent(uses[0]) if len(uses) == 1 else None
    if not isinstance(call, ast.Call) or not call.args or call.args[0] is not uses[0]:
        return None
    name = ast.unparse(call.func)
    return call if any(name == each or name.endswith(f".{each}") for each in _MAPS) else None


def _is_argument(source: Source, node: ast.AST, path: str, function: Function) -> bool:
    """Whether a path at `node` still begins at a parameter of the jitted function."""
    bound = bindings(source, node, path)
    return bool(bound) and all(
        each.kind == "parameter" and source.scope(each.node) is function for each in bound
    )


def _by_self(source: Source, text: Text, node: ast.AST, leaves: Sequence[Leaf]) -> str | None:
    """`self.count.value` in a method, for the leaf `model.count.value`."""
    method = source.scope(node)
    if len(leaves) != 1 or not isinstance(method, ast.FunctionDef) or not method.args.args:
        return None
    if not isinstance(source.parent(method), ast.ClassDef):
        return None
    first, parts = method.args.args[0].arg, paths.split(leaves[0].path)
    for each in chains(node):
        pieces = [*_pieces(each)]
        below = pieces[1:]
        if pieces[0] == first and below and tuple(below) == parts[-len(below) :]:
            around = source.parent(each)  # flax nnx: the array is `.value` of the leaf's variable
            has_value = isinstance(around, ast.Attribute) and around.attr == "value"
            return text.of(around if has_value and around is not None else each)
    return None


def is_module(source: Source, node: ast.AST, *modules: str) -> bool:
    """Whether an expression is the file's name of one of these modules."""
    names = {module_name(source, module) for module in modules} - {None}
    return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in names
