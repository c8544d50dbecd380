"""Protobuf's wire format: the fields of a message, without its schema.

XLA hands out two messages as bytes, its buffer assignment and the module. A few of their fields
are read, which needs neither the schema nor the protobuf library.
"""

from __future__ import annotations

from collections.abc import Iterator

from donatree.hlo.error import ProtoError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LARGEST_FIELD = (1 << 29) - 1
_VARINT_BITS, _VARINT_BYTES = 64, 10


class Message:
    """A message, or any field that has a length: a string, bytes, packed numbers.

    Iterating gives the fields in the order of the bytes, each as its number and its value: an
    ``int`` from 0 to 2**64 - 1 (see `signed`), or a `Message` that is not looked into yet.

    Args:
        data: the bytes of the outermost message.
        start: where this one begins in them.
        end: where it ends, by default with them.

    Example:
        >>> [(number, value) for number, value in Message(bytes([0x08, 0x96, 0x01]))]
        [(1, 150)]
    """

    __slots__ = ("data", "end", "start")

    def __init__(self, data: bytes, start: int = 0, end: int | None = None) -> None:
        self.data = data
        self.start = start
        self.end = len(data) if end is None else end

    def __len__(self) -> int:
        """How many bytes it has."""
        return self.end - self.start

    def __iter__(self) -> Iterator[tuple[int, int | Message]]:
        """The fields.

        Raises:
            ProtoError: at the first byte that is no part of a field.
        """
        data, position, end = self.data, self.start, self.end
        while position < end:
            at = position
            # Nearly all tags, and most numbers, are one byte: a call each would double the time.
            tag = data[position]
            position += 1
            if tag >= 0x80:
                tag, position = self._varint(at)
            number, kind = tag >> 3, tag & 7
            if not 0 < number <= _LARGEST_FIELD:
                raise ProtoError(f"no field has the number {number}", at)
            if kind in (_BYTES, _VARINT):
                if position >= end:
                    raise ProtoError(f"field {number} breaks off before its value", position)
                value = data[position]
                position += 1
                if value >= 0x80:
                    value, position = self._varint(position - 1)
                if kind == _VARINT:
                    yield number, value
                    continue
                start, position = position, position + value
            elif kind in (_FIXED64, _FIXED32):
                start, position = position, position + (8 if kind == _FIXED64 else 4)
            else:
                raise ProtoError(f"field {number} is of the unknown kind {kind}", at)
            if position > end:
                raise ProtoError(
                    f"field {number} has {position - start} bytes, {end - start} are left", start
                )
            if kind == _BYTES:
                yield number, Message(data, start, position)
            else:
                yield number, int.from_bytes(data[start:position], "little")

    def content(self) -> bytes:
        """Its bytes."""
        return self.data[self.start : self.end]

    def text(self) -> str:
        """The string that it is.

        Raises:
            ProtoError: it is no UTF-8.
        """
        try:
            return self.content().decode()
        except UnicodeDecodeError as error:
            raise ProtoError("text that is no UTF-8", self.start + error.start) from None

    def numbers(self) -> list[int]:
        """The packed varints that it is.

        Raises:
            ProtoError: the last one breaks off, or one has more than 64 bits.
        """
        answer, position = [], self.start
        while position < self.end:
            value = self.data[position]
            if value < 0x80:
                position += 1
            else:
                value, position = self._varint(position)
            answer.append(value)
        return answer

    def error(self, problem: str) -> ProtoError:
        """The error for ``problem`` at its first byte."""
        return ProtoError(problem, self.start)

    def _varint(self, start: int) -> tuple[int, int]:
        """The varint at ``start`` and the position after it."""
        data, end = self.data, self.end
        value, shift, position = 0, 0, start
        while position < end:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >> _VARINT_BITS:
                    raise ProtoError("number of more than 64 bits", start)
                return value, position
            shift += 7
            if shift >= 7 * _VARINT_BYTES:
                raise ProtoError(f"number of more than {_VARINT_BYTES} bytes", start)
        raise ProtoError("number without its last byte", start)


def number(field: int, value: int | Message) -> int:
    """The value of a field that must be a signed number of 64 bits.

    Raises:
        ProtoError: it has a length instead.
    """
    if isinstance(value, int):
        return signed(value)
    raise value.error(f"expected a number in field {field}, found {len(value)} bytes")


def nested(within: Message, field: int, value: int | Message) -> Message:
    """The value of a field of the message ``within`` that must have a length.

    Raises:
        ProtoError: it is a number instead.
    """
    if isinstance(value, Message):
        return value
    raise within.error(f"expected a message in field {field}, found the number {value}")


def repeated(value: int | Message) -> list[int]:
    """The signed numbers that a field holds: one of them, or any number of them packed.

    Raises:
        ProtoError: see `Message.numbers`.
    """
    if isinstance(value, int):
        return [signed(value)]
    return [signed(each) for each in value.numbers()]


def signed(value: int) -> int:
    """A number of 64 bits as protobuf's ``int64`` means it.

    Example:
        >>> signed(2**64 - 1)
        -1
    """
    return value - (1 << 64) if value >> 63 else value
