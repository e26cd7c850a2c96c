"""Titles: what they are, when and where they were made, how popular they are; everything else depends on these.

Works come first: movies, series and so on. A series is followed by its episodes. Popularity is a power law, times a
factor for the kind, the country and the time, and decides how many rows a title has in every other table. The most
popular works of a country, kind and genre form franchises of up to five parts, whose later parts are called like the
first with a number, have the keyword `sequel`, and are linked to the part before.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from job_like import draw
from job_like.landmarks import LANDMARKS
from job_like.vocabulary import (
    ADJECTIVES,
    COMPANION_GENRES,
    COUNTRIES,
    CULTURES,
    GENRES,
    KINDS,
    NOUNS,
    PLACES,
)

# Shares of works, in the order of KINDS; the rest of all titles are episodes.
WORK_SHARES = [0.68, 0.093, 0.103, 0.107, 0.003, 0.014]
EPISODES_SHARE = 0.615
# How much more popular a kind is than others.
KIND_FACTORS = np.array([2.0, 3.0, 0.7, 0.5, 1.0, 0.6, 0.2])
POPULARITY_SHAPE, POPULARITY_MAX = 0.95, 20_000.0
YEAR_FIRST, YEAR_LAST = 1888, 2017
# Years are so far from 2014, on average.
YEARS_BACK = 19
UNKNOWN_YEARS_SHARE = 0.03
EPISODES_A_SEASON = np.array([6, 8, 10, 13, 13, 22, 24, 52, 130, 260])
FRANCHISES_SHARE = 0.05
FRANCHISE_PARTS_MAX = 5
RATED_SHARE = 0.18
MOVIE, SERIES, EPISODE = (KINDS.index(kind) for kind in ("movie", "tv series", "episode"))
GENRE_NAMES = list(GENRES)
# As numbers, because drawn text can't say when a year isn't known.
UNKNOWN_YEAR = 0
# Beginnings of titles are as many for each culture.
OPENERS = [opener for culture in CULTURES.values() for opener in culture.openers]
OPENERS_EACH = 10
WORDS = [*ADJECTIVES, *NOUNS]
TAILS = [
    "",
    *(f" {noun}" for noun in NOUNS),
    *(f" of {noun}" for noun in NOUNS),
    *(f" and {noun}s" for noun in NOUNS),
    *(f" in {place.replace('~', ' ')}" for place in PLACES),
    *(f" from {place.replace('~', ' ')}" for place in PLACES),
]
SEQUEL_ENDS = ["", " 2", " III", " 4", ": Part V"]


@dataclass
class Titles:
    """Columns by title; a title's id is its place and 1. Countries and genres are places in the vocabulary."""

    kind: np.ndarray
    year: np.ndarray
    country: np.ndarray
    genre: np.ndarray
    second_genre: np.ndarray
    # 1 on average.
    popularity: np.ndarray
    # Places of series, -1 for what isn't an episode.
    series: np.ndarray
    season: np.ndarray
    episode: np.ndarray
    # Of a franchise, from 0 on, and the place of the part before or -1.
    part: np.ndarray
    previous: np.ndarray
    # In tenths, 0 without one.
    rating: np.ndarray
    # By landmark.
    landmarks: np.ndarray

    @property
    def rows(self) -> int:
        return len(self.kind)

    def known_year(self) -> np.ndarray:
        """Some year for each title."""
        return np.where(self.year == UNKNOWN_YEAR, 1990, self.year)


def make(rows: int) -> Titles:
    rng = draw.generator("titles")
    works = round(rows * (1 - EPISODES_SHARE))
    kind = draw.choose(rng, WORK_SHARES, works)
    year = 2014 - rng.exponential(YEARS_BACK, works).astype(np.int64) + rng.integers(-2, 4, works)
    year = np.clip(year, YEAR_FIRST, YEAR_LAST)
    country = draw.choose(rng, (country.weight for country in COUNTRIES), works)
    genre = draw_genres(rng, kind, country)
    popularity = draw.pareto(rng, works, POPULARITY_SHAPE, POPULARITY_MAX) * KIND_FACTORS[kind]
    popularity *= np.where(year >= 1990, 1.5, 1.0) * np.where(country == 0, 1.6, 1.0)

    # Series grow to make place for their episodes.
    episodes = np.zeros(works, np.int64)
    is_series = np.flatnonzero(kind == SERIES)
    longest = draw.pareto(rng, len(is_series), 0.9, 3000)
    episodes[is_series] = draw.counts(rng, draw.spread(rows - works, longest, 1, 4000))
    work, number = draw.repeated(episodes + 1)
    first = np.flatnonzero(number == 0)
    is_episode = number > 0
    a_season = rng.choice(EPISODES_A_SEASON, works)[work]
    season = np.where(is_episode, (number - 1) // a_season + 1, 0)
    series_year = year[work]
    unknown = rng.random(len(work)) < UNKNOWN_YEARS_SHARE
    year = np.where(unknown, UNKNOWN_YEAR, np.minimum(series_year + np.maximum(season - 1, 0), YEAR_LAST))
    own = draw.pareto(rng, len(work), 1.3, 300) * KIND_FACTORS[EPISODE] * np.sqrt(popularity[work])
    titles = Titles(
        kind=np.where(is_episode, EPISODE, kind[work]),
        year=year,
        country=country[work],
        genre=genre[work],
        second_genre=draw_companions(rng, genre[work]),
        popularity=np.where(is_episode, np.minimum(own, popularity[work]), popularity[work]),
        series=np.where(is_episode, first[work], -1),
        season=season,
        episode=np.where(is_episode, (number - 1) % a_season + 1, 0),
        part=np.zeros(len(work), np.int64),
        previous=np.full(len(work), -1),
        rating=np.zeros(len(work), np.int64),
        landmarks=np.zeros(0, np.int64),
    )
    place_landmarks(titles)
    titles.popularity /= titles.popularity.mean()
    form_franchises(rng, titles)
    rate(rng, titles)
    return titles


def draw_genres(rng: np.random.Generator, kind: np.ndarray, country: np.ndarray) -> np.ndarray:
    """First genres: countries and series have their favourites."""
    genre = draw.choose(rng, (share for share, _ in GENRES.values()), len(kind))

    def prefer(where: np.ndarray, share: float, names: list[str]) -> None:
        chosen = where & (rng.random(len(kind)) < share)
        genre[chosen] = rng.choice([GENRE_NAMES.index(name) for name in names], int(chosen.sum()))

    names = [entry.name for entry in COUNTRIES]
    prefer(country == names.index("Japan"), 0.35, ["Animation"])
    prefer(country == names.index("Hong Kong"), 0.4, ["Action", "Crime"])
    prefer(country == names.index("India"), 0.4, ["Romance", "Musical", "Action"])
    prefer((country == names.index("USA")) & (kind == MOVIE), 0.15, ["Action", "Horror", "Thriller", "Sci-Fi"])
    prefer(kind == SERIES, 0.3, ["Comedy", "Talk-Show", "Reality-TV", "Game-Show", "Crime"])
    prefer(kind == KINDS.index("video game"), 0.8, ["Action", "Adventure", "Fantasy", "Sport"])
    return genre


def draw_companions(rng: np.random.Generator, genre: np.ndarray) -> np.ndarray:
    """Second genres: for two of three titles one that goes along with the first."""
    second = draw.choose(rng, (share for share, _ in GENRES.values()), len(genre))
    usual = rng.random(len(genre)) < 0.67
    which = rng.integers(0, 12, len(genre))
    for name, companions in COMPANION_GENRES.items():
        places = np.array([GENRE_NAMES.index(companion) for companion in companions.split()])
        chosen = usual & (genre == GENRE_NAMES.index(name))
        second[chosen] = places[which[chosen] % len(places)]
    return second


def place_landmarks(titles: Titles) -> None:
    """Landmarks take the places of works without episodes, far from each other."""
    has_episodes = np.zeros(titles.rows, bool)
    has_episodes[titles.series[titles.series >= 0]] = True
    free = np.flatnonzero((titles.kind != EPISODE) & ~has_episodes)
    titles.landmarks = free[np.linspace(0, len(free) - 1, len(LANDMARKS)).astype(np.int64)]
    # As popular as the one title in ten thousand.
    popularity = np.quantile(titles.popularity, 0.9999)
    names = [country.name for country in COUNTRIES]
    for place, landmark in zip(titles.landmarks, LANDMARKS, strict=True):
        genres = [GENRE_NAMES.index(genre) for genre in landmark.genres.split()]
        titles.kind[place] = KINDS.index(landmark.kind)
        titles.year[place] = landmark.year
        titles.country[place] = names.index(landmark.country)
        titles.genre[place], titles.second_genre[place] = genres[0], genres[-1]
        titles.popularity[place] = popularity


def form_franchises(rng: np.random.Generator, titles: Titles) -> None:
    is_work = (titles.kind != EPISODE) & (titles.year != UNKNOWN_YEAR)
    is_work[titles.landmarks] = False
    works = np.flatnonzero(is_work)
    known = works[np.argsort(-titles.popularity[works], kind="stable")][: int(len(works) * FRANCHISES_SHARE)]
    alike = (titles.country[known] * len(KINDS) + titles.kind[known]) * len(GENRES) + titles.genre[known]
    known = known[np.argsort(alike, kind="stable")]
    alike = np.sort(alike, kind="stable")
    begins = np.concatenate([[True], alike[1:] != alike[:-1]])
    number = np.arange(len(alike)) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
    franchise = np.cumsum(begins | (number % FRANCHISE_PARTS_MAX == 0))
    order = np.lexsort([titles.year[known], franchise])
    known, franchise = known[order], franchise[order]
    first = np.concatenate([[True], franchise[1:] != franchise[:-1]])
    titles.part[known] = np.arange(len(known)) - np.flatnonzero(first)[np.cumsum(first) - 1]
    titles.previous[known[1:]] = np.where(first[1:], -1, known[:-1])


def rate(rng: np.random.Generator, titles: Titles) -> None:
    """The more popular, the likelier rated, and the better."""
    means = np.array([mean for _, mean in GENRES.values()])
    rated = draw.noticed(rng, titles.popularity, RATED_SHARE)
    rating = means[titles.genre] + rng.normal(0, 1.3, titles.rows) + 0.15 * np.log(titles.popularity)
    titles.rating = np.where(rated, np.clip(np.round(rating * 10), 10, 98).astype(np.int64), 0)
    titles.rating[titles.landmarks] = [landmark.rating for landmark in LANDMARKS]


def texts(rng: np.random.Generator, titles: Titles) -> pa.Array:
    """What titles are called. Parts of a franchise are called like its first."""
    cultures = list(CULTURES)
    culture = np.array([cultures.index(country.culture) for country in COUNTRIES])[titles.country]
    opener = culture * OPENERS_EACH + rng.integers(0, OPENERS_EACH, titles.rows)
    word = rng.integers(0, len(WORDS), titles.rows)
    tail = np.where(rng.random(titles.rows) < 0.25, 0, rng.integers(0, len(TAILS), titles.rows))
    for column in (opener, word, tail):
        for part in range(1, FRANCHISE_PARTS_MAX):
            later = np.flatnonzero(titles.part == part)
            column[later] = column[titles.previous[later]]
    named = draw.join(
        draw.take_all(OPENERS, opener),
        draw.take_all(WORDS, word),
        draw.take_all(TAILS, tail),
        draw.take_all(SEQUEL_ENDS, titles.part),
    )
    numbered = draw.join("(#", draw.digits(titles.season), ".", draw.digits(titles.episode), ")")
    # All episodes of a series are either numbered or named.
    is_numbered = (titles.series >= 0) & (titles.series % 4 == 0)
    named = pc.if_else(pa.array(is_numbered), numbered, named)
    mask = np.zeros(titles.rows, bool)
    mask[titles.landmarks] = True
    return pc.replace_with_mask(named, pa.array(mask), pa.array([landmark.title for landmark in LANDMARKS]))
