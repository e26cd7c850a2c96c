"""Everything that tables are made from, and how many rows they have."""

from dataclasses import dataclass

from job_like import people, titles
from job_like.landmarks import LANDMARKS
from job_like.people import Companies, People
from job_like.titles import Titles
from job_like.vocabulary import ADJECTIVES, KEYWORDS, NOUNS, RARE_KEYWORDS

# Rows of the original's tables, in thousands. Where chains are cut off, tables become a little smaller.
THOUSANDS = {
    "aka_name": 901.3,
    "aka_title": 361.5,
    "cast_info": 36_244.3,
    "char_name": 3_140.3,
    "company_name": 235.0,
    "complete_cast": 135.1,
    "keyword": 134.2,
    "movie_companies": 2_609.1,
    "movie_info": 14_835.7,
    "movie_info_idx": 1_380.0,
    "movie_keyword": 4_523.9,
    "movie_link": 30.0,
    "name": 4_167.5,
    "person_info": 2_963.7,
    "title": 2_528.3,
}
# Of the original's rows, at scale 1.
SHARE = 0.25
JOINERS = ["-", "-of-", "-and-", "-in-", "-versus-"]


@dataclass
class Model:
    """What the tables have in common."""

    scale: float
    titles: Titles
    people: People
    companies: Companies
    keywords: list[str]

    def rows(self, table: str) -> int:
        return table_rows(table, self.scale)


def table_rows(table: str, scale: float) -> int:
    return round(THOUSANDS[table] * 1000 * SHARE * scale)


def make(scale: float) -> Model:
    return Model(
        scale,
        titles.make(table_rows("title", scale)),
        people.make(table_rows("name", scale)),
        people.make_companies(table_rows("company_name", scale)),
        keywords(table_rows("keyword", scale)),
    )


def keywords(rows: int) -> list[str]:
    """Named ones, those of landmarks among them, then pairs of words."""
    texts = [*KEYWORDS.values(), *RARE_KEYWORDS, *(landmark.keywords for landmark in LANDMARKS)]
    named = dict.fromkeys(keyword for text in texts for keyword in text.split())
    words = [word.lower() for word in (*ADJECTIVES, *NOUNS)]
    nouns = [noun.lower() for noun in NOUNS]
    # Neighbours in the list have nothing in common: the second word moves on with the first.
    for joiner in JOINERS:
        for step in range(len(nouns)):
            if len(named) >= rows:
                return list(named)
            for place, word in enumerate(words):
                named[f"{word}{joiner}{nouns[(place + step) % len(nouns)]}"] = None
    return list(named)

