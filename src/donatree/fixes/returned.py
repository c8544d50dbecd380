"""The result as the function returns it: in which order, and with which shardings."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from donatree import paths
from donatree.fixes import code
from donatree.fixes.code import Text
from donatree.ledger import Entry, Location, Slot
from donatree.source.tree import Source, source_of


def order_of(entries: Sequence[Entry], slots: Sequence[Slot]) -> tuple[int, ...] | None:
    """The order of slots that brings the parts of the result into the order of the leaves.

    JAX pairs leaves and slots of one type in flatten order, so a part of the result that replaces
    leaves has to come in the place of these, and what replaces none after all of them. Only whole
    parts of the result, `result[0]`, change places: that is what a `return` can do.

    Args:
        entries: of the donated leaves.
        slots: of the result.

    Returns:
        Indices of the slots in their new order; None where that is the order they have.
    """
    wanted = {
        entry.successor.flat_index: entry.leaf.flat_index for entry in entries if entry.successor
    }
    groups = parts_of(slots)
    last = len(slots) + max(wanted.values(), default=0) + 1
    ranked = sorted(
        groups.values(),
        key=lambda group: min((wanted.get(each, last) for each in group), default=last),
    )
    order = tuple(each for group in ranked for each in group)
    return None if order == tuple(range(len(slots))) else order


def parts_of(slots: Sequence[Slot]) -> Mapping[str, list[int]]:
    """Indices of the slots by the part of the result that they are in: `result[0]`."""
    groups: dict[str, list[int]] = {}
    for slot in slots:
        pieces = paths.split(slot.path)
        groups.setdefault("".join(pieces[:2]), []).append(slot.flat_index)
    return groups


def words(order: Sequence[int], slots: Sequence[Slot], function: Location | None) -> str:
    """The new order as the function would return it, ``return state, loss``.

    Args:
        order: from `order_of`.
        slots: of the result.
        function: where the function is defined.
    """
    groups = parts_of(slots)
    ranked = sorted(groups, key=lambda part: order.index(groups[part][0]))
    written = _elements(function)
    if written is not None and set(written) >= set(ranked):
        rest = [part for part in written if part not in ranked]  # parts without arrays
        return f"return {', '.join(written[part] for part in (*ranked, *rest))}"
    names = [each.removeprefix("result") or "result" for each in ranked]
    return f"return {', '.join(f'...{name}' for name in names[:4])}" + (
        ", ..." if names[4:] else ""
    )


def shardings(entries: Sequence[Entry], slots: Sequence[Slot], arguments: Collection[str]) -> str:
    """What to give as `out_shardings` for the parts of the result that replace arguments.

    Args:
        entries: of the donated leaves.
        slots: of the result.
        arguments: whose new values are to be sharded as the arguments are.

    Returns:
        The text; None in it leaves a part of the result to the compiler.
    """
    replaced = {
        entry.successor.flat_index: entry.leaf.argument for entry in entries if entry.successor
    }
    written = []
    for group in parts_of(slots).values():
        names = {replaced.get(each) for each in group}
        name = names.pop() if len(names) == 1 else None
        written.append(_of_tree(name) if name in arguments and name else "None")
    if _is_tuple(slots):
        inside = ", ".join(written)
        return f"({inside},)" if len(written) == 1 else f"({inside})"
    return written[0] if len(set(written)) == 1 else "..."


def _of_tree(name: str) -> str:
    return f"jax.tree.map(lambda leaf: leaf.sharding, {name})"


def _is_tuple(slots: Sequence[Slot]) -> bool:
    parts = [part.removeprefix("result") for part in parts_of(slots)]
    return parts == [f"[{number}]" for number in range(len(parts))]


def expression_of(path: str, where: Location | None) -> tuple[Source, ast.expr] | None:
    """The expression that a function returns as one slot.

    It is followed through displays, calls that make an object of their keywords, and names that
    are bound once and read once.

    Args:
        path: of the slot, ``result[0].step``.
        where: where the function is defined.

    Returns:
        The file and the expression; None where it cannot be followed that far.
    """
    found = _returned(where)
    if found is None:
        return None
    source, function, node = found
    for piece in paths.split(path)[1:]:
        inner = _part(_bound(source, function, node), piece)
        if inner is None:
            return None
        node = inner
    return source, node


def _part(node: ast.expr, piece: str) -> ast.expr | None:
    match node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            if any(isinstance(each, ast.Starred) for each in elements):
                return None
            return next((e for i, e in enumerate(elements) if piece == f"[{i}]"), None)
        case ast.Dict(keys=keys, values=values):
            if not all(isinstance(key, ast.Constant) for key in keys):
                return None
            pairs = zip(keys, values, strict=True)
            return next((v for k, v in pairs if piece == f"[{_key(k)}]"), None)
        case ast.Call(func=func, keywords=keywords) if code.makes(func):
            sign = "[{!r}]" if code.last_name(func) == "dict" else ".{}"
            named = (each for each in keywords if each.arg)
            return next((k.value for k in named if piece == sign.format(k.arg)), None)
    return None


def _key(node: ast.expr | None) -> str:
    return repr(node.value) if isinstance(node, ast.Constant) else ""


def _bound(source: Source, function: code.Function, node: ast.expr) -> ast.expr:
    """What a name was bound to, where that is all that is done with it."""
    if isinstance(node, ast.Name) and code.read_once(function, node.id):
        for each in ast.walk(function):
            match each:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == node.id:
                    return value if source.scope(each) is function else node
    return node


def _returned(where: Location | None) -> tuple[Source, code.Function, ast.expr] | None:
    """What a function's only `return` returns."""
    source = source_of(where.file) if where else None
    if source is None or where is None:
        return None
    found: list[tuple[Source, code.Function, ast.expr]] = []
    for node in ast.walk(source.module):
        if isinstance(node, ast.Return):
            scope = source.scope(node)
            if code.function_around(source, node, where) is scope:
                if node.value is None or not isinstance(scope, code.FUNCTIONS):
                    return None
                found.append((source, scope, node.value))
        elif isinstance(node, ast.Lambda) and code.function_around(source, node, where) is node:
            found.append((source, node, node.body))
    return found[0] if len(found) == 1 else None


def _elements(where: Location | None) -> dict[str, str] | None:
    """The parts of what the function's only `return` returns, by their paths."""
    found = _returned(where)
    if found is None:
        return None
    source, function, node = found
    text = Text(source.file)
    match _bound(source, function, node):
        case ast.Tuple(elts=elements):
            return {f"result[{i}]": _short(text.of(each)) for i, each in enumerate(elements)}
        case ast.Dict(keys=keys, values=values):
            if not all(isinstance(key, ast.Constant) for key in keys):
                return None
            pairs = zip(keys, values, strict=True)
            return {f"result[{_key(key)}]": _short(text.of(value)) for key, value in pairs}
    return None


def _short(text: str) -> str:
    """An element on one line, elided where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= 40 else "..."
