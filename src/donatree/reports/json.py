"""An account as JSON and back, nothing lost.

The schema is ``schema/ledger-1.json``.
"""

from __future__ import annotations

import importlib.resources
import json
from typing import TYPE_CHECKING, Any, TextIO

from donatree.ledger import SCHEMA_VERSION, Account
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
    return json.dumps(account.to_dict(), indent=2, sort_keys=True) + "\n"


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
