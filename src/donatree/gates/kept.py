"""Gate *kept*: is the leaf a parameter of the module at all?"""

from __future__ import annotations

from donatree.observation import Observation


def check(observation: Observation, flat_index: int) -> tuple[bool, str]:
    """Whether the leaf passed, and what says so."""
    assert observation.parameter_of is not None
    number = observation.parameter_of.get(flat_index)
    if number is None:
        return False, f"kept_var_idx: argument leaf {flat_index} was pruned"
    return True, f"kept_var_idx: parameter {number} of the module"
