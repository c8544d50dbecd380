"""A writer of protobuf's wire format, for tests of its reader."""

from __future__ import annotations

from collections.abc import Container

from donatree.hlo.wire import Message


def varint(value: int) -> bytes:
    """A number from 0 to 2**64 - 1."""
    answer = bytearray()
    while value >= 0x80:
        answer.append(value & 0x7F | 0x80)
        value >>= 7
    answer.append(value)
    return bytes(answer)


def field(number: int, value: int | bytes) -> bytes:
    """A field with a varint, or with bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(*fields: tuple[int, int | bytes]) -> bytes:
    """A message of such fields."""
    return b"".join(field(*each) for each in fields)


def without(proto: bytes, fields: Container[int]) -> bytes:
    """A message without some of its fields."""
    left = ((number, value) for number, value in Message(proto) if number not in fields)
    return message(
        *((number, value if isinstance(value, int) else value.content()) for number, value in left)
    )
