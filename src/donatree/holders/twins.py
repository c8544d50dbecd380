"""Leaves that are one buffer: the same array twice, or two arrays over the same memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from donatree._jax import buffers
from donatree.ledger.shown import Shown


@dataclass(frozen=True, slots=True)
class Twins(Shown):
    """Two or more leaves that are one buffer.

    Attributes:
        paths: their paths, in flatten order.
        aval: type and shape of the first, ``float32[4,4]``.
        bytes: bytes per device of the one buffer.
        donated: for each path whether it is donated.
        same_object: whether they are one object; else several arrays over one buffer.

    Example:
        >>> str(Twins(("state.params['w']", "state.ema['w']"), "float32[8]", 32))
        "state.params['w'] and state.ema['w'] are one buffer (float32[8])"
    """

    paths: tuple[str, ...]
    aval: str
    bytes: int
    donated: tuple[bool, ...] = ()
    same_object: bool = True

    def __str__(self) -> str:
        return f"{' and '.join(self.paths)} are one buffer ({self.aval})"

    def _told(self) -> dict[str, Any]:
        return {"kind": "twins", **TwinsList([self]).to_dict()}

    def to_dict(self) -> dict[str, Any]:
        """The twins as plain data."""
        return {
            "paths": list(self.paths),
            "aval": self.aval,
            "bytes": self.bytes,
            "donated": list(self.donated),
            "same_object": self.same_object,
        }


class TwinsList(Shown, list[Twins]):
    """What `donatree.twins` returns: a list, which is printed as a report.

    Example:
        >>> print(TwinsList([Twins(("state.params['w']", "state.ema['w']"), "float32[8]", 32)]))
        1 buffer is shared by several leaves: to donate them is an error
          float32[8], 32 bytes, one array
            state.params['w']
            state.ema['w']
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The twins as plain data."""
        return {"twins": [each.to_dict() for each in self]}

    def _told(self) -> dict[str, Any]:
        return {"kind": "twins", **self.to_dict()}


def twins(tree: Any) -> TwinsList:
    """The leaves of a tree that are one buffer. To donate such a tree is an error.

    Args:
        tree: any pytree of arrays, for example a training state.

    Returns:
        A list with one for each buffer that two or more leaves share, most bytes first; bytes per
        device. Leaves without bytes are never twins. Printed, and in a notebook, it is a report.

    Example:
        >>> import jax.numpy as jnp
        >>> w = jnp.ones(8)
        >>> [found.paths for found in twins({"params": w, "target": w})]
        [("tree['params']", "tree['target']")]
    """
    from donatree.holders.naming import named_leaves

    leaves = [(path, leaf, True) for path, leaf in named_leaves("tree", tree)]
    return TwinsList(find_twins(leaves))


def find_twins(leaves: Sequence[tuple[str, Any, bool]], *, by_address: bool = True) -> list[Twins]:
    """The groups of leaves that are one buffer and of which at least one is donated.

    Args:
        leaves: path, array and whether it is donated; in flatten order. What is no array of JAX
            is passed over.
        by_address: whether to ask each array for its address too, about 10 us; else only one
            array that stands in two places is found.

    Returns:
        Most bytes first. Nothing is raised for leaves that are deleted: they have no buffer.
    """
    from donatree._jax import specs  # it imports numpy, which `import donatree` does not

    by_id: dict[int, list[int]] = {}
    for index, (_, leaf, _) in enumerate(leaves):
        by_id.setdefault(id(leaf), []).append(index)
    groups = [[each] for each in by_id.values()]
    if by_address:
        groups = _by_buffer(leaves, groups)
    answer = []
    for group in groups:
        indices = sorted(index for each in group for index in each)
        if len(indices) < 2 or not any(leaves[index][2] for index in indices):
            continue
        first = leaves[indices[0]][1]
        if not buffers.is_array(first) or not first.size:
            continue
        spec = specs.specs_of([first.aval], [first.sharding])[0]
        answer.append(
            Twins(
                paths=tuple(leaves[index][0] for index in indices),
                aval=spec.aval,
                bytes=spec.bytes,
                donated=tuple(leaves[index][2] for index in indices),
                same_object=len(group) == 1,
            )
        )
    return sorted(answer, key=lambda each: (-each.bytes, each.paths))


def _by_buffer(
    leaves: Sequence[tuple[str, Any, bool]], groups: list[list[list[int]]]
) -> list[list[list[int]]]:
    """Joins groups whose arrays share an address; addresses are asked for all or for none."""
    at: dict[int, int] = {}
    joined: list[list[list[int]]] = []
    for group in groups:
        leaf = leaves[group[0][0]][1]
        addresses = (buffers.pointers(leaf) or ()) if buffers.is_array(leaf) else ()
        home = next((at[address] for address in addresses if address in at), len(joined))
        if home == len(joined):
            joined.append([])
        joined[home] += group
        for address in addresses:
            at.setdefault(address, home)
    return joined
