"""Who did what: cast_info, and what is known of people: person_info, aka_name.

Credits come by role and then by person, as in the original, so that a title's cast is all over the table. A person
draws titles of the own country and time three times out of four, by their popularity.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from job_like import draw, people
from job_like.files import Piece
from job_like.landmarks import LANDMARKS
from job_like.model import Model
from job_like.movies import info_type, long_texts
from job_like.people import GENDERS
from job_like.titles import GENRE_NAMES
from job_like.vocabulary import (
    ACTING_NOTES,
    BIOGRAPHERS,
    CHARACTERS,
    COUNTRIES,
    CREW_NOTES,
    LOCATIONS,
    MONTHS,
    ROLES,
    VOICE_NOTES,
)

# Share of credits by role.
ROLE_SHARES = {
    "actor": 0.350,
    "actress": 0.206,
    "producer": 0.107,
    "writer": 0.075,
    "cinematographer": 0.036,
    "composer": 0.029,
    "costume designer": 0.009,
    "director": 0.074,
    "editor": 0.033,
    "miscellaneous crew": 0.071,
    "production designer": 0.009,
    "guest": 0.001,
}
# Strata of titles: ten years each.
TIMES = 14
TIME_FIRST = 1880
# Maximum number of credits of one role and person, and their maximum share of all titles.
CREDITS_MAX, CREDITS_SHARE_MAX = 8000, 1 / 80
# Number of famous people per thousand; they are drawn to popular titles.
FAMOUS = 20
# Share of characters that are drawn from the common ones, and the number of these.
COMMON_SHARE, COMMON_CHARACTERS = 0.16, 2000
ORDERS_MAX = 60


class Stages:
    """The titles of a country and a time, by how many people they employ or by popularity itself."""

    def __init__(self, model: Model) -> None:
        titles = model.titles
        stratum = titles.country * TIMES + time_of(titles.known_year())
        # So that even the most popular have no more than some hundreds of people, as movies do.
        self.for_all = draw.Strata(stratum, np.minimum(titles.popularity**0.35, 12), len(COUNTRIES) * TIMES)
        self.for_famous = draw.Strata(stratum, np.minimum(titles.popularity**0.6, 40), len(COUNTRIES) * TIMES)

    def draw(self, rng: np.random.Generator, model: Model, person: np.ndarray, famous: np.ndarray) -> np.ndarray:
        """A title per person."""
        later = np.minimum(rng.exponential(9, len(person)).astype(np.int64), 50)
        time = time_of(np.minimum(model.people.year[person] + later, 2016))
        stratum = model.people.country[person] * TIMES + time
        abroad = rng.random(len(person)) < 0.25
        usual, big = (
            np.where(abroad, strata.draw_any(rng, len(person)), strata.draw(rng, stratum, len(person)))
            for strata in (self.for_all, self.for_famous)
        )
        return np.where(famous[person], big, usual)


def time_of(year: np.ndarray) -> np.ndarray:
    return (year - TIME_FIRST) // 10


def cast_info(model: Model) -> Iterator[Piece]:
    rng = draw.generator("cast_info")
    stages = Stages(model)
    famous = model.people.fame > np.quantile(model.people.fame, 1 - FAMOUS / 1000)
    most = min(CREDITS_MAX, model.titles.rows * CREDITS_SHARE_MAX)
    for role, share in ROLE_SHARES.items():
        inclination = inclinations(rng, model, role)
        expected = draw.spread(model.rows("cast_info") * share, inclination * model.people.fame, 0.85, most)
        numbers = draw.counts(rng, expected)
        for first, last in draw.pieces(numbers):
            person = np.repeat(np.arange(first, last), numbers[first:last])
            yield credits(rng, model, role, person, stages.draw(rng, model, person, famous))
    yield landmark_credits(model)


def inclinations(rng: np.random.Generator, model: Model, role: str) -> np.ndarray:
    """How likely people are to have a credit of a role: men act, women act, others do their profession."""
    gender, profession = model.people.gender, model.people.profession
    if role in ("actor", "actress"):
        return np.where(gender == ("actor", "actress").index(role), 1.0, 0.0)
    if role == "guest":
        return np.where(gender == GENDERS.index(""), 0.0, 1.0)
    # One actor in six has another profession as well.
    other = (rng.random(model.people.rows) < 0.16) & (profession == ROLES.index(role))
    return np.where(gender == GENDERS.index(""), profession == ROLES.index(role), other).astype(np.float64)


def credits(rng: np.random.Generator, model: Model, role: str, person: np.ndarray, movie: np.ndarray) -> Piece:
    rows = len(person)
    acts = role in ("actor", "actress")
    if acts:
        animated = model.titles.genre[movie] == GENRE_NAMES.index("Animation")
        voice = draw.pick(rng, VOICE_NOTES, rows)
        note = pc.if_else(pa.array(animated), voice, draw.pick(rng, ACTING_NOTES, rows))
    else:
        note = draw.pick(rng, CREW_NOTES[role], rows)
    unnamed = rng.random(rows) < 0.1 if acts else np.ones(rows, bool)
    unordered = rng.random(rows) < 0.42 if acts else np.ones(rows, bool)
    order = np.minimum(1 + rng.exponential(9, rows), ORDERS_MAX)
    return {
        "person_id": draw.integers(person + 1),
        "movie_id": draw.integers(movie + 1),
        "person_role_id": draw.integers(characters(rng, model, rows) + 1, unnamed),
        "note": note,
        "nr_order": draw.integers(order, unordered),
        "role_id": draw.integers(np.full(rows, ROLES.index(role) + 1)),
    }


def characters(rng: np.random.Generator, model: Model, rows: int) -> np.ndarray:
    count = model.rows("char_name")
    common = draw.choose(rng, draw.zipf(min(COMMON_CHARACTERS, count), 1.1), rows)
    return np.where(rng.random(rows) < COMMON_SHARE, common, (rng.random(rows) ** 1.6 * count).astype(np.int64))


def landmark_credits(model: Model) -> Piece:
    named = {name: place for place, name in enumerate([*CHARACTERS, *people.landmark_characters()])}
    rows = [
        (model.people.landmarks[credit.person] + 1, int(movie) + 1, credit)
        for movie, landmark in zip(model.titles.landmarks, LANDMARKS, strict=True)
        for credit in landmark.cast
    ]
    characters = [named[credit.character] + 1 if credit.character else None for _, _, credit in rows]
    return {
        "person_id": [person for person, _, _ in rows],
        "movie_id": [movie for _, movie, _ in rows],
        "person_role_id": characters,
        "note": [credit.note for _, _, credit in rows],
        "nr_order": [1 if credit.character else None for _, _, credit in rows],
        "role_id": [ROLES.index(credit.role_name) + 1 for _, _, credit in rows],
    }


# --- people ---


def dates(rng: np.random.Generator, model: Model, person: np.ndarray, years_on: int) -> pa.Array:
    day, month = rng.integers(1, 29, len(person)), draw.take(MONTHS, rng.integers(0, 12, len(person)))
    year = model.people.year[person] + years_on + rng.integers(-15, 10, len(person))
    return draw.join(draw.digits(day), " ", month, " ", draw.digits(year))


def heights(rng: np.random.Generator, model: Model, person: np.ndarray) -> pa.Array:
    feet, inches = rng.integers(5, 7, len(person)), rng.integers(0, 12, len(person))
    parts = draw.take_all(["", " 1/2", " 3/4"], rng.integers(0, 3, len(person)))
    return draw.join(draw.digits(feet), "' ", draw.digits(inches), parts, '"')


def texts(rng: np.random.Generator, model: Model, person: np.ndarray) -> pa.Array:
    return long_texts(rng, len(person))


def spouses(rng: np.random.Generator, model: Model, person: np.ndarray) -> pa.Array:
    name, _, _ = people.full_names(rng, model.people.country[person], model.people.gender[person] == 0)
    return draw.join("'", name, "' (", dates(rng, model, person, 5), " - present)")


def own_names(rng: np.random.Generator, model: Model, person: np.ndarray) -> pa.Array:
    return people.full_names(rng, model.people.country[person], model.people.gender[person] == 1)[0]


class PersonInfo(NamedTuple):
    # Share of rows.
    share: float
    # How far they go along with fame.
    exponent: float
    most: int
    make: Callable[[np.random.Generator, Model, np.ndarray], pa.Array]


PERSON_INFO = {
    "mini biography": PersonInfo(0.07, 0.5, 3, texts),
    "birth notes": PersonInfo(
        0.10, 0.3, 1, lambda rng, _, person: draw.pick_ranked(rng, LOCATIONS, len(person))
    ),
    "birth date": PersonInfo(0.115, 0.3, 1, lambda rng, model, person: dates(rng, model, person, -30)),
    "height": PersonInfo(0.06, 0.4, 1, heights),
    "death date": PersonInfo(0.045, 0.2, 1, lambda rng, model, person: dates(rng, model, person, 35)),
    "spouse": PersonInfo(0.035, 0.5, 6, spouses),
    "other works": PersonInfo(0.19, 0.9, 300, texts),
    "birth name": PersonInfo(0.06, 0.4, 1, own_names),
    "nick names": PersonInfo(0.03, 0.4, 4, own_names),
    "trade mark": PersonInfo(0.01, 0.7, 10, texts),
    "interviews": PersonInfo(0.06, 0.9, 200, texts),
    "article": PersonInfo(0.09, 0.9, 300, texts),
    "magazine cover photo": PersonInfo(0.03, 0.9, 100, texts),
    "pictorial": PersonInfo(0.01, 0.8, 40, texts),
    "trivia": PersonInfo(0.07, 0.7, 100, texts),
    "quotes": PersonInfo(0.02, 0.8, 100, texts),
    "where now": PersonInfo(0.005, 0.5, 8, texts),
}


def person_info(model: Model) -> Iterator[Piece]:
    rng = draw.generator("person_info")
    landmarks = np.array(list(model.people.landmarks.values()))
    for name, info in PERSON_INFO.items():
        expected = draw.spread(model.rows("person_info") * info.share, model.people.fame, info.exponent, info.most)
        expected[landmarks] = np.maximum(expected[landmarks], 1)
        person, _ = draw.repeated(draw.counts(rng, expected))
        if not len(person):
            continue
        note = draw.pick_ranked(rng, BIOGRAPHERS, len(person), 1) if name == "mini biography" else None
        yield {
            "person_id": draw.integers(person + 1),
            "info_type_id": draw.integers(np.full(len(person), info_type(name))),
            "info": info.make(rng, model, person),
            "note": note,
        }


def aka_name(model: Model) -> Iterator[Piece]:
    rng = draw.generator("aka_name")
    expected = draw.spread(model.rows("aka_name"), model.people.fame, 0.4, 20)
    landmarks = np.array(list(model.people.landmarks.values()))
    expected[landmarks] = np.maximum(expected[landmarks], 2)
    person, _ = draw.repeated(draw.counts(rng, expected))
    yield named(rng, model.people.country[person], model.people.gender[person] == 1) | {
        "person_id": draw.integers(person + 1)
    }


def name(model: Model) -> Iterator[Piece]:
    rng = draw.generator("name")
    gender = model.people.gender
    # Half of those whose gender isn't known have a woman's first name.
    is_woman = (gender == 1) | ((gender == 2) & (rng.random(len(gender)) < 0.4))
    places = list(model.people.landmarks.items())
    yield named(rng, model.people.country, is_woman, dict(places)) | {"gender": draw.take(GENDERS, gender)}


def named(
    rng: np.random.Generator, country: np.ndarray, is_woman: np.ndarray, fixed: dict[str, int] | None = None
) -> Piece:
    """Names and their sound codes; a code that is the same as one before it is NULL."""
    rows = len(country)
    inverted, spoken, surname = people.full_names(rng, country, is_woman)
    for text, place in sorted((fixed or {}).items(), key=lambda entry: entry[1]):
        is_it = np.zeros(rows, bool)
        is_it[place] = True
        last, _, first = text.partition(", ")
        inverted = pc.replace_with_mask(inverted, pa.array(is_it), pa.array([text]))
        spoken = pc.replace_with_mask(spoken, pa.array(is_it), pa.array([f"{first} {last}"]))
        surname = pc.replace_with_mask(surname, pa.array(is_it), pa.array([last]))
    whole, normal, last = (draw.sound_codes(text) for text in (inverted, spoken, surname))
    same_normal = pc.fill_null(pc.equal(whole, normal), True)
    same_last = pc.fill_null(pc.equal(whole, last), True)
    missing = pa.scalar(None, pa.string())
    return {
        "name": inverted,
        "imdb_index": draw.take(people.INDEXES, draw.choose(rng, people.INDEX_WEIGHTS, rows)),
        "name_pcode_cf": whole,
        "name_pcode_nf": pc.if_else(same_normal, missing, normal),
        "surname_pcode": pc.if_else(same_last, missing, last),
        "md5sum": draw.checksums(rng, rows),
    }
