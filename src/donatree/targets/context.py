"""`target`: what this thread audits inside is compiled for other hardware."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from donatree.ledger import Target


@contextlib.contextmanager
def target(name: str, *, full: bool = False) -> Iterator[Target]:
    """Inside, `audit`, `prove`, `require` and `advise` compile for hardware that need not be here.

    The devices of this process stand in for those of the target, so meshes must fit both; what is
    run inside runs here as always. Nothing is allocated for the target, and XLA's compiler for it
    runs in a process of its own. `donatree audit --target` starts a process with as many virtual
    devices as the target has, and needs none of this.

    Args:
        name: `tpu:v5e:2x2`, `cuda:h100`; `host` changes nothing.
        full: compile to the end. Otherwise a compile is stopped as soon as the compiler has said
            where everything goes.

    Yields:
        What is known of the target, its memory in bytes per device among it.

    Raises:
        TargetError: there is no such target, or what compiles for it is not installed; one line.

    Example:
        >>> import donatree, jax, jax.numpy as jnp
        >>> step = jax.jit(lambda w: w * 2, donate_argnums=0)
        >>> with donatree.target("tpu:v5e:2x2"):  # doctest: +SKIP
        ...     donatree.audit(step, jax.ShapeDtypeStruct((512, 512), jnp.float32)).summary
        '1,048,576 of 1,048,576 bytes, 1 of 1 leaves'
    """
    from donatree.targets.names import read_target
    from donatree.targets.reading import target_of

    wanted = read_target(name)
    if wanted.platform == "cpu":
        yield target_of(wanted)
        return
    from donatree.targets.compiler import Compiler

    with Compiler(wanted, full=full) as compiler:
        compiler.start()
        from donatree._jax import hooks
        from donatree.targets.abroad import Abroad

        with hooks.elsewhere(Abroad(wanted, compiler)):
            yield target_of(wanted)
