"""Parquet files of the 21 tables."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from relations import GROUP_ROWS

INTEGER, TEXT = pa.int32(), pa.string()
# All but `id`, which counts rows from 1.
COLUMNS: dict[str, dict[str, pa.DataType]] = {
    "aka_name": {
        "person_id": INTEGER,
        "name": TEXT,
        "imdb_index": TEXT,
        "name_pcode_cf": TEXT,
        "name_pcode_nf": TEXT,
        "surname_pcode": TEXT,
        "md5sum": TEXT,
    },
    "aka_title": {
        "movie_id": INTEGER,
        "title": TEXT,
        "imdb_index": TEXT,
        "kind_id": INTEGER,
        "production_year": INTEGER,
        "phonetic_code": TEXT,
        "episode_of_id": INTEGER,
        "season_nr": INTEGER,
        "episode_nr": INTEGER,
        "note": TEXT,
        "md5sum": TEXT,
    },
    "cast_info": {
        "person_id": INTEGER,
        "movie_id": INTEGER,
        "person_role_id": INTEGER,
        "note": TEXT,
        "nr_order": INTEGER,
        "role_id": INTEGER,
    },
    "char_name": {
        "name": TEXT,
        "imdb_index": TEXT,
        "imdb_id": INTEGER,
        "name_pcode_nf": TEXT,
        "surname_pcode": TEXT,
        "md5sum": TEXT,
    },
    "comp_cast_type": {"kind": TEXT},
    "company_name": {
        "name": TEXT,
        "country_code": TEXT,
        "imdb_id": INTEGER,
        "name_pcode_nf": TEXT,
        "name_pcode_sf": TEXT,
        "md5sum": TEXT,
    },
    "company_type": {"kind": TEXT},
    "complete_cast": {"movie_id": INTEGER, "subject_id": INTEGER, "status_id": INTEGER},
    "info_type": {"info": TEXT},
    "keyword": {"keyword": TEXT, "phonetic_code": TEXT},
    "kind_type": {"kind": TEXT},
    "link_type": {"link": TEXT},
    "movie_companies": {"movie_id": INTEGER, "company_id": INTEGER, "company_type_id": INTEGER, "note": TEXT},
    "movie_info": {"movie_id": INTEGER, "info_type_id": INTEGER, "info": TEXT, "note": TEXT},
    "movie_info_idx": {"movie_id": INTEGER, "info_type_id": INTEGER, "info": TEXT, "note": TEXT},
    "movie_keyword": {"movie_id": INTEGER, "keyword_id": INTEGER},
    "movie_link": {"movie_id": INTEGER, "linked_movie_id": INTEGER, "link_type_id": INTEGER},
    "name": {
        "name": TEXT,
        "imdb_index": TEXT,
        "imdb_id": INTEGER,
        "gender": TEXT,
        "name_pcode_cf": TEXT,
        "name_pcode_nf": TEXT,
        "surname_pcode": TEXT,
        "md5sum": TEXT,
    },
    "person_info": {"person_id": INTEGER, "info_type_id": INTEGER, "info": TEXT, "note": TEXT},
    "role_type": {"role": TEXT},
    "title": {
        "title": TEXT,
        "imdb_index": TEXT,
        "kind_id": INTEGER,
        "production_year": INTEGER,
        "imdb_id": INTEGER,
        "phonetic_code": TEXT,
        "episode_of_id": INTEGER,
        "season_nr": INTEGER,
        "episode_nr": INTEGER,
        "series_years": TEXT,
        "md5sum": TEXT,
    },
}

# Rows as columns by name; left out ones are NULL.
Piece = dict[str, Any]


def write(folder: Path, table: str, pieces: Callable[[], Iterator[Piece]]) -> Path:
    """Writes what `pieces` gives, in full row groups, if the file isn't there."""
    file = folder / f"{table}.parquet"
    if not file.exists():
        schema = pa.schema({"id": INTEGER, **COLUMNS[table]})
        # Under another name until it is complete.
        unfinished = file.with_suffix(f".{os.getpid()}")
        with pq.ParquetWriter(unfinished, schema) as writer:
            for group in groups(pieces(), schema):
                writer.write_table(group, row_group_size=GROUP_ROWS)
        unfinished.rename(file)
    return file


def groups(pieces: Iterator[Piece], schema: pa.Schema) -> Iterator[pa.Table]:
    waiting: list[pa.Table] = []
    rows = done = 0
    for piece in pieces:
        table = numbered(piece, schema, done)
        done += len(table)
        rows += len(table)
        waiting.append(table)
        if rows >= GROUP_ROWS:
            whole = pa.concat_tables(waiting)
            full = rows // GROUP_ROWS * GROUP_ROWS
            yield whole[:full]
            waiting, rows = [whole[full:]], rows - full
    if rows:
        yield pa.concat_tables(waiting)


def numbered(piece: Piece, schema: pa.Schema, before: int) -> pa.Table:
    rows = len(next(iter(piece.values())))
    assert not set(piece) - set(schema.names), f"columns {set(piece) - set(schema.names)} aren't in the schema"
    columns = [pa.array(np.arange(before + 1, before + rows + 1, dtype=np.int32))]
    for field in list(schema)[1:]:
        column = piece.get(field.name)
        if column is None:
            column = pa.nulls(rows, field.type)
        elif isinstance(column, list):
            column = pa.array([value or None for value in column], field.type)
        columns.append(column)
    return pa.table(columns, schema=schema)
