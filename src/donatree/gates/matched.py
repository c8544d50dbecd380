"""Gate *matched*: did JAX pair the leaf with an output, or leave it to XLA?"""

from __future__ import annotations

from donatree.observation import Observation


def check(observation: Observation, flat_index: int) -> tuple[bool, str]:
    """Whether the leaf passed, and what says so."""
    assert observation.parameter_of is not None
    assert observation.attributes is not None
    number = observation.parameter_of[flat_index]
    found = observation.attributes.get(number)
    if found is None:
        return False, f"@main argument {number} has no donation attribute"
    if found == "donor":
        return True, f"@main argument {number}: jax.buffer_donor = true"
    return True, f"@main argument {number}: tf.aliasing_output = {found}"
