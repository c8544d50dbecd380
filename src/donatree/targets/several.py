"""One function on several targets: each is asked, and what they answer put together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from typing import Any

from donatree.errors import DonatreeError, TargetError
from donatree.ledger import Account, Fault, Ledger, Refusal
from donatree.targets import stand_in
from donatree.targets.names import Wanted, read_target
from donatree.targets.reading import target_of

HERE = "host"

Here = Callable[[], Account]


def wanted_of(names: Iterable[str]) -> tuple[Wanted, ...]:
    """The targets that were named, each once.

    Args:
        names: as the user wrote them.

    Raises:
        TargetError: a name is none, or what it needs is not installed; one line.
    """
    found = {wanted.name: wanted for wanted in map(read_target, names)}
    return tuple(found.values())


def audited(
    targets: Sequence[Wanted],
    order: Mapping[str, Any],
    here: Here,
    load: Callable[[Mapping[str, Any]], Account],
) -> Account:
    """The account of a function on several targets, in their order.

    Args:
        targets: what to compile for.
        order: what each stand-in process is asked.
        here: makes the account for the devices of this process: the target `host`.
        load: reads an account from plain data.

    Raises:
        TargetError: no target could do anything, all for one reason.
    """
    answers = asked(targets, order, here)
    raise_if_all_refused(answers)
    accounts = [
        _account(wanted, answer, order["target"], load)
        for wanted, answer in zip(targets, answers, strict=True)
    ]
    ledgers = _of_one_call([each for account in accounts for each in account.ledgers])
    first = next((each for each in accounts if each.versions), Account())
    return dataclasses.replace(
        first,
        ledgers=ledgers,
        faults=tuple(fault for each in accounts for fault in each.faults),
        refusals=tuple(each for account in accounts for each in account.refusals),
    )


def asked(
    targets: Sequence[Wanted], order: Mapping[str, Any], here: Callable[[], Any]
) -> list[Any]:
    """What each target answers: plain data, what `here` made, or the error that ended it."""

    def one(wanted: Wanted) -> Any:
        try:
            return here() if wanted.name == HERE else stand_in.ask(order, wanted)
        except DonatreeError as error:
            return {"refused": str(error)}

    # What is compiled in this process stays on this thread, as without targets.
    away = [each for each in targets if each.name != HERE]
    with ThreadPoolExecutor(max_workers=max(1, (cpu_count() or 2) // 2)) as pool:
        futures = {each.name: pool.submit(one, each) for each in away}
        found = {each.name: one(each) for each in targets if each.name == HERE}
        found |= {name: future.result() for name, future in futures.items()}
    return [found[each.name] for each in targets]


def raise_if_all_refused(answers: Sequence[Any]) -> None:
    """What all targets refuse alike is no matter of one of them: no such file, no such function.

    Raises:
        TargetError: in one line.
    """
    refusals = {None if isinstance(each, Account) else each.get("refused") for each in answers}
    if len(refusals) == 1 and None not in refusals:
        raise TargetError(refusals.pop())


def _account(
    wanted: Wanted,
    answer: Any,
    function: str,
    load: Callable[[Mapping[str, Any]], Account],
) -> Account:
    if isinstance(answer, Account):
        return answer
    if "refused" in answer:
        return Account(refusals=(Refusal(function, "", wanted.name, answer["refused"]),))
    if "fault" in answer:
        fault = answer["fault"]
        return Account(faults=(Fault(wanted.name, fault["error"], fault["traceback"]),))
    account = load(answer["account"])
    target = target_of(wanted) if wanted.platform == "cpu" else None
    ledgers = tuple(
        dataclasses.replace(each, target=each.target or target) for each in account.ledgers
    )
    return dataclasses.replace(account, ledgers=ledgers)


def _of_one_call(ledgers: Sequence[Ledger]) -> tuple[Ledger, ...]:
    """The ledgers under one signature: that of a target has its shardings in it."""
    if not ledgers:
        return ()
    signature = ledgers[0].signature
    return tuple(dataclasses.replace(each, signature=signature) for each in ledgers)
