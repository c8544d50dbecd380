"""A program as JAX was asked to lower it, changed and compiled again; nothing of it is ever run.

Rests on `pxla.lower_sharding_computation`, whose leading parameters and these keywords are the same
on JAX 0.5.3 to 0.12 (measured): `closed_jaxpr`, `out_shardings`, `donated_invars`, `keep_unused`.
The call is the program's own, made again on the same thread, so meshes, precision and compiler
options are as the program had them.

To take the promise from single leaves while the others stay paired as they are, the attributes of
`@main`'s parameters are removed from a copy of the StableHLO module.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import time
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from donatree._jax import abroad, hooks, read, stages
from donatree.errors import CannotBuild, DonatreeError, in_one_line
from donatree.ledger import Live, Slot
from donatree.observation import Observation, Request
from donatree.shipment import Shipment


@dataclass(frozen=True, slots=True)
class Built:
    """A changed program that was compiled.

    Attributes:
        observation: what JAX and XLA made of it, with its totals.
        seconds: how long it took to lower and compile.
    """

    observation: Observation
    seconds: float

    @property
    def live(self) -> Live | None:
        """XLA's totals, bytes per device; None where the backend keeps none."""
        return self.observation.live


@dataclass(frozen=True, slots=True)
class Program:
    """What JAX was asked to lower.

    Holds the jaxpr, and with it arrays that the function closed over: drop it after use.

    Attributes:
        lowering: the call that lowered it.
        computation: what came of that call.
        request: what the program asked of JAX.
        slots: leaves of the result.
        order: which result of the jaxpr each slot is.
        executable: what the computation was compiled to; None before that.
        seconds: how long that took.
        changed: whether the program must be lowered again.
    """

    lowering: hooks.Lowering
    computation: Any
    request: Request
    slots: tuple[Slot, ...]
    executable: Any = None
    seconds: float = 0.0
    changed: bool = False

    @property
    def donated(self) -> tuple[bool, ...]:
        """JAX's `donated_invars`, one for each leaf of the dynamic arguments."""
        return tuple(self._arguments()["donated_invars"])

    def with_(
        self,
        *,
        donated: Iterable[int] | None = None,
        cast: Mapping[int, str] | None = None,
        order: Sequence[int] | None = None,
        out_shardings: Mapping[int, int] | None = None,
        keep_unused: bool | None = None,
    ) -> Program:
        """The program with a change. Slots are counted before `order` is applied.

        Args:
            donated: flat indices of the leaves to donate, and of no others.
            cast: a dtype's name for the index of each slot to cast as the last thing.
            order: the slots in the order in which they are to be returned.
            out_shardings: by the index of a slot, the flat index of the leaf whose sharding it
                gets.
            keep_unused: as `jax.jit` takes it.

        Raises:
            CannotBuild: the change is not one of this program.
        """
        given = self._arguments()
        request, slots = self.request, self.slots
        if donated is not None:
            wanted = frozenset(donated)
            given["donated_invars"] = tuple(
                index in wanted for index in range(len(given["donated_invars"]))
            )
            request = dataclasses.replace(request, promised=wanted, asked=wanted, why_not={})
        if out_shardings:
            shardings = list(given["out_shardings"])
            for slot, leaf in out_shardings.items():
                shardings[slot] = self._sharding_of(leaf)
            given["out_shardings"] = tuple(shardings)
        if cast:
            try:
                given["closed_jaxpr"] = _cast(given["closed_jaxpr"], cast)
            except TypeError as error:
                raise CannotBuild(in_one_line(error)) from error
        if order is not None:
            if sorted(order) != list(range(len(slots))):
                raise CannotBuild("the order names not every slot once")
            for name in ("out_shardings", "out_layouts"):
                given[name] = tuple(given[name][index] for index in order)
            given["closed_jaxpr"] = _reordered(given["closed_jaxpr"], order)
            slots = tuple(
                dataclasses.replace(slots[index], flat_index=place)
                for place, index in enumerate(order)
            )
        if keep_unused is not None:
            given["keep_unused"] = keep_unused
        bound = _bound(self.lowering)
        bound.arguments.update(given)
        lowering = hooks.Lowering(self.lowering.function, bound.args, bound.kwargs)
        return dataclasses.replace(
            self, lowering=lowering, request=request, slots=slots, executable=None, changed=True
        )

    def compile(self) -> Built:
        """Lowers and compiles the program as it is now.

        Raises:
            CannotBuild: JAX or XLA refuses it.
        """
        start = time.monotonic()
        with hooks.unheard(), stages.aimed(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                lowering = self.lowering
                computation = self.computation
                if self.changed:
                    computation = lowering.function(*lowering.args, **lowering.kwargs)
                return self._built(computation, start)
            except Exception as error:
                raise CannotBuild(in_one_line(error)) from error

    def compile_without(self, leaves: Collection[int]) -> Built:
        """Compiles the program with the promise taken from some leaves.

        The other leaves keep the slots that JAX paired them with at lowering.

        Args:
            leaves: flat indices.

        Raises:
            CannotBuild: XLA refuses it.
        """
        start = time.monotonic()
        with hooks.unheard(), stages.aimed(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return self._built(self._stripped(frozenset(leaves)), start)
            except Exception as error:
                raise CannotBuild(in_one_line(error)) from error

    def shipped(self, platform: str) -> tuple[Observation, Shipment]:
        """Lowers the program for another platform, with the devices here as stand-ins.

        Args:
            platform: ``tpu`` or ``cuda``.

        Returns:
            What is known before it is compiled, and what a compile child needs.

        Raises:
            CannotBuild: JAX refuses it.
        """
        bound = _bound(self.lowering)
        bound.arguments["lowering_platforms"] = (platform,)
        with hooks.unheard(), abroad.standing_in(platform), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                computation = self.lowering.function(*bound.args, **bound.kwargs)
                lowered = read.read_lowering(computation)
                seen = read.observe(computation, None, None, lowered, self.request, self.slots)
                return seen, abroad.shipment_of(computation, platform)
            except DonatreeError:
                raise
            except Exception as error:
                raise CannotBuild(in_one_line(error)) from error

    def _built(self, computation: Any, start: float) -> Built:
        lowered = read.read_lowering(computation)
        executable = computation.compile()
        observation = read.observe(computation, executable, None, lowered, self.request, self.slots)
        loaded = executable.xla_executable
        observation = read.with_totals(observation, loaded)
        return Built(observation, time.monotonic() - start)

    def _stripped(self, leaves: frozenset[int]) -> Any:
        numbers = read.parameters_of(self.computation)
        changed = copy.copy(self.computation)
        changed._hlo = _without_donation(
            self.computation.stablehlo(), {numbers[leaf] for leaf in leaves if leaf in numbers}
        )
        changed._executable = None
        return changed

    def _sharding_of(self, leaf: int) -> Any:
        shardings = getattr(self.executable, "_in_shardings", None)
        if shardings is None and self.executable is not None:  # compiled for other hardware
            shardings = self.computation.compile_args["in_shardings"]
        kept = sorted(self.computation.compile_args["kept_var_idx"])
        constants = len(getattr(self.computation, "const_args", None) or ())
        if shardings is None or leaf + constants not in kept:
            raise CannotBuild("the leaf has no sharding: it is no parameter of the module")
        return shardings[kept.index(leaf + constants)]

    def _arguments(self) -> dict[str, Any]:
        return dict(_bound(self.lowering).arguments)


def _bound(lowering: hooks.Lowering) -> inspect.BoundArguments:
    return inspect.signature(lowering.function).bind(*lowering.args, **lowering.kwargs)


def _inner(closed: Any) -> Any:
    """The jaxpr itself; since JAX 0.11 that is one class with the closed one."""
    return getattr(closed, "jaxpr", closed)


def _replaced(closed: Any, **fields: Any) -> Any:
    inner = _inner(closed)
    changed = inner.replace(**fields)
    return changed if inner is closed else closed.replace(jaxpr=changed)


def _reordered(closed: Any, order: Sequence[int]) -> Any:
    outvars = _inner(closed).outvars
    return _replaced(closed, outvars=[outvars[index] for index in order])


def _cast(closed: Any, cast: Mapping[int, str]) -> Any:
    """Appends a `convert_element_type` for each slot, traced by JAX itself."""
    import jax

    inner = _inner(closed)
    outvars, equations = list(inner.outvars), list(inner.eqns)
    avals = [outvars[slot].aval for slot in cast]
    like = [jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in avals]
    tail = _inner(
        jax.make_jaxpr(
            lambda *xs: [
                jax.lax.convert_element_type(x, to) for x, to in zip(xs, cast.values(), strict=True)
            ]
        )(*like)
    )
    given = {id(var): outvars[slot] for var, slot in zip(tail.invars, cast, strict=True)}
    for equation in tail.eqns:
        inputs = [given.get(id(each), each) for each in equation.invars]
        equations.append(equation.replace(invars=inputs))
    for slot, var in zip(cast, tail.outvars, strict=True):
        outvars[slot] = given.get(id(var), var)
    return _replaced(closed, eqns=equations, outvars=outvars)


def _without_donation(module: Any, parameters: Collection[int]) -> Any:
    """A copy of the module whose `@main` promises nothing for these parameters."""
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir  # pyright: ignore[reportPrivateImportUsage]

    with module.context, ir.Location.unknown(module.context):
        copied = ir.Module.parse(mlir.module_to_bytecode(module))
        main = read.main_of(copied)
        attributes = []
        for number, found in enumerate(main.attributes["arg_attrs"]):
            names = [getattr(each, "name", each) for each in found]
            if number in parameters:
                names = [each for each in names if each not in read.PROMISES]
            attributes.append(ir.DictAttr.get({name: found[name] for name in names}))
        main.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
    return copied
