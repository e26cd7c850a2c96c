"""Damages bytes at random, more often where it matters."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from thrift import Varint, varint_of

# Integers that a careless reader allocates, multiplies, or counts down from. In zigzag form, as the formats write them.
LARGE = [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**33, 2**63, 2**64 - 1, 2**64 - 2, 1 << 20, 1 << 27, 0, 1]


@dataclass
class Target:
    """Sound bytes, and what of them is worth damaging."""

    content: bytes
    # Ranges, by what is there: each list is as likely as the others, and so is each range of it, however short.
    regions: list[list[range]]
    varints: list[Varint] = field(default_factory=list)
    # Where the footer begins, whose length stands behind it.
    footer: int | None = None


def damaged(rng: random.Random, target: Target, other: bytes) -> tuple[bytes, str]:
    """Other bytes, and what was done to them. `other` lends pieces."""
    kinds = [flipped_bits] * 5 + [changed_bytes] * 4 + [overwritten, cut_off, inserted, deleted, swapped, spliced]
    if target.varints:
        kinds += [other_varint] * 6
    if target.footer is not None:
        kinds += [other_footer_length]
    content, remarks = target.content, []
    # Most files have one damage: a second one often hides behind the first.
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        kind: Kind = rng.choice(kinds)
        content, remark = kind(rng, target, content, other)
        remarks.append(remark)
    return content, "; ".join(remarks)


Kind = Callable[[random.Random, Target, bytes, bytes], tuple[bytes, str]]


def place(rng: random.Random, target: Target, content: bytes) -> int:
    region = rng.choice(rng.choice(target.regions))
    return min(rng.choice(region), max(len(content) - 1, 0))


def replaced(content: bytes, start: int, end: int, by: bytes) -> bytes:
    return content[:start] + by + content[end:]


def flipped_bits(rng: random.Random, target: Target, content: bytes, _: bytes) -> tuple[bytes, str]:
    at, bit = place(rng, target, content), rng.randrange(8)
    return replaced(content, at, at + 1, bytes(byte ^ 1 << bit for byte in content[at : at + 1])), f"bit {bit} of byte {at}"


def changed_bytes(rng: random.Random, target: Target, content: bytes, _: bytes) -> tuple[bytes, str]:
    at, count = place(rng, target, content), rng.choice([1, 1, 1, 2, 4, 8, 64])
    end = min(at + count, len(content))
    by = bytes(rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)]) for _ in range(at, end))
    return replaced(content, at, end, by), f"bytes {at} to {end}"


def overwritten(rng: random.Random, target: Target, content: bytes, _: bytes) -> tuple[bytes, str]:
    at, byte = place(rng, target, content), rng.choice([0, 0xFF])
    end = min(at + rng.choice([16, 512, 4096]), len(content))
    return replaced(content, at, end, bytes([byte]) * (end - at)), f"{byte:#x} from {at} to {end}"


def cut_off(rng: random.Random, target: Target, content: bytes, _: bytes) -> tuple[bytes, str]:
    at = rng.choice([place(rng, target, content), rng.randrange(len(content) + 1)])
    return content[:at], f"cut off at {at}"


def inserted(rng: random.Random, target: Target, content: bytes, _: bytes) -> tuple[bytes, str]:
    at, by = place(rng, target, content), rng.randbytes(rng.choice([1, 4, 100]))
    return replaced(content, at, at, by), f"{len(by)} bytes inserted at {at}"


def deleted(rng: random.Random, target: Target, content: bytes, _: bytes) -> tuple[bytes, str]:
    at, count = place(rng, target, content), rng.choice([1, 4, 100])
    return replaced(content, at, at + count, b""), f"{count} bytes deleted at {at}"


def swapped(rng: random.Random, target: Target, content: bytes, _: bytes) -> tuple[bytes, str]:
    start, end = sorted([place(rng, target, content), rng.randrange(len(content) + 1)])
    middle = (start + end) // 2
    return content[:start] + content[middle:end] + content[start:middle] + content[end:], f"halves of {start} to {end} swapped"


def spliced(rng: random.Random, target: Target, content: bytes, other: bytes) -> tuple[bytes, str]:
    at, start = place(rng, target, content), rng.randrange(len(other))
    piece = other[start : start + rng.choice([8, 64, 1000])]
    return replaced(content, at, at + len(piece), piece), f"{len(piece)} bytes of another file at {at}"


def other_varint(rng: random.Random, target: Target, content: bytes, _: bytes) -> tuple[bytes, str]:
    """Keeps the footer readable: its length goes along."""
    varint, number = rng.choice(target.varints), rng.choice([*LARGE, rng.randrange(300)])
    by = varint_of(number)
    if target.footer is not None and varint.start >= target.footer and len(content) == len(target.content):
        length = int.from_bytes(content[-8:-4], "little") + len(by) - (varint.end - varint.start)
        content = content[:-8] + (length % 2**32).to_bytes(4, "little") + content[-4:]
    return replaced(content, varint.start, varint.end, by), f"integer at {varint.start} is {number}"


def other_footer_length(rng: random.Random, _: Target, content: bytes, __: bytes) -> tuple[bytes, str]:
    length = int.from_bytes(content[-8:-4], "little")
    length = rng.choice([0, 1, length - 1, length + 1, length // 2, len(content), 2**31, 2**32 - 1]) % 2**32
    return content[:-8] + length.to_bytes(4, "little") + content[-4:], f"footer of {length} bytes"
