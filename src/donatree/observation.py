"""What was read of one compile and its calls, as plain data: the evidence that the gates judge.

The private-JAX room (`donatree._jax`) fills these records; the gates turn them into a ledger.
Nothing here imports JAX, so gates can be tested on evidence written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from donatree.hlo.header import Header
from donatree.ledger import Leaf, Location, Slot
from donatree.origin.drift import Origin

WhyNotAsked = Literal[
    "debug_nans",
    "disable_jit",
    "inner",
    "passed_by_keyword",
    "passed_by_position",
    "negative_number",
]

WhyCopied = Literal["view", "foreign", "not_an_array", "resharded", "unknown"]


@dataclass(frozen=True, slots=True)
class LeafCall:
    """What one call that was looked at did with one granted leaf.

    Attributes:
        shards: shards of the leaf that this process can address.
        reused: how many of them the slot took over, by address; None where the backend has no
            addresses to compare.
        why: why one was copied instead; None where all were reused.
        by: what stood in the way, in words, for example a view and who holds it.
    """

    shards: int
    reused: int | None
    why: WhyCopied | None = None
    by: tuple[str, ...] = ()

    @property
    def copied(self) -> bool:
        """Whether any shard was copied."""
        return self.reused is not None and self.reused < self.shards


@dataclass(frozen=True, slots=True)
class CallSeen:
    """One call that was looked at: its number, counted from 1, and its granted leaves."""

    number: int
    leaves: Mapping[int, LeafCall]


@dataclass(frozen=True, slots=True)
class Request:
    """What the program asked of JAX for one signature.

    Attributes:
        function: its name.
        leaves: of all dynamic arguments, in JAX's flatten order.
        promised: flat indices of the leaves that the program's text donates.
        asked: flat indices that the outermost jit recorded as donated.
        why_not: for promised leaves that were not asked, the reason that was seen.
        declared: the declaration as the user wrote it, ``donate_argnums=0``.
        on_one_device: flat indices of leaves that are arrays on a single device.
        undelivered: parts of the declaration that no argument of this call answers.
        location: where the function is defined.
        call: where it was called.
        outer: for a jit called while another function is traced, the name of that one.
        positional: names of the function's positional parameters, static ones included.
        in_place: whether the call updates the caller's objects, as `flax.nnx.jit` does.
    """

    function: str
    leaves: tuple[Leaf, ...]
    promised: frozenset[int] = frozenset()
    asked: frozenset[int] = frozenset()
    why_not: Mapping[int, WhyNotAsked] = field(default_factory=dict)
    declared: str = ""
    undelivered: tuple[str, ...] = ()
    on_one_device: frozenset[int] = frozenset()
    location: Location | None = None
    call: Location | None = None
    outer: str | None = None
    positional: tuple[str, ...] = ()
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class Observation:
    """A request and what JAX and XLA made of it.

    Attributes:
        request: what was asked.
        slots: leaves of the result in flatten order; their spec has no sharding before compile.
        parameter_of: module parameter of each kept leaf, by flat index.
        attributes: what `@main` says of a parameter: the number of an output for
            ``tf.aliasing_output``, ``"donor"`` for ``jax.buffer_donor``; None before lowering.
        output_offset: module outputs before the first slot (effect tokens).
        header: the compiled module's header; None if it was not compiled or could not be read.
        header_error: why the header could not be read.
        reference_parameters: parameters that are mutable references (`jax.new_ref`).
        hoisted: parameters that are constants hoisted out of the function.
        platform: the platform compiled for.
        platform_donates: whether JAX lowers donation for it.
        devices: devices that the program spans.
        outputs_given: for each slot, whether its output sharding was given.
        alias_size_in_bytes: XLA's total, per device.
        argument_bytes: XLA's total of arguments, per device.
        jax_warning: JAX's own warning at lowering, if one came.
        compile_error: the first line of the error that ended the compile.
        shapes_only: some arguments had no sharding of their own, so one device was assumed.
        origins: where drifted leaves stopped being of their type, by the index of the slot; looked
            for only where there are such leaves.
    """

    request: Request
    slots: tuple[Slot, ...] = ()
    parameter_of: Mapping[int, int] | None = None
    attributes: Mapping[int, int | Literal["donor"]] | None = None
    output_offset: int = 0
    header: Header | None = None
    header_error: str | None = None
    reference_parameters: frozenset[int] = frozenset()
    hoisted: frozenset[int] = frozenset()
    platform: str | None = None
    platform_donates: bool = True
    devices: int = 1
    outputs_given: tuple[bool, ...] = ()
    alias_size_in_bytes: int | None = None
    argument_bytes: int | None = None
    jax_warning: str | None = None
    compile_error: str | None = None
    shapes_only: bool = False
    origins: Mapping[int, Origin] = field(default_factory=dict)
