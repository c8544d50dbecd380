"""From opinions and found to advice, with its findings."""

from __future__ import annotations

from collections.abc import Sequence

from donatree.advice.advice import Advice, AdviceList, Verdict
from donatree.advice.keyword import keyword
from donatree.advice.opinion import Opinion
from donatree.advice.search import Measured
from donatree.advice.statement import CallSite
from donatree.findings import dt801, dt802, dt803
from donatree.findings.advised import Advised
from donatree.ledger import Finding
from donatree.observation import Request


def conclude(
    request: Request,
    opinions: Sequence[Opinion],
    sites: Sequence[CallSite],
    found: Measured | None,
    dialect: str = "jax",
    notes: Sequence[str] = (),
) -> AdviceList:
    """The advice on every argument.

    Args:
        request: what was asked.
        opinions: what the evidence says.
        sites: the call statements that were read.
        found: what compiles showed; None where nothing was compiled: bytes are estimated then.
        dialect: how the function was jitted.
        notes: what the reader should know besides.
    """
    donated = {leaf.argument for leaf in request.leaves if leaf.flat_index in request.promised}
    verdicts: dict[str, Verdict] = {
        each.argument: _verdict(each, donated, found) for each in opinions
    }
    order = [each.argument for each in opinions]
    taken = {name for name, v in verdicts.items() if v in ("donate", "donated already")}
    written = keyword(taken, request.positional, order, dialect)
    rows = [_advice(each, verdicts[each.argument], found, written) for each in opinions]
    findings = [_finding(request, row) for row in rows]
    remarks = list(notes)
    if not sites:
        remarks.append("no call statement was found: paths and dependence alone speak")
    if found is None:
        remarks.append("nothing was compiled: bytes are estimated from types")
    elif found.left is not None:
        remarks.append(f"{found.left}: what was not measured is estimated from types")
    if found is not None and found.platform is not None and found.saved:
        remarks.append(f"measured by compiling for {found.platform}; another platform can differ")
    return AdviceList(
        request.function,
        rows,
        location=request.location,
        calls=[str(site.location) for site in sites if site.location],
        keyword=written,
        before=found and found.before,
        after=found and found.after,
        notes=remarks,
        findings=[each for each in findings if each is not None],
    )


def estimate(opinion: Opinion) -> int:
    """Bytes per device for which the result has arrays of the same types."""
    typed = opinion.replaced.typed
    return sum(leaf.bytes for leaf in opinion.replaced.leaves if leaf.flat_index in typed)


def _verdict(opinion: Opinion, donated: set[str], found: Measured | None) -> Verdict:
    name = opinion.argument
    saved = found.saved.get(name) if found is not None else None
    if opinion.stance == "donate":
        if name in donated:
            return "take back" if saved is not None and saved < 0 else "donated already"
        useless = saved <= 0 if saved is not None else not estimate(opinion)
        return "saves nothing" if useless else "donate"
    if name not in donated:
        return opinion.stance
    if opinion.read_again:
        return "take back"
    if opinion.stance == "undecided":
        return "donated already"
    useless = saved <= 0 if saved is not None else not estimate(opinion)
    return "take back" if useless else "donated already"


def _advice(opinion: Opinion, verdict: Verdict, found: Measured | None, written: str) -> Advice:
    name = opinion.argument
    saved: int | None = found.saved.get(name) if found is not None else None
    measured = saved is not None
    how = ""
    if measured:
        assert found is not None
        how = "live memory of the compiled program without its donation minus with it"
    elif opinion.read_again:
        saved = None
    elif verdict == "keep":
        saved = 0
    else:
        saved = estimate(opinion)
        how = "bytes of the leaves for which the result has an array of the same type"
    codes: tuple[str, ...] = ()
    reasons = list(opinion.reasons)
    help_: str | None = None
    if verdict == "donate":
        codes, help_ = (dt801.RULE.code,), f"write `{written}`"
    elif verdict == "take back":
        codes = (dt802.RULE.code if opinion.read_again else dt803.RULE.code,)
        help_ = f"write `{written}`" if written else "donate nothing"
        if not opinion.read_again and measured and saved is not None:
            reasons.append(_costs(saved))
    elif measured and saved is not None and saved <= 0 and opinion.stance == "donate":
        reasons.append(_costs(saved))
    elif verdict == "donated already" and opinion.stance == "keep":
        reasons.append("its memory is taken for a slot that is not its successor")
    if verdict == "keep" and opinion.copy is not None and opinion.replaced.share >= 0.5:
        help_ = (
            f"to donate it all the same, copy what is read later: "
            f"`jax.tree.map(jnp.copy, {opinion.copy})`"
        )
    size = opinion.replaced.bytes
    words = written if verdict in ("donate", "take back") else ""
    return Advice(
        name, verdict, size, saved, measured, how, tuple(reasons), words, codes, help_, opinion.at
    )


def _costs(saved: int) -> str:
    if saved < 0:
        return f"donating it costs {-saved:,} bytes: a copy, or another leaf's slot"
    return "donating it saves nothing: its memory would be copied, or none is needed for the result"


def _finding(request: Request, advice: Advice) -> Finding | None:
    if not advice.codes:
        return None
    leaves = [leaf for leaf in request.leaves if leaf.argument == advice.argument]
    leaves.sort(key=lambda leaf: (-leaf.bytes, leaf.flat_index))
    [code] = advice.codes
    place = advice.at if code == dt802.RULE.code else None
    advised = Advised(
        function=request.function,
        argument=advice.argument,
        leaves=tuple(leaf.path for leaf in leaves),
        size=advice.bytes,
        saved=advice.saved or 0,
        measured=advice.measured,
        reasons=advice.reasons,
        keyword=advice.keyword,
        location=place or request.location,
    )
    return _ABOUT[code](advised)


_ABOUT = {each.RULE.code: each.about for each in (dt801, dt802, dt803)}
