"""How much a value has in common with what it was computed from, by primitive."""

from __future__ import annotations

from functools import cache


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALIKE = _names(
    """
    add sub mul div rem pow integer_pow max min neg sign floor ceil round exp exp2 log log1p
    expm1 tanh sin cos sqrt rsqrt cbrt logistic erf erf_inv abs square select_n clamp and or
    not xor convert_element_type bitcast_convert_type reduce_precision copy copy_p
    stop_gradient optimization_barrier nextafter atan2 is_finite eq ne lt le gt ge add_any
    shift_left shift_right_logical shift_right_arithmetic population_count real imag complex
    conj mul_add sharding_constraint layout_constraint device_put name pvary pbroadcast psum
    psum2 psum_invariant pmean pmax pmin ppermute symbolic_zeros random_wrap random_unwrap
    random_bits random_seed cumsum cumprod cummax cummin cumlogsumexp mesh_cast reshard
    """
)
_MOVED = _names(
    """
    reshape transpose rev squeeze expand_dims broadcast_in_dim slice dynamic_slice
    concatenate stack pad gather random_split random_fold_in split sort
    """
)
_UPDATED = _names(
    """
    dynamic_update_slice scatter scatter-add scatter_add scatter-mul scatter_mul scatter-min
    scatter-max scatter_min scatter_max select_and_scatter_add
    """
)
_COMPARED = _names(
    """
    eq ne lt le gt ge is_finite
    """
)

WITHOUT_BODY = _ALIKE | _MOVED | _UPDATED | {"dot_general", "reduce_sum", "iota"}

SLICE, CHOICE, OTHER = 8, 80, 100


@cache
def costs(name: str) -> tuple[int, int, int]:
    """What the operands of a primitive cost.

    Args:
        name: JAX's name of the primitive.

    Returns:
        For the first operand, for the others, and, where it is not 0, for one of another shape than
        the result (a scalar factor is less the same value).
    """
    if name in _UPDATED:
        return 1, 40, 0
    if name in _COMPARED:
        return 60, 60, 0
    if name == "select_n":
        return 60, 1, 0
    if name in _ALIKE:
        return 1, 1, 12
    if name in _MOVED:
        return 4, 4, 0
    return OTHER, OTHER, 0


def is_one_to_one(name: str) -> bool:
    """Whether a primitive of several results makes each from the operand in its place."""
    return name in _ALIKE
