"""The recorder of one test: what donates in it, and what was met that does not."""

from __future__ import annotations

from typing import Any

from donatree._jax import frames, reads, request
from donatree.watch.level import Level
from donatree.watch.recorder import Recorder


class TestRecorder(Recorder):
    """Sees each jitted function that is called after `start`, compiled before or not.

    JAX calls a signature that it knows in C++, where nobody is told. At `start` C++ is made to ask
    again, once for each: nothing is traced, lowered or compiled anew for it (measured on JAX 0.5.3,
    0.10.2 and 0.12.0.1). Not seen are calls of what was compiled ahead of time, and of transforms
    of a donating jit or a jit around one where that was compiled before.
    """

    __test__ = False  # pytest takes a class of this name for a test

    def __init__(self) -> None:
        super().__init__(level=Level(), catch_warning=False)  # the test may be about the warning
        self._met: dict[str, None] = {}

    @property
    def met(self) -> tuple[str, ...]:
        """The user's jitted functions that were met and donate nothing, with their places."""
        return tuple(self._met)

    def start(self) -> None:
        """Begin to watch."""
        super().start()
        reads.forget_dispatch()

    def requested(
        self, fun: Any, info: Any, args: tuple[Any, ...], kwargs: dict[str, Any], params: Any
    ) -> None:
        """See `hooks.Observer`."""
        if not self.wants(fun, info):
            place = frames.location_of_function(fun)
            if place is not None and frames.is_user_file(place.file):
                self._met[f"`{request.function_name(fun)}` ({place})"] = None
        super().requested(fun, info, args, kwargs, params)
