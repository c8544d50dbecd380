"""`audit`: a jitted function and arguments, through the gates, without running anything."""

from __future__ import annotations

import dataclasses
import threading
import warnings
from typing import TYPE_CHECKING, Any

from donatree.errors import DonationError, DonatreeError, TargetError
from donatree.ledger import Ledger

if TYPE_CHECKING:
    from donatree.proof.budget import Budget
    from donatree.watch.proving import Examined


def audit(step: Any, /, *args: Any, **kwargs: Any) -> Ledger:
    """Tells, leaf by leaf, what became of the memory that `step` was promised.

    Lowers and compiles `step` for these arguments; runs nothing and donates nothing. What JAX has
    compiled already is not compiled again.

    Args:
        step: a jitted function: `jax.jit`, `equinox.filter_jit`, `flax.nnx.jit`, or anything with
            a `lower` method that leads to one.
        *args: arrays, or `jax.ShapeDtypeStruct` with or without shardings.
        **kwargs: likewise.

    Returns:
        The ledger. Bytes are per device.

    Raises:
        TargetError: `step` is not jitted, or JAX refuses the arguments.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> step = jax.jit(lambda state: {"w": state["w"] * 2}, donate_argnums=0)
        >>> audit(step, {"w": jax.ShapeDtypeStruct((4, 4), jnp.float32)}).summary
        '64 of 64 bytes, 1 of 1 leaves'
    """
    return audited(step, args, kwargs)


def prove(step: Any, /, *args: Any, prove_budget: float = 60.0, **kwargs: Any) -> Ledger:
    """`audit`, with what donation really saves measured by further compiles.

    The program is compiled once more without its donation; where that does not settle it, with
    the promise taken from one argument at a time, then from fewer leaves. Cures of what was found
    are tried the same way. Nothing is run.

    Args:
        step: as for `audit`.
        *args: likewise.
        prove_budget: seconds that all further compiles may take together.
        **kwargs: likewise.

    Returns:
        The ledger, with `live`, `undonated` and `saved` in bytes per device.

    Raises:
        TargetError: as for `audit`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> power = jax.jit(lambda x: x @ x, donate_argnums=0)
        >>> ledger = prove(power, jax.ShapeDtypeStruct((64, 64), jnp.float32))
        >>> ledger.alias_size_in_bytes, ledger.saved
        (16384, 0)
    """
    from donatree.proof.budget import Budget

    return audited(step, args, kwargs, Budget(prove_budget), twin=True)


def audited(
    step: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    budget: Budget | None = None,
    twin: bool = False,
) -> Ledger:
    """`audit` and `prove`.

    Args:
        step: the jitted function.
        args: its positional arguments.
        kwargs: its keyword arguments.
        budget: of further compiles; None for none.
        twin: whether the program is compiled without its donation as well.

    Raises:
        TargetError: `step` is not jitted, or JAX refuses the arguments.
    """
    ledger, _ = _through(step, args, kwargs, budget, twin, keep=False)
    return ledger


def examined(step: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Examined:
    """Like `audit`, with what is needed to change the program and compile it again.

    Args:
        step: the jitted function.
        args: its positional arguments.
        kwargs: its keyword arguments.

    Raises:
        TargetError: `step` is not jitted, JAX refuses the arguments, or the compile failed.
    """
    from donatree._jax import stages
    from donatree.proof.budget import Budget

    ledger, found = _through(step, args, kwargs, Budget(0), twin=False, keep=True)
    if found is None:
        why = next((note for note in ledger.notes if "error" in note), "it was not compiled")
        raise TargetError(
            f"`{stages.name_of(step)}` cannot be compiled with these arguments: {why}"
        )
    return found


def _through(
    step: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    budget: Budget | None,
    twin: bool,
    keep: bool,
) -> tuple[Ledger, Examined | None]:
    from donatree._jax import stages
    from donatree.watch.recorder import Recorder

    if not callable(getattr(step, "lower", None)):
        raise TargetError(
            f"`{stages.name_of(step)}` is not jitted: audit needs what `jax.jit` returns, with a "
            "`lower` method"
        )
    refused = None
    thread = threading.get_ident()
    recorder = Recorder(everything=True, thread=thread, prove=budget, twin=twin)
    if recorder.proving is not None:
        recorder.proving.keep = keep
    with warnings.catch_warnings():
        # Also where the program makes warnings errors: the ledger is what says it here.
        warnings.filterwarnings("always", message="Some donated buffers were not usable")
        recorder.start()
        try:
            lowered = stages.lower(step, args, kwargs)
            inner = list(recorder.ledgers)
            computation = stages.computation_of(lowered)
            if budget is not None and not recorder.saw_lowered(computation):
                lowered = stages.lower(step, args, kwargs, afresh=True)
                computation = stages.computation_of(lowered)
            recorder.associate(computation)
            with stages.aimed():
                try:
                    lowered.compile()
                except DonatreeError as error:
                    refused = error  # it cannot be compiled for the target
                except Exception:
                    pass  # the ledger says what ended it
        finally:
            recorder.stop()
    for fault in recorder.faults:
        raise RuntimeError(f"donatree failed in {fault.where}: {fault.error}\n{fault.traceback}")
    if refused is not None:
        raise refused
    ledger = recorder.ledgers[-1]
    more = (finding for each in inner for finding in each.findings)
    ledger = dataclasses.replace(ledger, findings=(*ledger.findings, *more))
    return ledger, recorder.proving.kept if recorder.proving is not None else None


def require(ledger: Ledger) -> Ledger:
    """Returns the ledger if every promise was kept, and raises otherwise.

    Raises:
        DonationError: names each lost leaf, the gate it stopped at and the finding.

    Example:
        >>> require(Ledger("step", "()", ("state",), ())).function
        'step'
    """
    if not ledger.broken:
        return ledger
    lines = [f"`{ledger.function}` keeps {ledger.summary}"]
    lines[0] += "; lost:" if ledger.lost else ""
    lines += [
        f"  {entry.path}  {entry.leaf.spec.aval}  {entry.bytes:,} bytes  "
        f"stopped at {entry.stopped_at.label if entry.stopped_at else '?'}  {entry.finding}"
        for entry in ledger.lost
    ]
    lines += [f"{finding.code}: {finding.headline}" for finding in ledger.findings]
    raise DonationError("\n".join(lines), ledger)
