"""Bytes of one compiled program as a whole, where they say more than its funnel does."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from donatree.ledger import Gate, Ledger
from donatree.reports import fit, sizes
from donatree.reports.html.spans import prose, spans


def of(ledger: Ledger) -> Iterator[tuple[str, Markup]]:
    """What the program's own totals are, each with its word.

    Args:
        ledger: of the program.

    Yields:
        Global bytes, XLA's total of aliased bytes, live memory against the device, what the call
        needs and what donation saves of that; each where it is known.
    """
    if ledger.promised_global != ledger.promised:
        shown = sizes.size(ledger.promised_global)
        yield "whole arrays", prose(f"{shown}; bytes elsewhere are per device")
    total, granted = ledger.alias_size_in_bytes, ledger.bytes_after(Gate.GRANTED)
    if total is not None and granted is not None and total != granted:
        yield "alias_size_in_bytes", _alias(ledger, total, granted)
    verdict = fit.verdict(ledger) if ledger.target else []
    if verdict:
        yield "live memory", spans(verdict) + prose(" per device")
    if ledger.live is not None:
        live = ledger.live
        text = (
            f"{live.arguments:,} arguments + {live.outputs:,} outputs - {live.alias:,} alias "
            f"+ {live.temp:,} temporaries = {live.total:,} bytes per device"
        )
        yield "the call needs", prose(text)
    if ledger.live is not None and ledger.undonated is not None and ledger.saved is not None:
        saved, without = ledger.saved, f"{ledger.undonated.total:,} without donation, "
        if saved > 0:
            yield "donation saves", prose(without) + spans([(sizes.exact(saved), "green")])
        else:
            words = f"costs {sizes.exact(-saved)}" if saved else "nothing"
            yield "donation saves", prose(without) + spans([(words, "bold red")])


def _alias(ledger: Ledger, total: int, granted: int) -> Markup:
    text = prose(f"{total:,} = {granted:,} granted")
    if ledger.alias_not_donated_bytes:
        more = f" + {ledger.alias_not_donated_bytes:,} that belong to no donated leaf"
        text += prose(more)
    unexplained = total - granted - ledger.alias_not_donated_bytes
    if unexplained:
        sign = "+" if unexplained > 0 else "-"
        more = f" {sign} {abs(unexplained):,} that donatree cannot explain"
        text += spans([(more, "bold red")])
    return text
