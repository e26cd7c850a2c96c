"""Titles, characters, companies and keywords as tables, and the fixed ones."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from job_like import draw, people, titles
from job_like.files import Piece
from job_like.model import Model
from job_like.titles import EPISODE, SERIES, UNKNOWN_YEAR
from job_like.vocabulary import (
    ALTERNATIVE_TITLE_NOTES,
    CAST_TYPES,
    COMPANY_TYPES,
    COUNTRIES,
    INFO_TYPES,
    KINDS,
    LINKS,
    ROLES,
)

# Table and column, and its values in the order of their ids.
FIXED = {
    ("comp_cast_type", "kind"): CAST_TYPES,
    ("company_type", "kind"): COMPANY_TYPES,
    ("info_type", "info"): INFO_TYPES,
    ("kind_type", "kind"): KINDS,
    ("link_type", "link"): LINKS,
    ("role_type", "role"): ROLES,
}


def title(model: Model) -> Iterator[Piece]:
    rng = draw.generator("title")
    texts = titles.texts(rng, model.titles)
    first = model.titles.year
    last = np.minimum(first + rng.integers(0, 12, len(first)), titles.YEAR_LAST)
    ends = pc.if_else(pa.array(rng.random(len(first)) < 0.2), "????", draw.digits(last))
    years = draw.join(draw.digits(first), "-", ends)
    yield described(rng, model, np.arange(model.titles.rows), texts) | {
        "series_years": draw.without(years, (model.titles.kind != SERIES) | (first == UNKNOWN_YEAR)),
    }


def aka_title(model: Model) -> Iterator[Piece]:
    rng = draw.generator("aka_title")
    weights = np.where(model.titles.kind == EPISODE, 0.3, 1) * model.titles.popularity
    movie, _ = draw.repeated(draw.counts(rng, draw.spread(model.rows("aka_title"), weights, 0.4, 15)))
    texts = titles.texts(draw.generator("aka_title texts"), model.titles).take(pa.array(movie))
    # In the original, nothing but the title tells an alternative title's episode.
    piece = described(rng, model, movie, texts)
    note = draw.pick_ranked(rng, ALTERNATIVE_TITLE_NOTES, len(movie), 0.5)
    yield piece | {"movie_id": draw.integers(movie + 1), "note": note}


def described(rng: np.random.Generator, model: Model, movie: np.ndarray, texts: pa.Array) -> Piece:
    """Columns that title and aka_title have in common."""
    all_titles = model.titles
    is_episode = all_titles.series[movie] >= 0
    # One series in seven has no numbers.
    unnumbered = ~is_episode | (all_titles.series[movie] % 7 == 3)
    indexes = draw.take(people.INDEXES, draw.choose(rng, people.INDEX_WEIGHTS, len(movie)))
    return {
        "title": texts,
        "imdb_index": draw.without(indexes, is_episode),
        "kind_id": draw.integers(all_titles.kind[movie] + 1),
        "production_year": draw.integers(all_titles.year[movie], all_titles.year[movie] == UNKNOWN_YEAR),
        "phonetic_code": draw.sound_codes(texts),
        "episode_of_id": draw.integers(all_titles.series[movie] + 1, ~is_episode),
        "season_nr": draw.integers(all_titles.season[movie], unnumbered),
        "episode_nr": draw.integers(all_titles.episode[movie], unnumbered),
        "md5sum": draw.checksums(rng, len(movie)),
    }


def char_name(model: Model) -> Iterator[Piece]:
    rng = draw.generator("char_name")
    rows = model.rows("char_name")
    names = people.character_names(rng, rows)
    normal = draw.sound_codes(names)
    # Of the last word, as the original has it; NULL where there is one word only.
    last = draw.sound_codes(pc.replace_substring_regex(names, r"^.* ", ""))
    same = pc.fill_null(pc.equal(normal, last), True)
    yield {
        "name": names,
        "imdb_index": draw.take(["", "I", "II"], draw.choose(rng, [0.99, 0.006, 0.004], rows)),
        "name_pcode_nf": normal,
        "surname_pcode": pc.if_else(same, pa.scalar(None, pa.string()), last),
        "md5sum": draw.checksums(rng, rows),
    }


def company_name(model: Model) -> Iterator[Piece]:
    rng = draw.generator("company_name")
    companies = model.companies
    rows = len(companies.country)
    # One drawn company in fourteen comes from nobody knows where.
    unknown = rng.random(rows) < 1 / 14
    unknown[: len(companies.landmarks)] = False
    code = draw.take([country.code for country in COUNTRIES], companies.country)
    normal = draw.sound_codes(companies.name)
    with_code = draw.sound_codes(draw.join(companies.name, " ", code))
    same = pc.fill_null(pc.equal(normal, with_code), True)
    yield {
        "name": companies.name,
        "country_code": draw.without(code, unknown),
        "name_pcode_nf": normal,
        "name_pcode_sf": pc.if_else(same, pa.scalar(None, pa.string()), with_code),
        "md5sum": draw.checksums(rng, rows),
    }


def keyword(model: Model) -> Iterator[Piece]:
    texts = pa.array(model.keywords, pa.string())
    yield {"keyword": texts, "phonetic_code": draw.sound_codes(texts)}


def fixed(table: str) -> Iterator[Piece]:
    for (name, column), values in FIXED.items():
        if name == table:
            yield {column: values}
