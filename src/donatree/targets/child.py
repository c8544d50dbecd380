"""The process that compiles for a target: ``python -m donatree.targets.child``.

It knows nothing of the user's code. Orders come on standard input, one line of JSON and then
bytes; answers leave on what was standard output, a line of JSON each. When standard input ends it
removes its folder and ends too, whatever it is doing, so nothing stays behind when the process
that started it dies.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import sys
import threading
import time
from typing import Any, BinaryIO


def main() -> None:
    """Builds the topology, says that it is ready, and compiles what it is given."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print belongs to the log
    began = time.monotonic()
    orders: queue.Queue[tuple[dict[str, Any], bytes, bytes]] = queue.Queue()
    first = json.loads(sys.stdin.buffer.readline() or b"{}")
    if not first:
        return
    _no_core_files()
    reader = threading.Thread(target=_read, args=(sys.stdin.buffer, orders, first["folder"]))
    for thread in (reader, threading.Thread(target=_follow, args=(os.getppid(), first["folder"]))):
        thread.daemon = True
        thread.start()
    try:
        devices = _devices(first)
    except Exception as error:
        _say(answers, _failure(error))
        return
    _say(
        answers,
        {
            "ready": True,
            "platform": sorted({device.platform for device in devices}),
            "kind": devices[0].device_kind,
            "devices": len(devices),
            "seconds": time.monotonic() - began,
        },
    )
    while True:
        _say(answers, _compiled(devices, *orders.get()))


def _devices(first: dict[str, Any]) -> list[Any]:
    from donatree._jax import compile_only, topology

    if first["platform"] == "tpu":
        devices = topology.tpu_devices(first["topology"], first["keywords"])
    else:
        devices = topology.gpu_devices(first["topology"], first["description"])
    compile_only.prepare()
    return devices


def _compiled(
    devices: list[Any], order: dict[str, Any], module: bytes, options: bytes
) -> dict[str, Any]:
    from donatree._jax import compile_only

    try:
        statistics = compile_only.compile_for(
            [devices[place] for place in order["devices"]],
            module,
            options,
            order["tupled"],
            order["folder"],
            [(name, value) for name, value in order["overrides"]],
        )
    except Exception as error:
        return _failure(error)
    return {"done": True, "statistics": statistics}


def _read(
    stream: BinaryIO, orders: queue.Queue[tuple[dict[str, Any], bytes, bytes]], folder: str
) -> None:
    """Hands on orders; ends the process with the stream, for then nobody waits for it."""
    try:
        while line := stream.readline():
            order = json.loads(line)
            module = stream.read(order["module"])
            options = stream.read(order["options"])
            orders.put((order, module, options))
    finally:
        _end(folder)


def _follow(parent: int, folder: str) -> None:
    """Ends with the parent also where a fork of it keeps standard input open."""
    while os.getppid() == parent:
        time.sleep(1.0)
    _end(folder)


def _end(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _say(answers: BinaryIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer).encode() + b"\n")
    answers.flush()


def _failure(error: Exception) -> dict[str, Any]:
    return {"error": type(error).__name__, "text": str(error)}


def _no_core_files() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        pass


if __name__ == "__main__":
    main()
