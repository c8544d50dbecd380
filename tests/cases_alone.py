"""Cases that need a process of their own: hoisted constants and JAX's persistent cache.

Both are settings that JAX reads when it is imported. Run as a program it prints one JSON object;
`environment` says how to start it.
"""

from __future__ import annotations

import json
from typing import Any


def environment(cache: str, *, hoist: bool) -> dict[str, str]:
    """Environment variables under which every compile is cached, and constants become arguments.

    Args:
        cache: an empty folder.
        hoist: whether this JAX can hoist: 0.7 has the setting and fails with it, before there is
            none.
    """
    found = {
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    return found | ({"JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": "1"} if hoist else {})


def constants() -> dict[str, Any]:
    """A step with an ordered effect and a large array in its closure."""
    import jax
    import jax.numpy as jnp

    import donatree
    from cases_table import said

    weights = jnp.arange(2048.0)

    def step(state: Any) -> Any:
        jax.debug.callback(lambda _: None, state["low"][0], ordered=True)
        return {"high": state["high"] * weights.sum(), "low": state["low"] + weights[:5]}

    state = {"high": jnp.ones((2, 3)), "low": jnp.ones(5)}
    jitted = jax.jit(step, donate_argnums=0)
    ledger = donatree.audit(jitted, state)
    text = jitted.lower(state).as_text()
    return {"said": said(ledger), "hoisted": "jax.const" in text, "token": "jax.token" in text}


def cache() -> list[dict[str, Any]]:
    """The same step twice, compiled and then found in the cache."""
    import jax
    import jax.numpy as jnp
    from jax import monitoring

    import donatree
    from cases_table import said

    def step(state: Any) -> Any:
        return {"long": state["long"] + 1, "short": state["short"] * 2}

    hits: list[str] = []
    monitoring.register_event_listener(
        lambda event, **_: hits.append(event) if event.endswith("/cache_hits") else None
    )
    jitted = jax.jit(step, donate_argnums=0)
    answer = []
    for _ in range(2):
        state = {"long": jnp.ones(64), "short": jnp.ones(32)}
        hits.clear()
        with donatree.watch() as watched:
            jitted(state)
        answer.append(
            {
                "said": [said(ledger) for ledger in watched.ledgers],
                "notes": [note for ledger in watched.ledgers for note in ledger.notes],
                "gone": [leaf.is_deleted() for leaf in state.values()],
                "hit": bool(hits),
            }
        )
        jax.clear_caches()
    return answer


if __name__ == "__main__":
    print(json.dumps({"constants": constants(), "cache": cache()}))
