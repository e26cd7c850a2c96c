"""Where the integers stand in a structure of Thrift's compact protocol: what to damage."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum


class Wire(IntEnum):
    """How a value is written."""

    TRUE = 1
    FALSE = 2
    BYTE = 3
    I16 = 4
    I32 = 5
    I64 = 6
    DOUBLE = 7
    BINARY = 8
    LIST = 9
    SET = 10
    STRUCT = 12



@dataclass
class Varint:
    """An integer, or the length of a list or text."""

    start: int
    end: int


class Walk:
    """Goes once through a sound structure; `at` is its end then, `varints` are the integers on the way."""

    def __init__(self, content: bytes, at: int) -> None:
        self.content = content
        self.at = at
        self.varints: list[Varint] = []
        self.value(Wire.STRUCT)

    def varint(self) -> int:
        start, number, shift = self.at, 0, 0
        while True:
            byte = self.content[self.at]
            self.at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                self.varints.append(Varint(start, self.at))
                return number

    def value(self, kind: int) -> None:
        match kind:
            case Wire.TRUE | Wire.FALSE:
                pass
            case Wire.BYTE:
                self.at += 1
            case Wire.I16 | Wire.I32 | Wire.I64:
                self.varint()
            case Wire.DOUBLE:
                self.at += 8
            case Wire.BINARY:
                # Not in one step: the length moves `at`, too.
                length = self.varint()
                self.at += length
            case Wire.LIST | Wire.SET:
                for element in self.elements():
                    # In a list, a truth value takes a byte.
                    self.value(Wire.BYTE if element in (Wire.TRUE, Wire.FALSE) else element)
            case Wire.STRUCT:
                for field in self.fields():
                    self.value(field)
            case _:
                raise ValueError(f"type {kind} at byte {self.at}")

    def elements(self) -> Iterator[int]:
        head = self.content[self.at]
        self.at += 1
        count = head >> 4 if head >> 4 != 15 else self.varint()
        yield from [head & 15] * count

    def fields(self) -> Iterator[int]:
        while head := self.content[self.at]:
            self.at += 1
            if head >> 4 == 0:
                self.varint()
            yield head & 15
        self.at += 1


def varint_of(number: int) -> bytes:
    content = bytearray()
    while number > 0x7F:
        content.append(number & 0x7F | 0x80)
        number >>= 7
    content.append(number)
    return bytes(content)
