"""Where a chain of references begins, in words that a person recognises."""

from __future__ import annotations

import dis
import sys
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import Any, Literal

from donatree._jax.frames import location_of_frame, location_of_function, shown
from donatree.holders.stacks import Slot
from donatree.ledger import Location
from donatree.source.control import location_of
from donatree.source.liveness import fast_accesses

RootKind = Literal[
    "local", "global", "closure", "function", "class", "generator", "cache", "traceback", "context",
    "constant", "instance",
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Root:
    """The beginning of a chain of references.

    Attributes:
        kind: what kind of root.
        text: the root in words.
        location: where it is.
        name: the variable's name.
        frame: the frame that it is a local of.
        namespace: the module's namespace that it is a global of.
        via: the function or generator that has it: it lasts as long as this does.
        thread: the thread of the frame; None for the main thread.
    """

    kind: RootKind
    text: str
    location: Location | None = None
    name: str = ""
    frame: FrameType | None = None
    namespace: dict[str, Any] | None = None
    via: Any = None
    thread: str | None = None


def of_slot(slot: Slot) -> Root:
    """A local variable of a running frame."""
    code = slot.frame.f_code
    return Root(
        "local",
        f"local `{slot.name}` of `{code.co_qualname.replace('.<locals>', '')}`",
        bound_at(slot.frame, slot.name),
        slot.name,
        slot.frame,
        thread=slot.thread,
    )


def of_global(namespace: dict[str, Any], module: str, name: str) -> Root:
    """A name of a module."""
    return Root(
        "global",
        f"global `{name}` of module `{module}`",
        _global_bound_at(namespace, name),
        name,
        namespace=namespace,
    )


def of_function(function: FunctionType, what: str, name: str) -> Root:
    """A closure variable, a default argument or an attribute of a function."""
    return Root(
        "closure" if what == "closure variable" else "function",
        f"{what} `{name}` of `{function.__qualname__.replace('.<locals>', '')}`",
        location_of_function(function),
        name,
        via=function,
    )


def of_class(kind: type, name: str) -> Root:
    """An attribute of a class."""
    return Root("class", f"attribute `{name}` of class `{kind.__qualname__}`", None, name, via=kind)


def of_generator(generator: Any, frame: FrameType, name: str) -> Root:
    """A local of a generator or a coroutine that is suspended."""
    what = "generator" if hasattr(generator, "gi_frame") else "coroutine"
    called = generator.__qualname__.replace(".<locals>", "")
    place = bound_at(frame, name)
    return Root(
        "generator", f"local `{name}` of {what} `{called}`", place, name, frame, via=generator
    )


def of_traceback(frame: FrameType, name: str) -> Root:
    """A local of a frame that has ended and that a traceback keeps."""
    text = f"local `{name}` of `{frame.f_code.co_qualname}`, kept by a traceback"
    return Root("traceback", text, location_of_frame(frame), name)


def of_cache(wrapper: Any) -> Root:
    """What `functools.lru_cache` keeps."""
    function = getattr(wrapper, "__wrapped__", None)
    called = getattr(function, "__qualname__", "?").replace(".<locals>", "")
    return Root("cache", f"`functools.lru_cache` of `{called}`", location_of_function(function))


def of_instance(value: Any) -> Root:
    """An object of which nobody knows who holds it."""
    return Root("instance", f"an instance of `{type(value).__qualname__}`")


def of_jaxpr(jaxpr: Any) -> Root:
    """A trace that JAX keeps: what the function closed over is a constant in it."""
    name, place = _traced(jaxpr)
    return Root("constant", f"constant captured by jitted function `{name}`", place, name)


def _traced(jaxpr: Any) -> tuple[str, Location | None]:
    """The name of the traced function and where it is, from `f at /home/me/train.py:3`."""
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    text = getattr(getattr(inner, "debug_info", None), "func_src_info", None)
    if not isinstance(text, str):
        return "?", None
    name, _, place = text.partition(" at ")
    file, _, line = place.rpartition(":")
    return name, Location(shown(file), int(line)) if file and line.isdecimal() else None


def bound_at(frame: FrameType, name: str) -> Location | None:
    """The nearest binding of a local before where its frame stands; of an argument its function."""
    code = frame.f_code
    stores = [each for each in dis.get_instructions(code) if _stores(each, name)]
    before = [each for each in stores if each.offset < frame.f_lasti]
    if before or stores:
        return location_of(code, (before or stores)[-1])
    if name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 2]:
        return Location(shown(code.co_filename), code.co_firstlineno, function=code.co_qualname)
    return location_of_frame(frame)


def _stores(each: dis.Instruction, name: str) -> bool:
    if each.opname == "STORE_DEREF":
        return each.argval == name
    return any(what == "STORE" and local == name for what, local in fast_accesses(each))


def _global_bound_at(namespace: dict[str, Any], name: str) -> Location | None:
    code = _code_of_module(namespace)
    stores = [each for each in dis.get_instructions(code) if each.argval == name] if code else []
    stores = [each for each in stores if each.opname in ("STORE_NAME", "STORE_GLOBAL")]
    return location_of(code, stores[-1]) if code and stores else None


def _code_of_module(namespace: dict[str, Any]) -> CodeType | None:
    """The code of a module: from the stack while it runs, else from its loader."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_globals is namespace and frame.f_code.co_name == "<module>":
            return frame.f_code
        frame = frame.f_back
    spec = namespace.get("__spec__")
    try:
        return spec.loader.get_code(spec.name) if spec is not None else None
    except Exception:
        return None  # a namespace or a loader that has no code to give
