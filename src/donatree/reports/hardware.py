"""Where a ledger's program was compiled for, in words."""

from __future__ import annotations

from collections.abc import Sequence

from donatree.ledger import Ledger
from donatree.reports import sizes
from donatree.reports.text import clean

HERE = "host"

_FEW = 3
_PLATFORMS = {"cpu": "CPU", "gpu": "GPU", "tpu": "TPU"}


def name_of(ledger: Ledger) -> str:
    """The target's name; ``host`` where the program was compiled for the machine at hand.

    Example:
        >>> name_of(Ledger("step", "()", (), ()))
        'host'
    """
    return clean(ledger.target.name) if ledger.target else HERE


def platform_of(ledger: Ledger) -> str | None:
    """``cpu``, ``gpu`` or ``tpu``; None where nothing was compiled."""
    return ledger.target.platform if ledger.target else ledger.platform


def device_of(ledger: Ledger) -> str:
    """The kind of its devices and how many the program spans: ``TPU v5 lite, 16 devices``.

    Where the target has more devices than the program spans, both figures are told.
    """
    target = ledger.target
    kind = (target and target.kind) or platform_of(ledger) or ""
    number = sizes.count(ledger.devices, "device") if ledger.devices > 1 else ""
    if target and target.devices > ledger.devices:
        number = f"{ledger.devices:,} of {sizes.count(target.devices, 'device')}"
    return ", ".join(filter(None, (clean(kind), number)))


def platform_name(platform: str) -> str:
    """A platform as it is written in a sentence: ``the CPU``."""
    return f"the {_PLATFORMS.get(platform, clean(platform))}"


def others(names: Sequence[str]) -> str:
    """The other targets in a sentence: by name while they are few.

    Example:
        >>> others(["a", "b"]), others(["a", "b", "c", "d"])
        ('a and b', 'the other 4 targets')
    """
    return listed(names) if len(names) <= _FEW else f"the other {len(names):,} targets"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    Example:
        >>> listed(["host", "tpu:v4:2x2x1", "cuda:h100"])
        'host, tpu:v4:2x2x1 and cuda:h100'
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
