"""`audit`: a jitted function and arguments, through the gates, without running anything."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import warnings
from typing import Any

from donatree.errors import DonationError, DonatreeError, TargetError
from donatree.ledger import Ledger


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
    from donatree._jax import stages
    from donatree.watch.recorder import Recorder

    if not callable(getattr(step, "lower", None)):
        raise TargetError(
            f"`{_name(step)}` is not jitted: audit needs what `jax.jit` returns, with a `lower` "
            "method"
        )
    recorder = Recorder(everything=True, thread=threading.get_ident())
    with warnings.catch_warnings():
        # Also where the program makes warnings errors: the ledger is what says it here.
        warnings.filterwarnings("always", message="Some donated buffers were not usable")
        recorder.start()
        try:
            lowered = _lower(step, args, kwargs)
            inner = list(recorder.ledgers)
            recorder.associate(stages.computation_of(lowered))
            with contextlib.suppress(Exception):  # the ledger says what ended the compile
                lowered.compile()
        finally:
            recorder.stop()
    for fault in recorder.faults:
        raise RuntimeError(f"donatree failed in {fault.where}: {fault.error}\n{fault.traceback}")
    ledger = recorder.ledgers[-1]
    return dataclasses.replace(
        ledger, findings=(*ledger.findings, *(f for each in inner for f in each.findings))
    )


def _lower(step: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """JAX's own `Lowered`."""
    from donatree._jax import stages

    try:
        found = step.lower(*args, **kwargs)
    except DonatreeError:
        raise
    except Exception as error:
        line = f"{type(error).__name__}: {first_line(error)}"
        raise TargetError(f"JAX refuses `{_name(step)}` with these arguments: {line}") from error
    lowered = stages.jax_lowered(found)
    if lowered is None:
        kind = type(found).__name__
        raise TargetError(f"`lower` gave a {kind}, which holds no lowering of JAX's")
    return lowered


def _name(step: Any) -> str:
    return getattr(step, "__name__", None) or type(step).__name__


def first_line(error: BaseException) -> str:
    """The first line of an error's text."""
    text = str(error).strip()
    return text.splitlines()[0] if text else ""


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
