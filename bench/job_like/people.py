"""People, characters and companies: who can be drawn into a title, and what they are called.

People come in three groups, as in the original's numbering: men, women, and crew whose gender isn't known. Fame is a
power law: it decides how many credits a person has, and that those of famous people are in popular titles.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from job_like import draw
from job_like.landmarks import LANDMARKS, PEOPLE
from job_like.vocabulary import (
    CHARACTER_TITLES,
    CHARACTERS,
    COMPANIES,
    COMPANY_ENDS,
    COUNTRIES,
    CULTURES,
    NOUNS,
    ROLES,
)

# Men, women, not known.
GENDERS = ["m", "f", ""]
GENDER_SHARES = [0.42, 0.23, 0.35]
FAME_SHAPE, FAME_MAX = 1.05, 20_000.0
# Mean number of years since the first credit.
YEARS_BACK = 25
# Of people of the same name, among others.
INDEXES = ["", "I", "II", "III", "IV", "V"]
INDEX_WEIGHTS = [0.87, 0.05, 0.04, 0.02, 0.01, 0.01]
MIDDLE_INITIALS = [*(" " + letter + "." for letter in "ABCDEFGHJKLMPRSTW")]


@dataclass
class People:
    """Columns by person; a person's id is its place and 1."""

    # Place in GENDERS.
    gender: np.ndarray
    country: np.ndarray
    # When the first credit was.
    year: np.ndarray
    fame: np.ndarray
    # Place in ROLES, of those whose gender isn't known.
    profession: np.ndarray
    # Places by name.
    landmarks: dict[str, int]

    @property
    def rows(self) -> int:
        return len(self.gender)


def make(rows: int) -> People:
    rng = draw.generator("people")
    gender = np.sort(draw.choose(rng, GENDER_SHARES, rows))
    country = draw.choose(rng, (country.weight for country in COUNTRIES), rows)
    fame = draw.pareto(rng, rows, FAME_SHAPE, FAME_MAX)
    crew = [ROLES.index(role) for role in ROLES if role not in ("actor", "actress", "guest")]
    shares = [2.5, 2.4, 1.2, 0.8, 0.3, 1.8, 1.2, 3, 0.3]
    profession = np.array(crew)[draw.choose(rng, shares, rows)]
    year = np.maximum(2012 - rng.exponential(YEARS_BACK, rows).astype(np.int64), 1890)
    landmarks = {}
    famous = np.quantile(fame, 0.999)
    for place_of_gender, letter in enumerate("mf"):
        names = [name for name, of in PEOPLE.items() if of == letter]
        free = np.flatnonzero(gender == place_of_gender)
        for name, place in zip(names, free[np.linspace(0, len(free) - 1, len(names)).astype(np.int64)], strict=True):
            landmarks[name] = int(place)
            fame[place], year[place], country[place] = famous, 1985, 0
    return People(gender, country, year, fame, profession, landmarks)


def cultures_of(country: np.ndarray) -> np.ndarray:
    names = list(CULTURES)
    return np.array([names.index(entry.culture) for entry in COUNTRIES])[country]


def first_names(rng: np.random.Generator, culture: np.ndarray, is_woman: np.ndarray) -> pa.Array:
    pools = [pool.split() for entry in CULTURES.values() for pool in (entry.men, entry.women)]
    return from_pools(rng, pools, culture * 2 + is_woman, 0.5)


def surnames(rng: np.random.Generator, culture: np.ndarray) -> pa.Array:
    """A third from the culture's list, the others of a beginning and an end."""
    begins, ends = [], []
    for entry in CULTURES.values():
        common = [name.replace("~", " ") for name in entry.surnames.split()]
        begins.append(common)
        begins.append(entry.begins.split())
        ends.append([""])
        ends.append(entry.ends.split())
    pool = culture * 2 + (rng.random(len(culture)) < 0.67)
    return draw.join(from_pools(rng, begins, pool, 0.6), from_pools(rng, ends, pool, 0.3))


def from_pools(rng: np.random.Generator, pools: list[list[str]], pool: np.ndarray, exponent: float) -> pa.Array:
    """A member of each row's pool, earlier ones more often."""
    sizes = np.array([len(members) for members in pools])
    starts = np.cumsum(sizes) - sizes
    weights = np.concatenate([draw.zipf(size, exponent) for size in sizes])
    strata = draw.Strata(np.repeat(np.arange(len(pools)), sizes), weights, len(pools))
    assert (strata.bounds[:-1] == starts).all()
    return draw.take_all([member for members in pools for member in members], strata.draw(rng, pool, len(pool)))


def full_names(
    rng: np.random.Generator, country: np.ndarray, is_woman: np.ndarray
) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Names as `Surname, First`, as `First Surname`, and surnames."""
    culture = cultures_of(country)
    last = surnames(rng, culture)
    first = first_names(rng, culture, is_woman)
    initial = np.where(rng.random(len(country)) < 0.25, rng.integers(1, len(MIDDLE_INITIALS) + 1, len(country)), 0)
    given = draw.join(first, draw.take_all(["", *MIDDLE_INITIALS], initial))
    return draw.join(last, ", ", given), draw.join(given, " ", last), last


def character_names(rng: np.random.Generator, rows: int) -> pa.Array:
    """What many are called first, then those of landmarks, then people's names."""
    fixed = [*CHARACTERS, *landmark_characters()][:rows]
    others = rows - len(fixed)
    culture = rng.choice([0, 0, 0, 0, 1, 2, 3, 3, 4, 5, 6, 7, 8], others)
    first = first_names(rng, culture, rng.random(others) < 0.4)
    last = surnames(rng, culture)
    spoken = draw.join(draw.take_all(CHARACTER_TITLES, rng.integers(0, len(CHARACTER_TITLES), others)), first)
    both = draw.join(spoken, " ", last)
    # A quarter goes without a surname, some are called by what they do.
    kind = rng.random(others)
    trade = draw.join(draw.pick_ranked(rng, CHARACTERS, others), " #", draw.digits(rng.integers(2, 30, others)))
    work = draw.join(draw.pick_ranked(rng, NOUNS, others), draw.take_all(["man", " Man", "woman", "er"], culture % 4))
    named = pc.if_else(pa.array(kind < 0.25), spoken, both)
    named = pc.if_else(pa.array(kind > 0.93), trade, named)
    named = pc.if_else(pa.array(kind > 0.97), work, named)
    return pa.concat_arrays([pa.array(fixed, pa.string()), named])


def landmark_characters() -> list[str]:
    """Those that aren't in the vocabulary."""
    found = dict.fromkeys(credit.character for landmark in LANDMARKS for credit in landmark.cast if credit.character)
    return [name for name in found if name not in CHARACTERS]


@dataclass
class Companies:
    """Columns by company; a company's id is its place and 1."""

    country: np.ndarray
    # Within its country.
    weight: np.ndarray
    name: pa.Array
    landmarks: dict[tuple[str, str], int]


def make_companies(rows: int) -> Companies:
    """The named ones of all countries, then those of landmarks, then others; earlier ones are in more titles."""
    rng = draw.generator("companies")
    codes = [entry.code for entry in COUNTRIES]
    known = [(name, code) for code, names in COMPANIES.items() for name in names]
    of_landmarks = [(company.name, company.country) for landmark in LANDMARKS for company in landmark.companies]
    known = list(dict.fromkeys([*known, *of_landmarks]))
    others = max(rows - len(known), len(codes))
    country = np.concatenate(
        [
            np.array([codes.index(code) for _, code in known]),
            draw.choose(rng, (entry.weight for entry in COUNTRIES), others),
        ]
    )
    culture = cultures_of(country[len(known) :])
    begin = pc.if_else(
        pa.array(rng.random(others) < 0.5),
        surnames(rng, culture),
        draw.join(draw.pick_ranked(rng, NOUNS, others), " ", draw.pick_ranked(rng, NOUNS, others)),
    )
    ends = [end.replace("~", " ") for end in COMPANY_ENDS]
    name = draw.join(begin, " ", draw.pick_ranked(rng, ends, others, 0.5))
    order = np.lexsort([np.arange(len(country)), country])
    ranked = np.empty(len(country), np.int64)
    first = np.concatenate([[True], np.diff(country[order]) != 0])
    ranked[order] = np.arange(len(order)) - np.flatnonzero(first)[np.cumsum(first) - 1]
    names = pa.concat_arrays([pa.array([name for name, _ in known], pa.string()), name])
    landmarks = {key: place for place, key in enumerate(known)}
    return Companies(country, (ranked + 1.0) ** -0.8, names, landmarks)
