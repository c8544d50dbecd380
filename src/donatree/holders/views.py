"""Memory of a leaf that is looked at without JAX: numpy, memoryview, dlpack, torch."""

from __future__ import annotations

import ctypes
import datetime
import gc
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from donatree._jax import buffers
from donatree.holders import heap
from donatree.holders.stacks import Stacks

View = tuple[Any, int, str]  # the object, the `id` of the leaf, the object in words
Spans = Mapping[int, Sequence[tuple[int, int]]]
_CAPSULE = "PyCapsule"


def views_of(leaves: Mapping[int, Any], stacks: Stacks, spans: Spans) -> list[View]:
    """The objects that look at a leaf's memory, each with the leaf and in words.

    Addresses are asked only where some object may be one: a numpy array that owns nothing and has
    no numpy array below it, a memoryview of an array, a capsule, a tensor.

    Args:
        leaves: the leaves by `id`.
        stacks: the frames, whose local variables the collector does not know.
        spans: by the `id` of a leaf that is deleted by now, first address and the one after the
            last of each of its shards.
    """
    found = [each for each in heap.untracked(_kinds()) if _may_be_view(each)] + _tensors()
    known = set(map(id, found))
    for value in stacks.values():
        if (_may_be_view(value) or type(value) is memoryview) and id(value) not in known:
            known.add(id(value))
            found.append(value)
    found += [m for m in gc.get_objects() if type(m) is memoryview and id(m) not in known]
    ranges = [(each, *span) for each in found if (span := _span(each)) is not None]
    if not ranges:
        return []
    memory = _memory(leaves)
    memory += [(low, high, key) for key, known in spans.items() for low, high in known]
    answer = []
    for each, start, end in ranges:
        for low, high, key in memory:
            if start < high and low < end:
                answer.append((each, key, _in_words(each)))
                break
    return answer


def _memory(leaves: Mapping[int, Any]) -> list[tuple[int, int, int]]:
    answer = []
    for key, leaf in leaves.items():
        addresses = buffers.pointers(leaf)
        if addresses:
            size = max(1, buffers.physical(leaf).nbytes // len(addresses))
            answer += [(address, address + size, key) for address in addresses]
    return answer


def _kinds() -> frozenset[type]:
    """Types of what may look at memory and is not tracked: arrays of numpy, capsules."""
    capsule: type = type(getattr(datetime, "datetime_CAPI"))  # noqa: B009, in no stub
    kinds, waiting = {capsule}, [np.ndarray]
    while waiting:
        kind = waiting.pop()
        if kind not in kinds:
            kinds.add(kind)
            waiting += type.__subclasses__(kind)
    return frozenset(kinds)


def _may_be_view(value: Any) -> bool:
    if issubclass(type(value), np.ndarray):
        base = value.base
        while isinstance(base, np.ndarray):
            base = base.base
        return type(base) is memoryview or type(base).__name__ == _CAPSULE
    return type(value).__name__ == _CAPSULE and type(value).__module__ == "builtins"


def _tensors() -> list[Any]:
    """Tensors of torch, if the program uses it."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    if not isinstance(tensor, type):
        return []
    return [each for each in gc.get_objects() if issubclass(type(each), tensor)]


def _span(value: Any) -> tuple[int, int] | None:
    """First address and the one after the last; None where there is no memory to speak of."""
    try:
        if isinstance(value, np.ndarray):
            low, high = np.lib.array_utils.byte_bounds(value) if _NUMPY_2 else _bounds(value)
            return (low, high) if value.nbytes else None
        if type(value) is memoryview:
            if not buffers.is_array(value.obj):
                return None
            address = (buffers.pointers(value.obj) or (0,))[0]
            return (address, address + value.nbytes) if address else None
        if type(value).__name__ == _CAPSULE:
            address = _capsule_address(value)
            return (address, address + 1) if address else None
        if not value.numel():
            return None
        return int(value.data_ptr()), int(value.data_ptr()) + value.numel() * value.element_size()
    except Exception:
        return None  # a released memoryview, a tensor without memory


_NUMPY_2 = hasattr(np.lib, "array_utils")


def _bounds(value: Any) -> tuple[int, int]:
    return getattr(np, "byte_bounds")(value)  # noqa: B009, numpy 1 only


def _capsule_address(capsule: Any) -> int | None:
    """The address in a dlpack capsule that nobody has taken yet."""
    valid, get = ctypes.pythonapi.PyCapsule_IsValid, ctypes.pythonapi.PyCapsule_GetPointer
    valid.argtypes = get.argtypes = [ctypes.py_object, ctypes.c_char_p]
    valid.restype, get.restype = ctypes.c_int, ctypes.c_void_p
    # `DLManagedTensor` begins with the tensor; the versioned one has 32 bytes before it.
    for name, offset in ((b"dltensor", 0), (b"dltensor_versioned", 32)):
        if valid(capsule, name):
            return ctypes.c_void_p.from_address(get(capsule, name) + offset).value
    return None


def _in_words(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"numpy array {value.dtype}[{','.join(map(str, value.shape))}]"
    if type(value) is memoryview:
        return "memoryview"
    if type(value).__name__ == _CAPSULE:
        return "dlpack capsule"
    return f"torch tensor of shape {tuple(value.shape)}"


def link(views: Sequence[View], take: Callable[[Any, Any], bool]) -> Iterable[Any]:
    """Notes what refers to each view; the objects above which to go on.

    Args:
        views: as `views_of` found them.
        take: see `Search.take`.
    """
    targets = [view for view, _, _ in views]
    above: dict[int, Any] = {}
    for holder, held in heap.owners(targets):
        if holder is not targets and take(holder, held):
            above[id(holder)] = holder
    return list(above.values())
