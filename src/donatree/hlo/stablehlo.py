"""What the text of a StableHLO module says of ``@main``: which arguments it donates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from donatree.hlo.error import InstructionError
from donatree.hlo.scanner import Scanner
from donatree.hlo.shape import EntryShape, read_shape

_MAIN = re.compile(r"\bfunc(?:\.func)?\s+(?:public\s+)?@main\s*\(")
_MODULE = re.compile(r"^\s*(?:builtin\.)?module\s+(?:@(\"[^\"\n]*\"|[\w.$-]+))?", re.M)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\](){}<>,]|->', re.S)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S)
_ALIAS = re.compile(r"\btf\.aliasing_output\s*=\s*([0-9]{1,9})\b")
_DONOR = re.compile(r"\bjax\.buffer_donor\s*=\s*true\b|\bjax\.buffer_donor\s*[,}]")
_SHARDING = re.compile(r"\b(?:mhlo|sdy)\.sharding\s*=")
_TENSOR = re.compile(r"tensor<((?:[0-9?]+x)*)([^<>]+(?:<[^<>]*>)?)>")
_RESULT_INFO = re.compile(r'\bjax\.result_info\s*=\s*"((?:[^"\\]|\\.)*)"', re.S)
_LOCATION = re.compile(r'\bloc\((?:"((?:[^"\\]|\\.)*)"|(#\w+))')
_OPENING, _CLOSING = "[({<", "])}>"
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|.)", re.S)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}


@dataclass(frozen=True, slots=True)
class MainArgument:
    """An argument of ``@main``.

    Attributes:
        shape: of the whole array, before it is partitioned; None where its type is no tensor.
        aliasing_output: the result that JAX paired it with, None where it did not.
        is_donor: whether it is donated and left to XLA to pair.
        is_sharded: whether it says how it is spread over devices.
        name: its path as JAX names it, empty where the text has no names.
    """

    shape: EntryShape | None
    aliasing_output: int | None = None
    is_donor: bool = False
    is_sharded: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class Main:
    """The signature of ``@main``.

    Attributes:
        module: the module's name, empty where the text gives none.
        arguments: in their order.
        results: their names, ``result['w']``, empty where the text has none.
        shapes: of the results.
    """

    module: str
    arguments: tuple[MainArgument, ...]
    results: tuple[str, ...]
    shapes: tuple[EntryShape | None, ...]


def read_main(text: str) -> Main:
    r"""Reads the signature of ``@main`` in the text of a StableHLO or MLIR module.

    Args:
        text: of the module, or as much of it as has the signature.

    Raises:
        InstructionError: it has no ``@main``, or breaks off inside its signature.

    Example:
        >>> main = read_main('''module @jit_f {
        ...   func.func public @main(%arg0: tensor<4x2xf32> {tf.aliasing_output = 0 : i32})
        ...       -> (tensor<4x2xf32> {jax.result_info = "result"}) {''')
        >>> main.module, main.arguments[0].aliasing_output, main.arguments[0].shape.text
        ('jit_f', 0, 'f32[4,2]')
    """
    found = _MAIN.search(text)
    if found is None:
        raise InstructionError("expected a function `@main`, found none", 0)
    arguments, end = _split(text, found.end())
    results: list[str] = []
    arrow = re.compile(r"\s*->\s*(\()?").match(text, end)
    if arrow is not None:
        if arrow[1]:
            results, end = _split(text, arrow.end())
        else:
            results = [text[arrow.end() : arrow.end() + 2000].split("{")[0]]
    name = _MODULE.search(text, 0, found.start())
    return Main(
        (name[1] or "").strip('"') if name else "",
        tuple(_argument(each, text) for each in arguments),
        tuple(_unescaped(info[1]) if (info := _RESULT_INFO.search(r)) else "" for r in results),
        tuple(map(_shape, results)),
    )


def _split(text: str, start: int) -> tuple[list[str], int]:
    """The parts between the commas up to the bracket that closes, and the place after it."""
    parts: list[str] = []
    depth, begin = 0, start
    for token in _TOKEN.finditer(text, start):
        sign = token[0]
        if sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            if not depth:
                last = text[begin : token.start()]
                return parts + ([last] if last.strip() else []), token.end()
            depth -= 1
        elif sign == "," and not depth:
            parts.append(text[begin : token.start()])
            begin = token.end()
    line = text.count("\n", 0, start) + 1
    raise InstructionError.at("", 0, "the signature of `@main` breaks off", line)


def _argument(raw: str, text: str) -> MainArgument:
    # What stands in quotes, as a name does, says nothing of donation.
    plain = _STRING.sub('""', raw)
    alias = _ALIAS.search(plain)
    return MainArgument(
        _shape(raw),
        int(alias[1]) if alias else None,
        _DONOR.search(plain) is not None,
        _SHARDING.search(plain) is not None,
        _name(raw, text),
    )


def _name(raw: str, text: str) -> str:
    found = _LOCATION.search(raw)
    if found is None:
        return ""
    if found[2]:
        at = text.find(f"\n{found[2]} = loc(")
        at = 0 if at < 0 and text.startswith(f"{found[2]} = loc(") else at
        found = _LOCATION.search(text, at, at + 4000) if at >= 0 else None
    return _unescaped(found[1]) if found and found[1] else ""


def _shape(raw: str) -> EntryShape | None:
    """The shape of the first tensor in a text."""
    found = _TENSOR.search(raw)
    if found is None:
        return None
    sizes = ",".join(each for each in found[1].split("x") if each)
    try:
        return read_shape(Scanner(f"{_dtype(found[2].split(',')[0].strip())}[{sizes}]"), {})
    except ValueError:
        return None


def _dtype(name: str) -> str:
    """XLA's name of a type of MLIR's.

    Example:
        >>> _dtype("i1"), _dtype("ui8"), _dtype("complex<f32>"), _dtype("f8E4M3FN")
        ('pred', 'u8', 'c64', 'f8e4m3fn')
    """
    if name == "i1":
        return "pred"
    if found := re.fullmatch(r"(u?)s?i([0-9]+)", name):
        return f"{found[1] or 's'}{found[2]}"
    if found := re.fullmatch(r"complex<f([0-9]+)>", name):
        return f"c{2 * int(found[1][:9])}"
    return name.lower()


def _unescaped(raw: str) -> str:
    if "\\" not in raw:
        return raw
    return b"".join(_pieces(raw.encode("utf-8", "replace"))).decode("utf-8", "replace")


def _pieces(raw: bytes) -> Iterator[bytes]:
    end = 0
    for found in _ESCAPE.finditer(raw):
        yield raw[end : found.start()]
        code = found[1]
        yield bytes([int(code, 16)]) if len(code) == 2 else _LETTERS.get(code, code)
        end = found.end()
    yield raw[end:]
