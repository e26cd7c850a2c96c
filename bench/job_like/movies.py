"""What is known of titles: movie_info, movie_info_idx, movie_keyword, movie_companies, movie_link, complete_cast.

Popular titles have long chains in all of these at once. Rows come by kind of information and then by title, as the
original's files do.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from job_like import draw
from job_like.files import Piece
from job_like.landmarks import LANDMARKS
from job_like.model import Model
from job_like.titles import EPISODE, GENRE_NAMES, MOVIE, UNKNOWN_YEAR
from job_like.vocabulary import (
    CAST_TYPES,
    CERTIFICATES,
    COMPANY_TYPES,
    COUNTRIES,
    INFO_TYPES,
    KEYWORDS,
    LINKS,
    LOCATIONS,
    MEDIA,
    MONTHS,
    OBJECTS,
    PHRASES,
    PRODUCTION_NOTES,
    RARE_KEYWORDS,
    RATED,
    RELEASE_NOTES,
    SOUND_MIXES,
    TECHNOLOGIES,
    VERBS,
)

NAMES = [country.name for country in COUNTRIES]
LANGUAGES = [country.language for country in COUNTRIES]
DAYS = ["", *(f"{day} " for day in range(1, 29))]
HAS_KEYWORDS_SHARE, KEYWORDS_MAX = 0.2, 500
HAS_COMPANIES_SHARE, COMPANIES_MAX = 0.45, 400
# Ranks that a table of the best and one of the worst have.
TOP_RANKS, BOTTOM_RANKS = 250, 10
# By part of a franchise, the first of which is no sequel.
PART_KEYWORDS = ["", "second-part", "third-part", "fourth-part", "fourth-part"]


def info_type(name: str) -> int:
    return INFO_TYPES.index(name) + 1


class Rows(NamedTuple):
    """Rows of one info type: which title each is of, and which of that title's rows it is."""

    rng: np.random.Generator
    model: Model
    movie: np.ndarray
    place: np.ndarray

    @property
    def count(self) -> int:
        return len(self.movie)

    def of_title(self, column: np.ndarray) -> np.ndarray:
        return column[self.movie]

    def countries(self) -> np.ndarray:
        """A title's own country first, then such as release many titles."""
        others = draw.choose(self.rng, (country.weight**0.7 for country in COUNTRIES), self.count)
        return np.where(self.place == 0, self.of_title(self.model.titles.country), others)

    def years(self) -> np.ndarray:
        """A title's year, sometimes one of the next."""
        later = self.rng.integers(0, 10, self.count)
        return self.of_title(self.model.titles.known_year()) + np.where(later > 7, later - 7, 0)


# What `info` and `note` are.
Maker = Callable[[Rows], tuple[pa.Array, pa.Array | None]]


def ranked(values: list[str]) -> Maker:
    return lambda rows: (draw.pick_ranked(rows.rng, values, rows.count), None)


def sentences(rows: Rows) -> tuple[pa.Array, None]:
    return long_texts(rows.rng, rows.count), None


def long_texts(rng: np.random.Generator, count: int) -> pa.Array:
    """One to three sentences."""

    def sentence(empty_share: float) -> list[pa.Array | str]:
        is_empty = rng.random(count) < empty_share
        pools = (
            [*(f"{phrase[0].upper()}{phrase[1:]} " for phrase in PHRASES)],
            [f"{verb} " for verb in VERBS],
            [f"{end} " for end in OBJECTS],
        )
        places = (np.where(is_empty, 0, rng.integers(1, len(pool) + 1, count)) for pool in pools)
        return [draw.take_all(["", *pool], place) for pool, place in zip(pools, places, strict=True)]

    return draw.join(*sentence(0), *sentence(0.4), *sentence(0.6), "(", draw.digits(rng.integers(1, 10**5, count)), ")")


def genres(rows: Rows) -> tuple[pa.Array, None]:
    titles = rows.model.titles
    own = np.where(rows.place == 0, rows.of_title(titles.genre), rows.of_title(titles.second_genre))
    other = (own + rows.place * 5) % len(GENRE_NAMES)
    return draw.take(GENRE_NAMES, np.where(rows.place < 2, own, other)), None


def release_dates(rows: Rows) -> tuple[pa.Array, pa.Array]:
    day = np.where(rows.rng.random(rows.count) < 0.15, 0, rows.rng.integers(1, len(DAYS), rows.count))
    info = draw.join(
        draw.take(NAMES, rows.countries()),
        ":",
        draw.take_all(DAYS, day),
        draw.take(MONTHS, rows.rng.integers(0, 12, rows.count)),
        " ",
        draw.digits(rows.years()),
    )
    return info, draw.pick(rows.rng, RELEASE_NOTES, rows.count)


def runtimes(rows: Rows) -> tuple[pa.Array, None]:
    is_long = rows.of_title(rows.model.titles.kind) == MOVIE
    minutes = np.where(is_long, rows.rng.integers(60, 150, rows.count), rows.rng.integers(5, 61, rows.count))
    countries = [f"{name}:" for name in NAMES]
    where = np.where(rows.place == 0, 0, rows.countries() + 1)
    return draw.join(draw.take_all(["", *countries], where), draw.digits(minutes)), None


def colors(rows: Rows) -> tuple[pa.Array, None]:
    colored = rows.rng.random(rows.count) < (rows.years() - 1920) / 50
    return draw.take(["Black and White", "Color"], colored.astype(np.int64)), None


def money(prefix: str, most: float) -> Maker:
    def make(rows: Rows) -> tuple[pa.Array, None]:
        thousands = (rows.rng.random(rows.count) ** 3 * most).astype(np.int64) + 1
        rest = draw.take_all([",000", ",500", ",250", ",123"], rows.rng.integers(0, 4, rows.count))
        hundreds = draw.digits(rows.rng.integers(100, 1000, rows.count))
        return draw.join(prefix, draw.digits(thousands), ",", hundreds, rest), None

    return make


def periods(rows: Rows) -> tuple[pa.Array, None]:
    month = draw.take(MONTHS, rows.rng.integers(0, 12, rows.count))
    end = draw.take(MONTHS, rows.rng.integers(0, 12, rows.count))
    year = rows.years()
    return draw.join(month, " ", draw.digits(year - 1), " - ", end, " ", draw.digits(year)), None


def laserdisc(rows: Rows) -> tuple[pa.Array, None]:
    return draw.digits(rows.rng.integers(1, 200, rows.count)), None


class Info(NamedTuple):
    """How many rows an info type has and who has them."""

    # Rows of a title, on average.
    mean: float
    # How far they go along with popularity: 0 not at all, 1 in proportion.
    exponent: float
    # Rows of one title.
    most: int
    make: Maker


MOVIE_INFO = {
    "runtimes": Info(0.50, 0.25, 6, runtimes),
    "color info": Info(0.46, 0.2, 2, colors),
    "genres": Info(0.62, 0.25, 5, genres),
    "languages": Info(0.54, 0.25, 5, lambda rows: (draw.take(LANGUAGES, rows.countries()), None)),
    "certificates": Info(0.40, 0.6, 60, ranked(CERTIFICATES)),
    "sound mix": Info(0.19, 0.4, 6, ranked(SOUND_MIXES)),
    "tech info": Info(0.60, 0.5, 40, ranked(TECHNOLOGIES)),
    "countries": Info(0.56, 0.25, 5, lambda rows: (draw.take(NAMES, rows.countries()), None)),
    "taglines": Info(0.10, 0.6, 30, sentences),
    "alternate versions": Info(0.02, 0.7, 40, sentences),
    "crazy credits": Info(0.02, 0.7, 40, sentences),
    "goofs": Info(0.09, 0.85, 300, sentences),
    "soundtrack": Info(0.28, 0.7, 200, sentences),
    "quotes": Info(0.33, 0.85, 400, sentences),
    "release dates": Info(1.20, 0.5, 120, release_dates),
    "trivia": Info(0.31, 0.85, 400, sentences),
    "locations": Info(0.30, 0.5, 60, ranked(LOCATIONS)),
    "LD catalog number": Info(0.06, 0.6, 20, laserdisc),
    "mpaa": Info(0.006, 0.8, 1, ranked(RATED)),
    "plot": Info(0.22, 0.4, 6, sentences),
    "production dates": Info(0.006, 0.6, 2, periods),
    "copyright holder": Info(0.02, 0.4, 2, sentences),
    "filming dates": Info(0.03, 0.4, 3, periods),
    "budget": Info(0.065, 0.5, 2, money("$", 200)),
    "weekend gross": Info(0.02, 1.0, 80, money("USA: $", 90)),
    "gross": Info(0.05, 1.0, 80, money("USA: $", 400)),
    "opening weekend": Info(0.01, 0.8, 4, money("USA: $", 90)),
    "rentals": Info(0.002, 0.8, 2, money("$", 90)),
    "admissions": Info(0.01, 0.8, 20, money("", 30)),
    "studios": Info(0.001, 0.3, 2, sentences),
}
ALL_INFO_MEAN = sum(info.mean for info in MOVIE_INFO.values())


def movie_info(model: Model) -> Iterator[Piece]:
    rng = draw.generator("movie_info")
    titles = model.titles
    for name, info in MOVIE_INFO.items():
        total = model.rows("movie_info") * info.mean / ALL_INFO_MEAN
        numbers = draw.counts(rng, draw.spread(total, titles.popularity, info.exponent, info.most))
        for first, last in draw.pieces(numbers):
            movie, place = draw.repeated(numbers[first:last])
            texts, notes = info.make(Rows(rng, model, movie + first, place))
            yield info_rows(movie + first, info_type(name), texts, notes)
    yield landmark_info(model)


def info_rows(movie: np.ndarray, kind: int, info: pa.Array, note: pa.Array | None) -> Piece:
    kinds = draw.integers(np.full(len(movie), kind))
    return {"movie_id": draw.integers(movie + 1), "info_type_id": kinds, "info": info, "note": note}


def landmark_info(model: Model) -> Piece:
    """Release dates, genres, countries, languages and budgets."""
    rows = []
    for movie, landmark in zip(model.titles.landmarks, LANDMARKS, strict=True):
        texts = [("release dates", *release.partition("|")[::2]) for release in landmark.releases]
        texts += [("genres", genre, "") for genre in landmark.genres.split()]
        country = COUNTRIES[model.titles.country[movie]]
        texts += [("countries", country.name, ""), ("languages", country.language, ""), ("budget", "$20,000,000", "")]
        texts += [("countries", "USA", ""), ("languages", "English", "")] if country.name != "USA" else []
        rows += [(int(movie) + 1, info_type(name), info, note) for name, info, note in texts]
    movies, kinds, infos, notes = zip(*rows, strict=True)
    return {"movie_id": list(movies), "info_type_id": list(kinds), "info": list(infos), "note": list(notes)}


def movie_info_idx(model: Model) -> Iterator[Piece]:
    """Votes and their distribution, ratings, and the ranks of the best and the worst."""
    rng = draw.generator("movie_info_idx")
    titles = model.titles
    rated = np.flatnonzero(titles.rating)
    marks = np.array([".", "0", "1", "2", "3", "4"])
    characters = [draw.take(marks.tolist(), rng.integers(0, len(marks), len(rated))) for _ in range(10)]
    votes = (5 + titles.popularity[rated] ** 1.1 * 40 * (1 + rng.random(len(rated)))).astype(np.int64)
    rating = titles.rating[rated]
    texts = draw.join(draw.digits(rating // 10), ".", draw.digits(rating % 10))
    yield info_rows(rated, info_type("votes distribution"), draw.join(*characters), None)
    yield info_rows(rated, info_type("votes"), draw.digits(votes), None)
    yield info_rows(rated, info_type("rating"), texts, None)

    bottoms = {landmark.bottom_rank: place for landmark, place in zip(LANDMARKS, titles.landmarks, strict=True)}
    is_movie = (titles.kind[rated] == MOVIE) & (titles.year[rated] != UNKNOWN_YEAR)
    # A hundredth of the best score is worth as much as doubling the votes.
    order = rated[is_movie][np.argsort(-(rating + 4 * np.log2(votes))[is_movie], kind="stable")]
    top = order[: min(TOP_RANKS, len(order) // 4)]
    known = order[: max(len(order) // 20, BOTTOM_RANKS)]
    worst = [int(place) for place in known[np.argsort(titles.rating[known], kind="stable")]]
    worst = [place for place in worst if place not in bottoms.values()][:BOTTOM_RANKS]
    bottom = np.array([bottoms.get(rank, worst[rank - 1]) for rank in range(1, BOTTOM_RANKS + 1)])
    for name, places in (("top 250 rank", top), ("bottom 10 rank", bottom)):
        yield info_rows(places, info_type(name), draw.digits(np.arange(1, len(places) + 1)), None)


def movie_keyword(model: Model) -> Iterator[Piece]:
    """A third from the lists of a title's genres, one in twelve from the list of all genres, others from all words."""
    rng = draw.generator("movie_keyword")
    titles = model.titles
    numbered = {keyword: number for number, keyword in enumerate(model.keywords)}
    any_genre, other, pools = len(GENRE_NAMES), len(GENRE_NAMES) + 1, []
    for genre in GENRE_NAMES:
        pools.append([numbered[keyword] for keyword in KEYWORDS.get(genre, "").split()])
    pools.append([numbered[keyword] for keyword in KEYWORDS[""].split()])
    named = {keyword for pool in pools for keyword in pool} | {numbered[keyword] for keyword in RARE_KEYWORDS}
    pools.append([number for number in range(len(model.keywords)) if number not in named])
    stratum = np.repeat(np.arange(len(pools)), [len(pool) for pool in pools])
    weights = np.concatenate([draw.zipf(len(pool), 0.6) for pool in pools])
    member = np.array([keyword for pool in pools for keyword in pool])
    strata = draw.Strata(stratum, weights, len(pools))

    weights = titles.popularity * draw.noticed(rng, titles.popularity, HAS_KEYWORDS_SHARE)
    numbers = draw.counts(rng, draw.spread(model.rows("movie_keyword") * 1.1, weights, 0.6, KEYWORDS_MAX))
    for first, last in draw.pieces(numbers):
        movie = np.repeat(np.arange(first, last), numbers[first:last])
        which = rng.integers(0, 12, len(movie))
        genre = np.where(which < 3, titles.genre[movie], titles.second_genre[movie])
        pool = np.select([which < 4, which == 4], [genre, any_genre], other)
        # A genre without a list.
        pool = np.where(strata.bounds[pool] == strata.bounds[pool + 1], other, pool)
        keyword = member[strata.draw(rng, pool, len(movie))]
        part = np.flatnonzero(titles.part[first:last]) + first
        parts = np.array([numbered.get(name, -1) for name in PART_KEYWORDS])[titles.part[part]]
        sequel = np.full(len(part), numbered["sequel"])
        extra = landmark_keywords(model, numbered, first, last)
        movie = np.concatenate([movie, part, part, [place for place, _ in extra]]).astype(np.int64)
        keyword = np.concatenate([keyword, parts, sequel, [number for _, number in extra]]).astype(np.int64)
        # A title has a keyword once.
        pairs = np.unique(movie * len(model.keywords) + keyword)
        movie, keyword = np.divmod(pairs, len(model.keywords))
        yield {"movie_id": draw.integers(movie + 1), "keyword_id": draw.integers(keyword + 1)}


def landmark_keywords(model: Model, numbered: dict[str, int], first: int, last: int) -> list[tuple[int, int]]:
    pairs = zip(model.titles.landmarks, LANDMARKS, strict=True)
    return [
        (int(movie), numbered[keyword])
        for movie, landmark in pairs
        if first <= movie < last
        for keyword in landmark.keywords.split()
    ]


def movie_companies(model: Model) -> Iterator[Piece]:
    """Producers, whose notes are few, and distributors, whose notes say when, where and on what."""
    rng = draw.generator("movie_companies")
    titles, companies = model.titles, model.companies
    strata = draw.Strata(companies.country, companies.weight, len(COUNTRIES))
    weights = titles.popularity * draw.noticed(rng, titles.popularity, HAS_COMPANIES_SHARE)
    expected = draw.spread(model.rows("movie_companies"), weights, 0.5, COMPANIES_MAX)
    movie, place = draw.repeated(draw.counts(rng, expected))
    for start in range(0, len(movie), draw.PIECE_ROWS):
        rows = Rows(rng, model, movie[start : start + draw.PIECE_ROWS], place[start : start + draw.PIECE_ROWS])
        is_producer = rng.random(rows.count) < np.where(rows.place < 2, 0.7, 0.3)
        foreign = rng.random(rows.count) < np.where(is_producer, 0.15, 0.5)
        country = np.where(
            foreign,
            draw.choose(rng, (entry.weight for entry in COUNTRIES), rows.count),
            rows.of_title(titles.country),
        )
        company = strata.draw(rng, country, rows.count)
        where = np.where(rng.random(rows.count) < 0.12, len(NAMES), country)
        released = draw.join(
            "(",
            draw.digits(rows.years()),
            ") (",
            draw.take_all([*NAMES, "worldwide"], where),
            ") ",
            draw.pick(rng, MEDIA, rows.count),
        )
        produced = draw.pick(rng, PRODUCTION_NOTES, rows.count)
        # One in a hundred producers also releases; one in six distributors has no note.
        as_distributor = np.where(is_producer, rng.random(rows.count) < 0.01, rng.random(rows.count) < 0.83)
        note = pc.if_else(pa.array(is_producer), produced, pa.scalar(None, pa.string()))
        note = pc.if_else(pa.array(as_distributor), released, note)
        kind = np.where(is_producer, COMPANY_TYPES.index("production companies"), COMPANY_TYPES.index("distributors"))
        yield {
            "movie_id": draw.integers(rows.movie + 1),
            "company_id": draw.integers(company + 1),
            "company_type_id": draw.integers(kind + 1),
            "note": note,
        }
    planted = [
        (int(movie) + 1, companies.landmarks[company.name, company.country] + 1, company)
        for movie, landmark in zip(titles.landmarks, LANDMARKS, strict=True)
        for company in landmark.companies
    ]
    yield {
        "movie_id": [movie for movie, _, _ in planted],
        "company_id": [company for _, company, _ in planted],
        "company_type_id": [COMPANY_TYPES.index(company.type) + 1 for _, _, company in planted],
        "note": [company.note for _, _, company in planted],
    }


def movie_link(model: Model) -> Iterator[Piece]:
    """Franchises and landmarks, then whatever popular titles refer to."""
    rng = draw.generator("movie_link")
    titles = model.titles
    follows, followed = LINKS.index("follows"), LINKS.index("followed by")
    pairs = [
        pair
        for before, place, landmark in zip(titles.landmarks, titles.landmarks[1:], LANDMARKS[1:], strict=False)
        if landmark.link
        for pair in ((place, before, LINKS.index(landmark.link)), (before, place, LINKS.index(landmark.link_back)))
    ]
    later = np.flatnonzero(titles.previous >= 0)
    # Half of all links at the most, those of the most popular.
    most = model.rows("movie_link") // 4
    later = np.sort(later[np.argsort(-titles.popularity[later], kind="stable")][:most])
    others = max(model.rows("movie_link") - 2 * len(later) - len(pairs), 0)
    weights = np.where(titles.kind == EPISODE, 0.2, 1) * titles.popularity
    strata = draw.Strata(np.zeros(titles.rows, np.int64), weights, 1)
    from_title, to_title = np.sort(strata.draw_any(rng, others)), strata.draw_any(rng, others)
    shares = [3, 3, 2, 2, 25, 25, 8, 8, 9, 9, 2, 2, 2, 2, 1, 1, 1, 1]
    kinds = draw.choose(rng, shares, others)
    previous = titles.previous[later]
    planted = np.array(pairs).T
    yield {
        "movie_id": draw.integers(np.concatenate([later, previous, planted[0], from_title]) + 1),
        "linked_movie_id": draw.integers(np.concatenate([previous, later, planted[1], to_title]) + 1),
        "link_type_id": draw.integers(
            np.concatenate([np.full(len(later), follows), np.full(len(later), followed), planted[2], kinds]) + 1
        ),
    }


def complete_cast(model: Model) -> Iterator[Piece]:
    """Landmarks' casts are verified and their crews complete; others as popularity has it."""
    rng = draw.generator("complete_cast")
    titles = model.titles
    weights = np.where(titles.kind == EPISODE, 0.3, 1) * titles.popularity
    expected = draw.spread(model.rows("complete_cast"), weights, 0.4, 2)
    expected[titles.landmarks] = 0
    movie, place = draw.repeated(draw.counts(rng, expected))
    subject = (place + (rng.random(len(movie)) < 0.3)) % 2
    complete, verified = CAST_TYPES.index("complete"), CAST_TYPES.index("complete+verified")
    status = np.where(rng.random(len(movie)) < 0.75, verified, complete)
    planted = [(subject, status) for subject in ("cast", "crew") for status in ("complete+verified", "complete")]
    of_landmarks = np.repeat(titles.landmarks, len(planted))
    subjects = np.tile([CAST_TYPES.index(subject) for subject, _ in planted], len(titles.landmarks))
    statuses = np.tile([CAST_TYPES.index(status) for _, status in planted], len(titles.landmarks))
    yield {
        "movie_id": draw.integers(np.concatenate([movie, of_landmarks]) + 1),
        "subject_id": draw.integers(np.concatenate([subject, subjects]) + 1),
        "status_id": draw.integers(np.concatenate([status, statuses]) + 1),
    }

