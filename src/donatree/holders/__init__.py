"""Who else holds what is given away: other references to leaves, containers and buffers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

from donatree.holders.holder import Holder as Holder
from donatree.holders.holder import Holders as Holders

Fault = Callable[[str, BaseException], None]

__all__ = ["Holder", "Holders", "find", "find_views", "holders"]


def holders(tree: Any) -> Holders:
    """Every other live reference to the leaves of a tree, to its containers or to its buffers.

    Looks at the local variables of all threads, at modules, closures, default arguments,
    attributes, caches, suspended generators, at other arrays over the same buffers and at memory
    that numpy, dlpack or torch look at. Collects garbage first.

    Args:
        tree: any pytree of arrays, for example a training state.

    Returns:
        A list, most bytes first, at most 64; `bytes` are bytes per device. What the tree holds
        itself and the expression that names it in this call are no holders. Nothing is kept alive.
        Printed, and in a notebook, it is a report.

    Example:
        >>> import jax.numpy as jnp
        >>> state = {"w": jnp.ones(8)}
        >>> best = [state["w"]]
        >>> [(found.held, found.steps) for found in holders(state)]
        [("state['w']", ('[0]',))]
    """
    from donatree.holders.naming import Asked, named_leaves
    from donatree.holders.survey import Survey

    frame = sys._getframe(1)
    asked = Asked(frame, tree)
    leaves = named_leaves(asked.name, tree)
    survey = Survey({asked.name: tree}, leaves, frame, outliving=False, excused=asked.excused)
    return Holders(asked.name, survey.run())


def find(
    arguments: Mapping[str, Any],
    leaves: Sequence[tuple[str, Any]],
    frame: FrameType | None,
    own: Sequence[Any] = (),
    *,
    in_place: bool = False,
    views: bool = True,
    fault: Fault | None = None,
) -> list[Holder]:
    """What else will still hold donated leaves once the call has returned. Never raises.

    A name counts only if it may be read again before it is rebound or deleted; what cannot be
    known counts, and so does every view, for it stops the reuse now.

    Args:
        arguments: the caller's own donated objects by name. Held by nothing once this returns.
        leaves: path and array of the donated leaves, in flatten order.
        frame: the user's frame that makes the call; None where there is none.
        own: lists, tuples and dicts of the caller of this function that hold the leaves as well.
        in_place: whether the call updates the caller's objects, as `flax.nnx.jit` does: then
            whoever holds such an object sees its new arrays, and is no holder.
        views: whether to look for numpy, dlpack and torch, which takes longest.
        fault: told where the search itself went wrong.

    Returns:
        Most bytes first, at most 64; what is known where something went wrong.
    """
    from donatree._jax.buffers import is_array
    from donatree.holders.folding import arranged
    from donatree.holders.survey import Survey

    survey: Survey | None = None
    try:
        arrays = [(path, leaf) for path, leaf in leaves if is_array(leaf)]
        survey = Survey(
            arguments,
            arrays,
            frame,
            outliving=True,
            own=(leaves, *leaves, *own),
            in_place=in_place,
            views=views,
        )
        return survey.run()
    except Exception as error:
        if fault is not None:
            fault("holders", error)
        return arranged(survey.found) if survey is not None else []


def find_views(
    arrays: Sequence[tuple[str, Any]],
    spans: Mapping[int, Sequence[tuple[int, int]]] | None = None,
    fault: Fault | None = None,
) -> list[Holder]:
    """Who looks at the memory of some arrays without JAX: numpy, memoryview, dlpack, torch.

    Args:
        arrays: path and array.
        spans: by the place in `arrays` of one that is deleted by now, first address and the one
            after the last of each of its shards.
        fault: as for `find`.

    Returns:
        As `find`, with nothing but views.
    """
    from donatree.holders.survey import Survey

    try:
        known = {id(arrays[place][1]): each for place, each in (spans or {}).items()}
        return Survey({}, arrays, None, outliving=True).run_views(known)
    except Exception as error:
        if fault is not None:
            fault("views", error)
        return []
