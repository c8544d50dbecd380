"""What is advised of one argument, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from donatree.ledger import Finding, Location
from donatree.ledger.shown import Shown

Verdict = Literal["donate", "keep", "donated already", "take back", "saves nothing", "undecided"]

TO_DO: tuple[Verdict, ...] = ("donate", "take back")
"""What asks for a change."""

_ORDER: tuple[Verdict, ...] = (
    "donate",
    "take back",
    "undecided",
    "donated already",
    "saves nothing",
    "keep",
)


@dataclass(frozen=True, slots=True)
class Advice(Shown):
    """Whether one argument ought to take the keyword, and what that saves.

    Attributes:
        argument: its name.
        verdict: ``donate``; ``keep``; ``donated already``, as it ought to be; ``take back``:
            donated, and read again or for nothing; ``saves nothing``: could be donated, and the
            compiled program would need as much; ``undecided``: the evidence fits others as well.
        bytes: of its leaves, per device.
        saved: bytes per device that its donation saves beside the others that are advised: live
            memory without it minus live memory with it. None where nothing is known.
        measured: whether `saved` was measured by compiling; else it is the bytes for which the
            result has arrays of the same types.
        how: where `saved` is from, in words.
        reasons: why, the weightiest first.
        keyword: what to write in the jit for this and the others that are advised.
        codes: codes of the findings about it.
        help: what to do; None where there is nothing to do.
        at: the place in source that the first reason speaks of.
    """

    argument: str
    verdict: Verdict
    bytes: int
    saved: int | None
    measured: bool
    how: str
    reasons: tuple[str, ...]
    keyword: str = ""
    codes: tuple[str, ...] = ()
    help: str | None = None
    at: Location | None = None

    @property
    def to_do(self) -> bool:
        """Whether something ought to be changed."""
        return self.verdict in TO_DO

    def to_dict(self) -> dict[str, Any]:
        """One element of ``advice`` in the JSON report."""
        return {
            "argument": self.argument,
            "verdict": self.verdict,
            "bytes": self.bytes,
            "saved_bytes": self.saved,
            "measured": self.measured,
            "how": self.how,
            "reasons": list(self.reasons),
            "keyword": self.keyword,
            "codes": list(self.codes),
            "help": self.help,
            "at": self.at and self.at.to_dict(),
        }

    def __str__(self) -> str:
        return f"{self.argument}: {self.verdict}, {self.what_it_saves}; {'; '.join(self.reasons)}"

    def _told(self) -> dict[str, Any]:
        alone = AdviceList(self.argument, [self], keyword=self.keyword)
        return {"kind": "advice", **alone.to_dict()}

    @property
    def what_it_saves(self) -> str:
        """The bytes in words."""
        whole = f"{self.bytes:,} bytes"
        if self.saved is None:
            return whole
        if self.verdict == "keep" and not self.measured:
            return whole
        how = "measured" if self.measured else "estimated"
        if self.saved < 0:
            return f"costs {-self.saved:,} bytes ({how}), has {whole}"
        return f"saves {self.saved:,} of {whole} ({how})"


class AdviceList(Shown, list[Advice]):
    """The advice on all arguments of one function, most saved first.

    Attributes:
        function: its name.
        location: where it is defined.
        calls: the call statements that were read, ``train.py:41``.
        keyword: the whole of what to write in the jit; empty where nothing is to be changed.
        before: live bytes per device of the program as it is; None where it was not compiled.
        after: the same with the advice taken.
        notes: what the reader should know.
        findings: what is advised, as findings.

    Example:
        >>> advice = AdviceList("step", [Advice("x", "keep", 4, 0, True, "", ("it is read",))])
        >>> print(advice)
        step
        <BLANKLINE>
          x  keep  saves 0 of 4 bytes (measured)
            = why: it is read
        <BLANKLINE>
          nothing to change
    """

    def __init__(
        self,
        function: str,
        advice: Iterable[Advice] = (),
        *,
        location: Location | None = None,
        calls: Sequence[str] = (),
        keyword: str = "",
        before: int | None = None,
        after: int | None = None,
        notes: Sequence[str] = (),
        findings: Sequence[Finding] = (),
    ) -> None:
        ranked = sorted(
            advice, key=lambda each: (_ORDER.index(each.verdict), -(each.saved or 0), -each.bytes)
        )
        super().__init__(ranked)
        self.function = function
        self.location = location
        self.calls = tuple(calls)
        self.keyword = keyword
        self.before = before
        self.after = after
        self.notes = tuple(notes)
        self.findings = tuple(findings)

    @property
    def to_do(self) -> bool:
        """Whether something ought to be changed."""
        return any(each.to_do for each in self)

    def to_dict(self) -> dict[str, Any]:
        """One element of ``functions`` in the JSON of `donatree advise`."""
        return {
            "function": self.function,
            "defined_at": self.location and self.location.to_dict(),
            "calls": list(self.calls),
            "keyword": self.keyword,
            "live_bytes_before": self.before,
            "live_bytes_after": self.after,
            "advice": [each.to_dict() for each in self],
            "notes": list(self.notes),
            "findings": [each.to_dict() for each in self.findings],
        }

    def _told(self) -> dict[str, Any]:
        return {"kind": "advice", **self.to_dict()}

    @property
    def conclusion(self) -> str:
        """What to write, in one line."""
        if not self.to_do:
            return "nothing to change"
        text = f"write `{self.keyword}`" if self.keyword else "donate nothing"
        if self.before is not None and self.after is not None:
            text += f": live memory {self.before:,} -> {self.after:,} bytes"
        return text
