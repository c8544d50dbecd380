"""What a test that fails says: leaves, causes, the fix, and the next command."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from donatree import paths
from donatree.ledger import Entry, Finding, Ledger
from donatree.reports import diagnostic, sizes
from donatree.testing.verdict import Verdict, errors, lost

WIDTH = 96  # pytest indents it
_MOST = 5  # ledgers that are told in full
_NEXT = 3

KEYWORD = "give `jax.jit` the argument that is replaced: `donate_argnums=0`"
UNSEEN = (
    "calls of what was compiled ahead of time (`step.lower(...).compile()`), of a transform of a "
    "donating jit, or of a jit around one, are not seen where that was compiled before: compile "
    "it inside the test, or call `jax.clear_caches()` first"
)


def failure(verdict: Verdict, subject: str, met: Sequence[str] = ()) -> str:
    """The text of a failure.

    Args:
        verdict: one that failed.
        subject: where nothing was donated: ``in this test``.
        met: jitted functions of the user's that were met and donate nothing, with their places.

    Returns:
        Lines; the first one stands alone.
    """
    lines: list[str] = []
    codes: list[str] = []
    for ledger in verdict.below[:_MOST]:
        lines += [*of_ledger(ledger, verdict.demand.words), ""]
        codes += [each.code for each in told(ledger)]
    if len(verdict.below) > _MOST:
        lines += [f"{sizes.count(len(verdict.below) - _MOST, 'further signature')} below", ""]
    for name in verdict.missing:
        seen = ", ".join(f"`{each}`" for each in verdict.seen)
        lines += [f"no function `{name}` donated anything {subject}; seen were {seen}", ""]
    if verdict.nothing:
        codes += [each.code for each in verdict.findings]
        lines += [*nothing(subject, met, verdict.findings), ""]
    lines += following(codes)
    return "\n".join(lines).rstrip()


def of_ledger(ledger: Ledger, demanded: str) -> Iterator[str]:
    """A function that falls below: its figures, then why, each cause with its leaves and help.

    Args:
        ledger: of the function.
        demanded: how its headline ends.
    """
    yield f"{named(ledger)} keeps {ledger.summary}; {demanded}"
    findings = told(ledger)
    if findings:
        yield "\n\n".join(diagnostic.text(finding, WIDTH) for finding in findings)
    explained = {path for finding in findings for path in finding.leaves}
    rest: dict[str, list[Entry]] = {}
    for entry in lost(ledger):
        if entry.path not in explained and entry.stopped_at is not None:
            rest.setdefault(entry.stopped_at.label, []).append(entry)
    for gate, entries in rest.items():
        size = sizes.size(sum(entry.bytes for entry in entries))
        yield f"lost at gate {gate}: {paths.fold(entry.path for entry in entries)}, {size}"


def told(ledger: Ledger) -> list[Finding]:
    """The findings that say why a ledger falls below."""
    gone = {entry.path for entry in lost(ledger)}
    wrong = errors(ledger)
    return [
        each
        for each in ledger.findings
        if each in wrong or (not each.ignored and not gone.isdisjoint(each.leaves))
    ]


def named(ledger: Ledger) -> str:
    """A function and where it stands."""
    place = ledger.location or ledger.call
    return f"`{ledger.function}` ({place})" if place else f"`{ledger.function}`"


def nothing(subject: str, met: Sequence[str], findings: Iterable[Finding] = ()) -> Iterator[str]:
    """That nothing was donated, and what may be the reason.

    Args:
        subject: ``in this test``.
        met: jitted functions of the user's that donate nothing, with their places.
        findings: about the program as a whole.
    """
    findings = list(findings)
    yield f"nothing was donated {subject}, so there is nothing to judge"
    for finding in findings:
        yield diagnostic.text(finding, WIDTH)
    if findings:
        return
    if met:
        names = ", ".join(met[:8]) + (", ..." if len(met) > 8 else "")
        yield f"  = note: met and donating nothing: {names}"
        yield f"  = help: {KEYWORD}"
        return
    yield "  = note: no jitted function outside of libraries was met"
    yield from textwrap.wrap(UNSEEN, WIDTH, initial_indent="  = note: ", subsequent_indent=" " * 10)
    yield "  = help: call a function that is jitted with `donate_argnums`"


def promised_nothing(ledger: Ledger) -> str:
    """That a function that was asked about donates nothing."""
    return (
        f"{named(ledger)} donates nothing, so there is nothing to judge\n"
        f"  = help: {KEYWORD}; `donatree advise` tells which one"
    )


def nothing_seen() -> str:
    """That a test asserts something of nothing at all."""
    return (
        "nothing was audited or watched in this test, so there is nothing to judge\n"
        "  = help: name the function and its arguments, or watch: `with donation.watch(): ...`"
    )


def following(codes: Iterable[str]) -> list[str]:
    """The next commands."""
    return [f"next: donatree explain {code}" for code in list(dict.fromkeys(codes))[:_NEXT]]
