"""Small sound Parquet files of all kinds, and what to damage in them."""

import decimal
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from damage import Target
from thrift import Varint, Walk

ROWS = 700
CODECS = ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]
# Of a page, what comes first decides most: levels, bit widths, run headers, lengths.
PAGE_START_BYTES = 48

INTEGERS = {f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)}
DECIMALS = {"d9": pa.decimal128(9, 2), "d18": pa.decimal128(18, 4), "d38": pa.decimal128(38, 10)}
FLOATS = {"f32": pa.float32(), "f64": pa.float64()}
TEXTS = {"text": pa.string(), "bytes": pa.binary(), "few": pa.string()}
TIMES = {"day": pa.date32(), "ms": pa.timestamp("ms"), "us": pa.timestamp("us", tz="UTC"), "ns": pa.timestamp("ns"), "time": pa.time64("us")}
NESTED = {
    "list": pa.list_(pa.int32()),
    "struct": pa.struct([("a", pa.int64()), ("b", pa.string())]),
    "deep": pa.list_(pa.struct([("x", pa.list_(pa.string())), ("y", pa.float64())])),
    "map": pa.map_(pa.string(), pa.int32()),
}
FLAT = {**INTEGERS, **DECIMALS, **FLOATS, **TEXTS, **TIMES, "flag": pa.bool_()}


@dataclass
class Kind:
    """What a file is made of; `encoding` is of all columns, `None` for a dictionary."""

    name: str
    columns: dict[str, pa.DataType]
    encoding: str | None
    options: dict[str, object]


def kinds() -> Iterator[Kind]:
    """All that a writer may choose, each with several others."""
    by_encoding = {
        "PLAIN": FLAT,
        None: {name: ty for name, ty in FLAT.items() if name != "flag"},
        "DELTA_BINARY_PACKED": {**INTEGERS, "day": pa.date32(), "us": TIMES["us"]},
        "DELTA_LENGTH_BYTE_ARRAY": {"text": pa.string(), "bytes": pa.binary()},
        "DELTA_BYTE_ARRAY": {"text": pa.string(), "few": pa.string(), "fixed": pa.binary(6)},
        "BYTE_STREAM_SPLIT": {**FLOATS, "int32": pa.int32(), "int64": pa.int64(), "d38": DECIMALS["d38"], "fixed": pa.binary(6)},
        "RLE": {"flag": pa.bool_()},
    }
    codecs = itertools.cycle(CODECS[1:])
    for (encoding, columns), version in itertools.product(by_encoding.items(), ["1.0", "2.0"]):
        # Damage to values that aren't compressed reaches a decoder of ours; each encoding is there with and without.
        for codec in ("none", next(codecs)):
            for nested in (False, True):
                if nested and encoding not in ("PLAIN", None):
                    continue
                kept = {**NESTED} if nested else columns
                options = {"compression": codec, "data_page_version": version, "write_page_index": len(codec) % 2 == 0}
                yield Kind(f"{encoding or 'dictionary'}-{codec}-v{version[0]}{'-nested' * nested}", kept, encoding, options)
    plain = {"int64": pa.int64(), "text": pa.string(), "d9": DECIMALS["d9"]}
    for codec in CODECS:
        yield Kind(f"codec-{codec}", plain, None, {"compression": codec, "row_group_size": 200})
    yield Kind("no-statistics", plain, "PLAIN", {"compression": "none", "write_statistics": False})
    yield Kind("page-checksums", plain, None, {"compression": "none", "write_page_checksum": True})
    yield Kind("integer-decimals", DECIMALS, "PLAIN", {"compression": "none", "store_decimal_as_integer": True})
    yield Kind("int96", {"ns": pa.timestamp("ns")}, "PLAIN", {"compression": "none", "use_deprecated_int96_timestamps": True})
    yield Kind("no-rows", plain, None, {"compression": "none"})


def value(rng: random.Random, name: str, ty: pa.DataType, row: int) -> object:
    """A value of a type; small numbers as well as extremes, and runs of equal values."""
    if rng.random() < 0.1:
        return None
    if pa.types.is_integer(ty):
        low, high = (0, 2**ty.bit_width) if "u" in str(ty) else (-(2 ** (ty.bit_width - 1)), 2 ** (ty.bit_width - 1))
        return rng.choice([row % 100, row // 50 % 100, low, high - 1, rng.randrange(low, high)])
    if pa.types.is_decimal(ty):
        digits = 10 ** rng.choice([2, ty.precision])
        with decimal.localcontext(prec=40):
            return decimal.Decimal(rng.randrange(-digits + 1, digits)).scaleb(-ty.scale)
    if pa.types.is_list(ty):
        return [value(rng, name, ty.value_type, row + i) for i in range(rng.randrange(4))]
    if pa.types.is_struct(ty):
        return {field.name: value(rng, name, field.type, row) for field in ty}
    if pa.types.is_map(ty):
        return [(f"key {i}", value(rng, name, ty.item_type, row)) for i in range(rng.randrange(3))]
    if pa.types.is_fixed_size_binary(ty):
        return f"{row:06}".encode()
    if pa.types.is_string(ty):
        return rng.choice(["red", "green", "blue"]) if name == "few" else f"text {row}, " + "long " * rng.choice([0, 1, 20])
    if pa.types.is_binary(ty):
        return rng.randbytes(rng.randrange(20))
    if pa.types.is_floating(ty):
        return rng.choice([0.0, -1.5, row / 4, 1e30])
    if pa.types.is_boolean(ty):
        return row // 20 % 2 == 0
    return row * 86_400_000 if pa.types.is_time(ty) else row * 1_000_003 if pa.types.is_timestamp(ty) else row


def write(kind: Kind, path: Path) -> pa.Table:
    """Makes a file; returns what is in it."""
    rng = random.Random(kind.name)
    rows = 0 if kind.name == "no-rows" else ROWS
    columns = {name: pa.array([value(rng, name, ty, row) for row in range(rows)], ty) for name, ty in kind.columns.items()}
    # One column without NULLs, that filters can go by.
    table = pa.table({"id": pa.array(range(rows), pa.int32()), **columns}, schema=schema(kind))
    # An encoding of the leaves: the columns' own, as nested ones take what pyarrow gives them.
    encoding = {name: kind.encoding for name in kind.columns if not pa.types.is_nested(kind.columns[name])}
    chosen = {"use_dictionary": False, "column_encoding": encoding} if kind.encoding and encoding else {"use_dictionary": not kind.encoding}
    pq.write_table(table, path, **{"row_group_size": 400, "data_page_size": 600, "write_batch_size": 64, **chosen, **kind.options})
    return table


def schema(kind: Kind) -> pa.Schema:
    return pa.schema([pa.field("id", pa.int32(), nullable=False), *(pa.field(name, ty) for name, ty in kind.columns.items())])


def target(content: bytes) -> Target:
    """Where headers and the starts of pages are in a sound file."""
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    in_footer = Walk(content, footer).varints
    headers, starts, in_headers = [], [], []
    metadata = pq.read_metadata(pa.BufferReader(content))
    for group, column in itertools.product(range(metadata.num_row_groups), range(metadata.num_columns)):
        chunk = metadata.row_group(group).column(column)
        at = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
        end = at + chunk.total_compressed_size
        while at < end:
            walk = Walk(content, at)
            # Type, size, size in the file: the first three integers.
            size = varint_at(content, walk.varints[2]) >> 1
            headers.append(range(at, walk.at))
            starts.append(range(walk.at, min(walk.at + PAGE_START_BYTES, walk.at + size) or 1))
            in_headers += walk.varints
            at = walk.at + size
    starts = [start for start in starts if start]
    regions = [[range(footer, len(content))], headers, starts, [range(len(content))]]
    regions = [choices for choices in regions if choices]
    return Target(content, regions, spread(in_footer, in_headers), footer)


def spread(in_footer: list[Varint], in_headers: list[Varint]) -> list[Varint]:
    """As many of one kind as of the other."""
    times = max(1, len(in_footer) // max(1, len(in_headers)))
    return in_footer + in_headers * times


def varint_at(content: bytes, varint: Varint) -> int:
    return sum((byte & 0x7F) << 7 * index for index, byte in enumerate(content[varint.start : varint.end]))
