"""`audit`: a jitted function and arguments, through the gates, without running anything."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
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
    from donatree.watch.recorder import Recorder

    if not callable(getattr(step, "lower", None)):
        raise TargetError(
            f"`{_name(step)}` is not jitted: audit needs what `jax.jit` returns, with a `lower` "
            "method"
        )
    recorder = Recorder(everything=True, thread=threading.get_ident())
    recorder.start()
    try:
        try:
            lowered = _innermost(step.lower(*args, **kwargs))
        except DonatreeError:
            raise
        except Exception as error:
            line = f"{type(error).__name__}: {first_line(error)}"
            raise TargetError(
                f"JAX refuses `{_name(step)}` with these arguments: {line}"
            ) from error
        inner = list(recorder.ledgers)
        recorder.associate(lowered._lowering)
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


def _innermost(lowered: Any) -> Any:
    """JAX's own `Lowered` inside the ones of equinox and flax."""
    for _ in range(4):
        if hasattr(lowered, "_lowering"):
            return lowered
        lowered = lowered.lowered
    raise TargetError(f"`lower` gave a {type(lowered).__name__}, which holds no lowering of JAX's")


def _name(step: Any) -> str:
    return getattr(step, "__name__", None) or type(step).__name__


def first_line(error: BaseException) -> str:
    """The first line of an error's text."""
    text = str(error).strip()
    return text.splitlines()[0] if text else ""


def require(ledger: Ledger) -> Ledger:
    """Returns the ledger if every promised leaf was kept, and raises otherwise.

    Raises:
        DonationError: names each lost leaf, the gate it stopped at and the finding.

    Example:
        >>> require(Ledger("step", "()", ("state",), ())).function
        'step'
    """
    if not ledger.lost:
        return ledger
    lines = [f"`{ledger.function}` keeps {ledger.summary} in place; lost:"]
    lines += [
        f"  {entry.path}  {entry.leaf.spec.aval}  {entry.bytes:,} bytes  "
        f"stopped at {entry.stopped_at.label if entry.stopped_at else '?'}  {entry.finding}"
        for entry in ledger.lost
    ]
    lines += [f"{finding.code}: {finding.headline}" for finding in ledger.findings]
    raise DonationError("\n".join(lines), ledger)
