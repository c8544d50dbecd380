"""An account as JSON and back, nothing lost.

The keys of ``Account.to_dict`` keep their names and meaning; those added here hold what reading
an account back needs: ``checked``, ``defined_at`` and ``called_at`` of a ledger, ``slot_array``
and ``successor_array`` of an entry, ``versions``. The schema is ``schema/ledger-1.json``.
"""

from __future__ import annotations

import importlib.resources
import json
from typing import TYPE_CHECKING, Any, TextIO

from donatree.ledger import SCHEMA_VERSION, Account, Entry, Ledger, Slot
from donatree.reports import decode

if TYPE_CHECKING:
    from donatree.reports import Options


def dumps(account: Account) -> str:
    """An account as JSON text: keys sorted, indented by 2, ASCII only, no clock.

    Args:
        account: what was learnt of a program.

    Returns:
        The text, ended by a newline; the same for equal accounts. ``loads`` gives the account
        back.

    Example:
        >>> loads(dumps(Account())) == Account()
        True
    """
    data = account.to_dict()
    data["versions"] = dict(account.versions)
    for ledger, made in zip(account.ledgers, data["ledgers"], strict=True):
        _complete(ledger, made)
    return json.dumps(data, indent=2, sort_keys=True) + "\n"


def _complete(ledger: Ledger, made: dict[str, Any]) -> None:
    made["checked"] = [gate.value for gate in ledger.checked]
    made["defined_at"] = ledger.location and ledger.location.to_dict()
    made["called_at"] = ledger.call and ledger.call.to_dict()
    for entry, row in zip(ledger.entries, made["entries"], strict=True):
        _complete_entry(entry, row)


def _complete_entry(entry: Entry, row: dict[str, Any]) -> None:
    row["slot_array"] = entry.slot and _array(entry.slot)
    row["successor_array"] = entry.successor and _array(entry.successor)


def _array(slot: Slot) -> dict[str, Any]:
    return {"flat_index": slot.flat_index, **slot.spec.to_dict()}


def loads(text: str) -> Account:
    """Reads an account back from JSON text.

    Args:
        text: what ``dumps`` wrote; further keys are ignored.

    Returns:
        The account.

    Raises:
        ValueError: the text is no JSON, has another ``schema_version``, lacks a key or has a value
            of the wrong type; one line that names the place.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"{error.msg} in line {error.lineno}, column {error.colno}"
        raise ValueError(f"not a donatree report: {message}") from None
    except (RecursionError, ValueError):
        raise ValueError("not a donatree report: nested too deep, or a number too long") from None
    return decode.account(data, SCHEMA_VERSION)


def write(account: Account, stream: TextIO, options: Options) -> None:
    """Writes the JSON to a stream; the options do not matter."""
    del options
    stream.write(dumps(account))
    stream.flush()


def schema() -> dict[str, Any]:
    """The published JSON Schema (draft 2020-12) of what ``dumps`` writes.

    Returns:
        The schema as data, for example for ``jsonschema.validate``.
    """
    name = f"schema/ledger-{SCHEMA_VERSION}.json"
    text = importlib.resources.files("donatree.reports").joinpath(name).read_text("utf-8")
    return json.loads(text)
