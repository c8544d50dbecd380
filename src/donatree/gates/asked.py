"""Gate *asked*: did the outermost jit record the leaf as donated?"""

from __future__ import annotations

from donatree.observation import Observation

_REASONS = {
    "debug_nans": "`jax_debug_nans` was on when the function was traced",
    "disable_jit": "`jax_disable_jit` is on",
    "inner": "the jit that donates it is called inside another traced function",
    "passed_by_keyword": "declared by position, passed by keyword",
    "negative_number": "declared by a negative number, which this JAX ignores",
    "passed_by_position": "declared by name, passed by position",
}


def check(observation: Observation, flat_index: int) -> tuple[bool, str]:
    """Whether the leaf passed, and what says so."""
    request = observation.request
    if flat_index in request.asked:
        return True, "args_info: donated=True"
    reason = _REASONS.get(request.why_not.get(flat_index, ""), "no reason was seen")
    if request.outer is not None and request.why_not.get(flat_index) == "inner":
        reason = f"called inside `{request.outer}`, where only the outermost jit donates"
    return False, f"args_info: donated=False ({reason})"
