"""A data set in the schema of the Join Order Benchmark: the 21 tables of the Internet Movie Database.

The benchmark (Leis et al., "How Good Are Query Optimizers, Really?", VLDB 2015) runs on a snapshot of the real
database, which can't be handed on. This one is made up, in its likeness: same tables, columns, types and dimension
values; a quarter of its rows at scale 1; and what makes it hard to plan and to run:

    popularity   A title has a weight drawn from a power law, and its rows in every table go along with it: whoever has
                 a long cast has many keywords, release dates, companies. Joins over two such tables multiply, so that
                 chains are long and estimates too low.
    correlation  Country, year, kind and genre of a title decide on its companies, people, names, keywords, ratings and
                 notes: "Animation" is Japanese, has voices and anime; horror has blood and low ratings.
    fame         People have credits by a power law, most in their country and time, the famous in popular titles.
    franchises   Parts of a series of movies follow each other, with numbers, links and the keyword "sequel".
    NULLs        About as many as in the original: gender of a third, notes of most, years of a few.
    landmarks    Single works, people and companies that questions on this schema ask for, at any scale.

    titles.py    the attributes of all titles, and people.py those of people, characters and companies
    model.py     all of these together, and numbers of rows
    catalog.py, movies.py, casts.py    the tables
    vocabulary.py, landmarks.py        what is drawn from, and what is there for certain
    draw.py, files.py                  seeded draws, and Parquet

All is drawn from generators with fixed seeds, one per table, in arrays, a piece of a table at a time: with the versions
of requirements.txt, a data set is a pure function of its scale. The benchmark's own queries run on it as well; what they
ask for is there, so that nearly all of them find rows at scale 1.
"""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

from job_like import casts, catalog, files, movies
from job_like.files import COLUMNS, Piece
from job_like.model import Model
from job_like.model import make as make_model

TABLES: dict[str, Callable[[Model], Iterator[Piece]]] = {
    "aka_name": casts.aka_name,
    "aka_title": catalog.aka_title,
    "cast_info": casts.cast_info,
    "char_name": catalog.char_name,
    "company_name": catalog.company_name,
    "complete_cast": movies.complete_cast,
    "keyword": catalog.keyword,
    "movie_companies": movies.movie_companies,
    "movie_info": movies.movie_info,
    "movie_info_idx": movies.movie_info_idx,
    "movie_keyword": movies.movie_keyword,
    "movie_link": movies.movie_link,
    "name": casts.name,
    "person_info": casts.person_info,
    "title": catalog.title,
    **{table: lambda _, table=table: catalog.fixed(table) for table, _ in catalog.FIXED},
}
assert set(TABLES) == set(COLUMNS)


def make(scale: float, folder: Path) -> dict[str, Path]:
    """The tables' files; those that aren't there are made."""
    folder.mkdir(parents=True, exist_ok=True)
    model = functools.cache(make_model)
    if not all((folder / f"{table}.parquet").exists() for table in TABLES):
        print(f"making the tables of job-like at scale {scale:g} in {folder}", flush=True)
    return {
        table: files.write(folder, table, lambda pieces=pieces: pieces(model(scale)))
        for table, pieces in TABLES.items()
    }
