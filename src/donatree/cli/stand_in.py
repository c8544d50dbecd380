"""What a stand-in process does: the command's own work, for devices that are not there.

Started by `donatree.targets.stand_in`, which has given it the devices. Its order is on standard
input, its answer goes to a file; what the user's code prints is nobody's business.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donatree.errors import DonatreeError, TargetError, in_one_line
from donatree.named import Function, resolve
from donatree.targets.names import Wanted, read_target

if TYPE_CHECKING:
    from donatree.targets.abroad import Abroad


def main() -> None:
    """Answers one order."""
    order = json.loads(sys.stdin.read())
    try:
        answer = _answer(order)
    except DonatreeError as error:
        answer = {"refused": str(error)}
    except Exception as error:
        answer = {"fault": {"error": in_one_line(error), "traceback": traceback.format_exc()}}
    Path(order["answer"]).write_text(json.dumps(answer), encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(0)  # to take down thousands of devices takes minutes, and nothing is left to do


def _answer(order: dict[str, Any]) -> dict[str, Any]:
    wanted = read_target(order["for"])
    work = _WORK[order["command"]]
    if wanted.platform == "cpu":
        return work(order, resolve(order["target"]))
    from donatree.targets.compiler import Compiler

    with Compiler(wanted, full=bool(order["full"])) as compiler:
        compiler.start()  # it loads while the user's code is imported
        program = resolve(order["target"])  # which may set what JAX reads when it is imported
        from donatree._jax import hooks
        from donatree.targets.abroad import Abroad

        _assert_devices(wanted)
        abroad = Abroad(wanted, compiler)
        with hooks.elsewhere(abroad):
            answer = work(order, program)
        if abroad.refused is not None:
            return {"refused": abroad.refused}
        _assert_abroad(wanted, abroad, order, answer)
        return answer


def _assert_devices(wanted: Wanted) -> None:
    import jax

    found = len(jax.devices())
    if found != wanted.devices:
        raise TargetError(
            f"the file gives JAX {found:,} devices where `{wanted.name}` has {wanted.devices:,}"
        )


def _assert_abroad(
    wanted: Wanted, abroad: Abroad, order: dict[str, Any], answer: dict[str, Any]
) -> None:
    """An answer that the CPU gave in the target's stead must not pass for one."""
    platforms = {each["platform"] for each in answer.get("account", {}).get("ledgers", ())}
    if platforms - {wanted.platform} or (order["budget"] and not abroad.compiled):
        raise RuntimeError(f"compiled for {platforms or 'nothing'} and not for {wanted.name}")


def _audit(order: dict[str, Any], program: Function) -> dict[str, Any]:
    from donatree.cli.audit import account_of

    account = account_of(*program, order["budget"], order["prove"])
    return {"account": account.to_dict()}


def _advise(order: dict[str, Any], program: Function) -> dict[str, Any]:
    from donatree.cli.advise import advice_on

    return {"advice": advice_on(order["target"], program, order["budget"]).to_dict()}


_WORK = {"audit": _audit, "advise": _advise}


if __name__ == "__main__":
    main()
