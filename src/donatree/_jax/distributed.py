"""The program's own `jax.distributed.initialize`, seen while it meets the other processes.

Every way in (the public function, a launcher's plugin, a library) comes to
`distributed.State.initialize`. It is not wrapped itself, because it fails in many ways (a
coordinator that does not answer, an argument that is missing) and a wrapper's frame would stand in
each of those tracebacks. Two functions that it calls are wrapped instead:

`_jax.get_distributed_runtime_service(address, num_processes, ...)` (`xla_extension` up to 0.5)
    runs in process 0 only, just before the others can reach it: what process 0 does here is done
    before `initialize` returns in any other process. What was left open in the arguments has been
    found out from the cluster by then.
`State.initialize_preemption_sync_manager(self)`
    runs in every process once it is connected.

Both are the same from JAX 0.5.3 to 0.12 (measured), and so are the attributes `process_id`,
`num_processes` and `coordinator_address` of `distributed.global_state`.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

_LIBRARIES = ("_jax", "xla_extension")
_SERVICE = "get_distributed_runtime_service"
_CONNECTED = "initialize_preemption_sync_manager"


@dataclass(frozen=True, slots=True)
class Place:
    """This process among the others of its program.

    Attributes:
        index: JAX's `process_id`.
        count: JAX's `num_processes`.
        address: the coordinator's address, the same in every process.
    """

    index: int
    count: int
    address: str


class Observer(Protocol):
    """Somebody who wants to know that there are several processes."""

    def opening(self, place: Place) -> None:
        """This is process 0, and no other process can have passed `initialize` yet."""

    def joined(self, place: Place) -> None:
        """This process is connected to the others."""

    def fault(self, where: str, error: BaseException) -> None:
        """The observer itself failed in `where`; the program goes on."""


def attach(observer: Observer) -> Callable[[], None]:
    """Starts telling `observer`.

    Args:
        observer: what it does is done inside the program's `initialize`; its errors do not reach
            the program.

    Returns:
        What puts JAX's own functions back.

    Raises:
        AttributeError: this JAX does not have the functions; nothing is wrapped then.
    """
    from jax._src import distributed, traceback_util

    traceback_util.register_exclusion(__file__)
    library, state = _library(distributed), distributed.State
    originals = ((library, _SERVICE), (state, _CONNECTED))
    service, connected = (getattr(owner, name) for owner, name in originals)

    @functools.wraps(service)
    def get_distributed_runtime_service(
        address: str, num_processes: int, *args: Any, **kwargs: Any
    ) -> Any:
        coordinator = distributed.global_state.coordinator_address or address
        _tell(observer, "opening", lambda: Place(0, num_processes, coordinator))
        return service(address, num_processes, *args, **kwargs)

    @functools.wraps(connected)
    def initialize_preemption_sync_manager(self: Any) -> Any:
        _tell(
            observer,
            "joined",
            lambda: Place(self.process_id, self.num_processes, self.coordinator_address),
        )
        return connected(self)

    setattr(library, _SERVICE, get_distributed_runtime_service)
    setattr(state, _CONNECTED, initialize_preemption_sync_manager)

    def detach() -> None:
        setattr(library, _SERVICE, service)
        setattr(state, _CONNECTED, connected)

    return detach


def _library(distributed: Any) -> Any:
    for name in _LIBRARIES:
        library = getattr(distributed, name, None)
        if hasattr(library, _SERVICE):
            return library
    raise AttributeError(f"`{distributed.__name__}` uses no `{_SERVICE}`")


def _tell(observer: Observer, method: str, place: Callable[[], Place]) -> None:
    try:
        getattr(observer, method)(place())
    except Exception as error:
        with contextlib.suppress(Exception):
            observer.fault(f"processes: {method}", error)
