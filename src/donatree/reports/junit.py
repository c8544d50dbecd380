"""A JUnit report: a suite a file, a test case a ledger, which fails where a promise was broken."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO
from xml.etree import ElementTree as Xml

from donatree import paths
from donatree.ledger import Account, Finding, Ledger, by_bytes
from donatree.reports import changes, diagnostic, files, fixes, ignored, sizes
from donatree.reports.hardware import name_of
from donatree.reports.places import place
from donatree.reports.text import clean

if TYPE_CHECKING:
    from donatree.reports import Options

_NO_XML = re.compile("[\ufffe\uffff]")  # beside what `clean` takes out


@dataclass(frozen=True, slots=True)
class _Case:
    """A test case: its outcome is ``failure``, ``error``, ``skipped`` or empty where it passed."""

    suite: str
    name: str
    outcome: str = ""
    kind: str = ""
    message: str = ""
    text: str = ""
    out: tuple[str, ...] = ()
    line: int | None = None


def write(account: Account, stream: TextIO, options: Options) -> None:
    """Writes the report: XML, ASCII only, no clock.

    Args:
        account: what was learnt of a program.
        stream: an open text stream.
        options: they do not matter.
    """
    del options
    root = _document(list(_cases(account)))
    Xml.indent(root)
    text = Xml.tostring(root, encoding="us-ascii", xml_declaration=True).decode("ascii")
    stream.write(text + "\n")
    stream.flush()


def _cases(account: Account) -> Iterator[_Case]:
    yield from _of_ledgers(account)
    yield from _of_program(account)
    yield from _of_comparison(account)
    for each in dict.fromkeys(account.refusals):
        name = " ".join(filter(None, (each.function, each.signature, f"[{each.target}]")))
        message = f"not compiled for {each.target}: {each.why}"
        yield _Case("targets", name, "error", "refusal", message, message)
    for fault in dict.fromkeys(account.faults):
        text = f"{fault.error}\n{fault.traceback}"
        yield _Case("donatree", fault.where, "error", "fault", fault.error, text)


def _of_ledgers(account: Account) -> Iterator[_Case]:
    many = len({name_of(ledger) for ledger in account.ledgers}) > 1
    seen: dict[tuple[str, str], int] = {}
    for ledger in account.ledgers:
        file = "(no file)"
        if ledger.location:
            file = files.relative(ledger.location.file, files.workspace())
        target = f" [{name_of(ledger)}]" if many or ledger.target else ""
        name = f"{ledger.function}{ledger.signature}{target}"
        number = seen[file, name] = seen.get((file, name), 0) + 1
        if number > 1:
            name += f" ({number})"
        yield _of_ledger(ledger, file, name)


def _of_ledger(ledger: Ledger, file: str, name: str) -> _Case:
    told = [each for each in ledger.findings if each.ignored is None]
    errors = [each for each in told if each.level == "error"]
    rest = [each for each in told if each.level != "error"]
    out = [ledger.summary, *(_text(each, ledger) for each in rest)]
    out += [
        f"ignored {_headline(each)} ({each.ignored})" for each in ledger.findings if each.ignored
    ]
    blocks = [_text(each, ledger) for each in errors]
    untold = _untold(ledger)
    heads = [_headline(each) for each in errors] + ([untold] if untold else [])
    blocks += [untold] if untold else []
    line = ledger.location.line if ledger.location else None
    if not heads:
        return _Case(file, name, out=tuple(out), line=line)
    more = f", and {len(heads) - 1:,} more" if len(heads) > 1 else ""
    kind = errors[0].code if errors else "lost"
    text = "\n\n".join([ledger.summary, *blocks])
    return _Case(file, name, "failure", kind, heads[0] + more, text, tuple(out), line)


def _untold(ledger: Ledger) -> str | None:
    """The leaves that are lost and of which no finding speaks."""
    spoken = {(each.code, path) for each in ledger.findings for path in each.leaves}
    lost = [row for row in by_bytes(ledger.lost) if (row.finding, row.path) not in spoken]
    if not lost:
        return None
    size = sizes.size(sum(row.bytes for row in lost))
    return f"lost: {paths.fold(row.path for row in lost)}, {size}"


def _headline(finding: Finding) -> str:
    return f"{finding.code}: {finding.headline}"


def _text(finding: Finding, ledger: Ledger | None = None) -> str:
    """A finding in lines: what was found, where, the leaves, the cause, the help, the fixes."""
    lines = [f"{finding.level}[{finding.code}]: {finding.headline}"]
    if finding.location:
        lines.append(f"--> {place(finding.location)}")
    lines += [f"{place(label.location)}: {label.text}" for label in finding.labels]
    lines += [f"{word}: {text}" for word, text in diagnostic.attached(finding)]
    tried = fixes.of_finding(ledger.fixes, finding) if ledger else []
    lines += [
        f"verified: {fixes.sentence(fix, ledger.devices if ledger else 1)}"
        for fix in tried
        if fix.held
    ]
    return "\n".join(map(clean, lines))


def _of_program(account: Account) -> Iterator[_Case]:
    """The program as a whole: always there, so that no report is without a test case."""
    told = [each for each in account.findings if each.ignored is None]
    errors = [each for each in told if each.level == "error"]
    out = [_text(each) for each in told if each.level != "error"]
    out += filter(None, (ignored.summary(account),))
    out += [f"ignore that matched nothing: {each}" for each in account.unmatched]
    out += [f"note: {note}" for note in account.notes]
    name = account.program or "program"
    if account.ended:
        text = f"the program ended with {account.ended}; this is what was learnt until then"
        yield _Case("program", f"{name} ended", "error", "ended", text, text)
    if errors:
        text = "\n\n".join(map(_text, errors))
        message = _headline(errors[0])
        yield _Case("program", name, "failure", errors[0].code, message, text, tuple(out))
    elif not (account.ledgers or account.rehearsals or account.refusals or account.comparison):
        message = "no function that was compiled asked for donation"
        yield _Case("program", name, "skipped", "", message, "", tuple(out))
    else:
        yield _Case("program", name, out=tuple(out))


def _of_comparison(account: Account) -> Iterator[_Case]:
    comparison = account.comparison
    if comparison is None:
        return
    turns = changes.turns(comparison)
    blocks = [
        "\n".join(
            [changes.headline(turn), *(f"{word}: {text}" for word, text in changes.facts(turn))]
        )
        for turn in turns
    ]
    failed = [text for turn, text in zip(turns, blocks, strict=True) if turn.first.fails]
    rest = [text for turn, text in zip(turns, blocks, strict=True) if not turn.first.fails]
    rest += [f"not met: {name}" for name in comparison.missing]
    rest += [f"note: {note}" for note in comparison.notes]
    summary = changes.summary(comparison)
    name, out = changes.title(comparison), (summary, *rest)
    if failed:
        text = "\n\n".join(failed)
        yield _Case("baseline", name, "failure", "baseline", summary, text, out)
    else:
        yield _Case("baseline", name, out=out)


def _document(cases: Sequence[_Case]) -> Xml.Element:
    root = Xml.Element("testsuites", {"name": "donatree", **_counts(cases)})
    suites: dict[str, list[_Case]] = {}
    for case in cases:
        suites.setdefault(case.suite, []).append(case)
    for name, those in suites.items():
        suite = Xml.SubElement(root, "testsuite", {"name": _sound(name), **_counts(those)})
        for case in those:
            _put(suite, case)
    return root


def _put(suite: Xml.Element, case: _Case) -> None:
    named = {"classname": _sound(case.suite), "name": _sound(case.name) or "(no name)"}
    if case.line is not None:
        named |= {"file": _sound(case.suite), "line": str(case.line)}
    made = Xml.SubElement(suite, "testcase", named)
    if case.outcome:
        said = {"message": _sound(case.message)} | ({"type": case.kind} if case.kind else {})
        Xml.SubElement(made, case.outcome, said).text = _sound_lines(case.text) or None
    if case.out:
        Xml.SubElement(made, "system-out").text = _sound_lines("\n\n".join(case.out))


def _counts(cases: Sequence[_Case]) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    return {
        "tests": str(len(cases)),
        "failures": str(outcomes.count("failure")),
        "errors": str(outcomes.count("error")),
        "skipped": str(outcomes.count("skipped")),
    }


def _sound(text: str) -> str:
    """One line that XML can hold."""
    return _NO_XML.sub(lambda found: ascii(found[0])[1:-1], clean(text))


def _sound_lines(text: str) -> str:
    return "\n".join(map(_sound, text.split("\n")))
