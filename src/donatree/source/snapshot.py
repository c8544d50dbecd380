"""The locals of a running frame, read so that the frame keeps nothing more than before."""

from __future__ import annotations

import inspect
import sys
from types import FrameType
from typing import Any

_PROXY = sys.version_info >= (3, 13)


def locals_of(frame: FrameType) -> dict[str, Any]:
    """The local variables of a frame by name, cells and free variables too.

    Up to Python 3.12 `f_locals` of a function is a dict that stays on the frame and keeps every
    value alive. It is emptied again here, unless the program has it in hand from `locals()`.

    Args:
        frame: any frame; of a module or class body the namespace itself is copied.
    """
    namespace = frame.f_locals
    found = dict(namespace)
    # Held by the frame, by the name here and by the call.
    if (
        not _PROXY
        and frame.f_code.co_flags & inspect.CO_OPTIMIZED
        and sys.getrefcount(namespace) <= 3
    ):
        namespace.clear()
    return found
