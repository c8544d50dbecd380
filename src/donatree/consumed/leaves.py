"""The arrays in a value, with their paths as a user writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from donatree._jax import buffers
from donatree._jax.deleted import is_same

_MOST = 200_000


@dataclass(frozen=True, slots=True)
class Leaf:
    """An array in a tree, and its path below the tree's root: ``['w']``; empty for the root."""

    path: str
    array: Any

    @property
    def dead(self) -> bool:
        """Whether its buffers are gone."""
        try:
            return buffers.is_deleted(self.array)
        except Exception:
            return False


def leaves(value: Any) -> list[Leaf]:
    """The arrays of a value that JAX takes for a tree; none where it does not."""
    import jax

    try:
        found = jax.tree_util.tree_flatten_with_path(value, is_leaf=_is_iterator)[0]
    except Exception:  # a tree of the user's that cannot be taken apart
        return []
    return [
        Leaf(jax.tree_util.keystr(path), each)
        for path, each in found[:_MOST]
        if buffers.is_array(each)
    ]


def _is_iterator(value: Any) -> bool:
    """No tree, and JAX 0.12 warns of one; pytest has lists of them on its stack."""
    return isinstance(value, Iterator)


def path_in(value: Any, array: Any) -> str | None:
    """The path at which a value holds an array; None where it does not."""
    return next((leaf.path for leaf in leaves(value) if is_same(leaf.array, array)), None)


def aval_of(array: Any) -> str:
    """Type and shape in short, also of a dead array."""
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"
