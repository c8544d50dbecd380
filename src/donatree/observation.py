"""What was read of one compile and its calls, as plain data: the evidence that the gates judge.

The private-JAX room (`donatree._jax`) fills these records; the gates turn them into a ledger.
Nothing here imports JAX, so gates can be tested on evidence written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from donatree.hlo.header import Header
from donatree.ledger import Holding, Leaf, Live, Location, Slot, Target
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
class Protection:
    """A `copy` instruction that stands between a granted leaf and its slot.

    Attributes:
        instruction: its name in the module.
        bytes: of the copy, per device.
        at_peak: whether its buffer is among the temporaries that are live when most of them are;
            None where this jaxlib does not tell.
        protects: what it keeps, in words: the leaf's value or the slot's.
        readers: the instructions that still read, as JAX names their operations.
        location: the user's expression that the first of them came from.
    """

    instruction: str
    bytes: int
    at_peak: bool | None
    protects: str
    readers: tuple[str, ...] = ()
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """Where XLA put the granted leaves.

    Attributes:
        protections: of each granted leaf that a copy of its size stands by, by flat index.
    """

    protections: Mapping[int, tuple[Protection, ...]]


@dataclass(frozen=True, slots=True)
class Saving:
    """What the donation of some leaves saves, beside that of the leaves measured before them.

    The savings of all groups of a program add up to the saving of the call.

    Attributes:
        leaves: flat indices of the leaves that were donated together.
        bytes: theirs, per device.
        before: live bytes per device of the program without the donation of these leaves.
        after: with it.
        whole: whether all bytes of each leaf are saved, but for what alignment explains.
        settled: whether that is so of each leaf or of none; where it is not, the group saves a
            part and was not taken apart any further.
    """

    leaves: frozenset[int]
    bytes: int
    before: int
    after: int
    whole: bool
    settled: bool = True

    @property
    def saved(self) -> int:
        """Bytes per device; negative where donation costs."""
        return self.before - self.after


@dataclass(frozen=True, slots=True)
class Proof:
    """What further compiles showed.

    Attributes:
        undonated: totals of the program that donates nothing.
        savings: of groups of leaves, each leaf in one of them at most.
        compiles: how many further compiles were made.
        left: why some leaves are in none, in words; None where every leaf is in one.
    """

    undonated: Live
    savings: tuple[Saving, ...]
    compiles: int
    left: str | None = None

    def of(self, leaf: int) -> Saving | None:
        """The saving of the group that a leaf is in."""
        return next((each for each in self.savings if leaf in each.leaves), None)


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
        live: XLA's totals, bytes per device.
        placement: where XLA put the granted leaves; None where that was not read.
        placement_error: why that could not be read.
        proof: what donation saves, as further compiles showed; None where they were not asked for.
        jax_warning: JAX's own warning at lowering, if one came.
        compile_error: the first line of the error that ended the compile.
        shapes_only: some arguments had no sharding of their own, so one device was assumed.
        origins: where drifted leaves stopped being of their type, by the index of the slot; looked
            for only where there are such leaves.
        target: the hardware that was compiled for on purpose; None where that is the program's own.
        largest: where the program does not fit the target, its largest buffers.
        elsewhere: of aliased leaves whose slot is in another memory, what was read, by flat index.
        host_alias: bytes per device of the outputs that take the memory of arguments in host
            memory, which `live` has not.
        remarks: what the compile for a target leaves to be said.
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
    live: Live | None = None
    placement: Placement | None = None
    placement_error: str | None = None
    proof: Proof | None = None
    jax_warning: str | None = None
    compile_error: str | None = None
    shapes_only: bool = False
    origins: Mapping[int, Origin] = field(default_factory=dict)
    target: Target | None = None
    largest: tuple[Holding, ...] = ()
    elsewhere: Mapping[int, str] = field(default_factory=dict)
    host_alias: int = 0
    remarks: tuple[str, ...] = ()

    @property
    def copied_bytes(self) -> int:
        """Bytes per device of all copies that take the bytes of leaves back, each counted once."""
        leaves = self.placement.protections if self.placement is not None else ()
        each = {c.instruction: c.bytes for leaf in leaves for c in self.costly_copies(leaf)}
        return sum(each.values())

    def costly_copies(self, leaf: int) -> tuple[Protection, ...]:
        """The copies that stand between a leaf and its slot and take the bytes back.

        Where this jaxlib does not tell what is live at the peak, a copy counts as long as the
        temporaries are as large as it is.

        Args:
            leaf: its flat index.
        """
        if self.placement is None or self.live is None:
            return ()
        return tuple(
            each
            for each in self.placement.protections.get(leaf, ())
            if each.at_peak or (each.at_peak is None and self.live.temp >= each.bytes)
        )
