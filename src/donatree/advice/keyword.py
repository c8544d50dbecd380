"""The keyword to write, in the words of what jitted the function."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from donatree._jax.promise import one_or_tuple


def keyword(
    names: Collection[str], positional: Sequence[str], order: Sequence[str], dialect: str
) -> str:
    """What to write so that just these arguments are donated.

    Args:
        names: the arguments.
        positional: names of the function's positional parameters, static ones included.
        order: names of all arguments that have leaves.
        dialect: ``jax``, ``nnx`` or ``equinox``.

    Returns:
        Empty for no arguments. Names alone where one can be passed by keyword only: JAX finds the
        numbers of the others itself, and with both given it would not.

    Example:
        >>> keyword({"state"}, ["state", "batch"], ["state", "batch"], "jax")
        'donate_argnums=0'
    """
    if not names:
        return ""
    if dialect == "equinox":
        return _of_equinox(names, positional, order)
    if all(name in positional for name in names):
        numbers = sorted(positional.index(name) for name in names)
        return f"donate_argnums={one_or_tuple(numbers)}"
    return f"donate_argnames={one_or_tuple(sorted(names))}"


def _of_equinox(names: Collection[str], positional: Sequence[str], order: Sequence[str]) -> str:
    """`filter_jit` donates all arguments, or all but the first."""
    first = positional[:1]
    rest = [name for name in order if name not in first]
    if set(order) <= set(names):
        return 'donate="all"'
    if rest and set(rest) == set(names):
        return 'donate="all-except-first"'
    return 'donate="all-except-first", with all that stays in one first argument'
