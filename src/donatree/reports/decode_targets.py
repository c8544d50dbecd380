"""Plain data back to what a ledger says of the hardware that a program was compiled for."""

from __future__ import annotations

from typing import Any

from donatree.ledger import Holding, MadeCopy, Refusal, Target
from donatree.reports.item import Item, location


def target(data: Any, place: str) -> Target:
    """The hardware of a ledger."""
    item = Item(data, place)
    return Target(
        name=item.get("name", str),
        platform=item.get("platform", str),
        kind=item.maybe("kind", str),
        devices=item.get("devices", int),
        memory=item.maybe("memory_bytes", int),
        memory_source=item.maybe("memory_source", str),
    )


def copy(data: Any, place: str) -> MadeCopy:
    """A copy by which XLA takes bytes back."""
    item = Item(data, place)
    return MadeCopy(
        instruction=item.get("instruction", str),
        bytes=item.get("bytes", int),
        leaves=item.texts("leaves"),
        protects=item.get("protects", str),
        readers=item.texts("readers"),
        costs=item.maybe("costs", bool),
        location=item.one("place", location),
    )


def holding(data: Any, place: str) -> Holding:
    """One of the largest buffers of a program."""
    item = Item(data, place)
    return Holding(
        what=item.get("what", str),
        bytes=item.get("bytes", int),
        shape=item.get("shape", str),
        role=item.get("role", str),
        location=item.one("place", location),
    )


def refusal(data: Any, place: str) -> Refusal:
    """A function that could not be compiled for a target."""
    item = Item(data, place)
    return Refusal(
        function=item.get("function", str),
        signature=item.get("signature", str),
        target=item.get("target", str),
        why=item.get("why", str),
    )
