"""Compiles programs for a target, in a process of its own that is stopped early."""

from __future__ import annotations

import dataclasses
import time
from types import TracebackType
from typing import Any

from donatree.shipment import Shipment
from donatree.targets import packages
from donatree.targets.checks import check, checked, first_order
from donatree.targets.dumped import Dumped
from donatree.targets.faults import NotCompiled, NotInstalled, crashed, explained, refused
from donatree.targets.files import DumpFolder
from donatree.targets.names import Wanted
from donatree.targets.worker import Worker


class Compiler:
    """Compiles programs for one target.

    Example:
        >>> with Compiler(read_target("tpu:v5e:2x2")) as compiler:  # doctest: +SKIP
        ...     compiler.start()  # while the program is being lowered
        ...     dumped = compiler.compile(shipment)

    Args:
        wanted: the target; not the host.
        full: whether to compile to the end. Otherwise the compile is stopped once alias map,
            buffer assignment and memory report are on disk, before code is generated; not so that
            of a program for a TPU with arrays in other memory than the device's.
        timeout: seconds for one compile; no limit where it is None.
    """

    def __init__(self, wanted: Wanted, full: bool = False, timeout: float | None = None) -> None:
        if wanted.platform == "cpu":
            raise ValueError("the host compiles for itself")
        self.wanted = wanted
        self._full = full
        self._timeout = timeout
        self._worker: Worker | None = None
        self._ended: list[Worker] = []
        self._ready: dict[str, Any] | None = None

    def start(self) -> None:
        """Starts the process, which loads the compiler meanwhile; returns at once.

        Raises:
            NotInstalled: a package is missing; the text says what to install.
            NotCompiled: the installed versions cannot compile for the target.
        """
        if self._worker is not None and self._worker.code() is None:
            return
        reason = packages.why_not(self.wanted.platform)
        if reason is not None:
            raise NotInstalled(reason)
        self._retire()
        self._worker = Worker(self.wanted, first_order(self.wanted))

    def compile(self, shipment: Shipment) -> Dumped:
        """Compiles one program.

        Args:
            shipment: the program, lowered for the target's platform.

        Returns:
            What was dumped. A program that does not fit is a result too: see `Dumped.refused`.

        Raises:
            NotCompiled: one line that says why not.
        """
        check(self.wanted, shipment)
        quick = packages.overrides(self.wanted.platform, self._full)
        plain = packages.overrides(self.wanted.platform, full=True)
        if quick != plain:
            try:
                return self._attempt(shipment, quick)
            except NotCompiled:
                pass  # it may be the options that are refused, as without a PTX compiler
        return self._attempt(shipment, plain)

    def _attempt(self, shipment: Shipment, overrides: list[list[object]]) -> Dumped:
        self.start()
        assert self._worker is not None
        worker = self._worker
        try:
            return self._compiled(worker, shipment, overrides)
        except BaseException:
            worker.kill()
            raise

    def close(self) -> None:
        """Stops the process and removes all files, those of `Dumped` as well."""
        self._retire()
        for worker in self._ended:
            worker.remove()
        self._ended.clear()

    def __enter__(self) -> Compiler:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _retire(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._ended.append(self._worker)
            self._worker = None
            self._ready = None

    def _compiled(
        self, worker: Worker, shipment: Shipment, overrides: list[list[object]]
    ) -> Dumped:
        began = time.monotonic()
        deadline = None if self._timeout is None else began + self._timeout
        path = worker.folder_for_dump()
        folder = DumpFolder(path, self.wanted.platform)
        order = {
            "module": len(shipment.module),
            "options": len(shipment.options),
            "devices": list(shipment.devices),
            "tupled": shipment.tupled,
            "folder": str(path),
            "overrides": overrides,
        }
        ready = self._wait_until_ready(worker, deadline)
        worker.send(order, shipment.module, shipment.options)
        # Only while it generates code does XLA notice that it cannot move an array in place.
        full = self._full or (self.wanted.platform == "tpu" and bool(shipment.memory_kinds))
        answer = None
        while answer is None:
            answer = worker.answer(0.02)
            if answer is None and worker.code() is not None:
                answer = worker.answer(0) or {"crash": worker.code()}
            if answer is None and not full and folder.is_complete(worker.pid):
                break
            if deadline is not None and time.monotonic() > deadline:
                raise NotCompiled(f"the compile took more than {self._timeout:g} s", worker.log())
        if answer is None or "crash" in answer:
            worker.kill()
        made = self._dumped(worker, folder, ready, answer or {})
        return dataclasses.replace(made, seconds=time.monotonic() - began)

    def _wait_until_ready(self, worker: Worker, deadline: float | None) -> dict[str, Any]:
        while self._ready is None:
            answer = worker.answer(0.1)
            if answer is not None:
                self._ready = checked(self.wanted, answer, worker.log())
            elif worker.code() is not None:
                raise crashed(self.wanted.platform, worker.code() or 0, worker.log())
            elif deadline is not None and time.monotonic() > deadline:
                raise NotCompiled(
                    f"XLA's compiler was not ready after {self._timeout:g} s", worker.log()
                )
        return self._ready

    def _dumped(
        self, worker: Worker, folder: DumpFolder, ready: dict[str, Any], answer: dict[str, Any]
    ) -> Dumped:
        platform, log = self.wanted.platform, worker.log()
        files = folder.files()
        text = str(answer.get("text", ""))
        refusal = refused(text)
        error = crashed(platform, answer["crash"], log) if "crash" in answer else None
        if error is None and "error" in answer and refusal is None:
            error = NotCompiled(explained(self.wanted.name, text, log), log)
        if files is None and error is None:
            error = NotCompiled(refusal or "XLA dumped no file of the compile", log)
        # For a GPU it may be that only a tool is missing, which the dump does not depend on.
        if error is not None and (files is None or platform == "tpu"):
            raise error
        assert files is not None
        if ".sm_0." in files["module"].name:
            raise NotCompiled(f"XLA read no compute capability for `{self.wanted.name}`", log)
        return Dumped(
            module=files["module"],
            before=files["before"],
            assignment=files["assignment"],
            memory_report=files["memory_report"],
            live_ranges=files.get("live_ranges"),
            platform=platform,
            kind=ready["kind"],
            complete="done" in answer,
            refused=refusal,
            unfinished=str(error) if error is not None else None,
            statistics=packages.trusted(platform, answer.get("statistics")),
            log=log,
        )
