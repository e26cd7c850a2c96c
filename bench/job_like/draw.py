"""Seeded draws, as whole arrays."""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relations import fixed_strings

# Changes all data.
SEED = 5
# Drawn at a time where rows are many.
PIECE_ROWS = 2**20
HEXADECIMAL = np.frombuffer(b"0123456789abcdef", np.uint8)
# Of a sound code: its first letter and four digits.
SOUND_CODE_CHARACTERS = 5
# Characters that a sound code looks at.
SOUND_CHARACTERS_MAX = 24


def generator(subject: str) -> np.random.Generator:
    """A generator of its own per table or column, so that one's draws don't depend on another's."""
    return np.random.default_rng([SEED, zlib.crc32(subject.encode())])


def zipf(count: int, exponent: float = 1.0) -> np.ndarray:
    """Weights by rank."""
    return np.arange(1.0, count + 1) ** -exponent


def pareto(rng: np.random.Generator, count: int, shape: float, largest: float) -> np.ndarray:
    """Numbers from 1 on; the smaller the shape, the heavier the tail."""
    return np.minimum((1 - rng.random(count)) ** (-1 / shape), largest)


def choose(rng: np.random.Generator, weights: Iterable[float], rows: int) -> np.ndarray:
    """Places in `weights`, as often as those say."""
    ends = np.cumsum(np.fromiter(weights, np.float64))
    return np.minimum(np.searchsorted(ends, rng.random(rows) * ends[-1], side="right"), len(ends) - 1)


def counts(rng: np.random.Generator, expected: np.ndarray) -> np.ndarray:
    """Whole numbers around what is expected: rounded up as often as the fraction says."""
    return np.floor(expected + rng.random(len(expected))).astype(np.int64)


def spread(total: float, weights: np.ndarray, exponent: float, most: float) -> np.ndarray:
    """`total` shared out by weights to an exponent; nobody gets more than `most`, whatever that makes of the total."""
    shares = weights**exponent
    return np.minimum(shares * (total / shares.sum()), most)


def noticed(rng: np.random.Generator, weights: np.ndarray, share: float) -> np.ndarray:
    """Which ones are, about a share of all: the heavier the likelier, the heaviest for certain."""
    chances = weights**0.6
    factor = share * len(weights) / chances.sum()
    # What is cut off above 1 is shared out again; a few rounds come close enough.
    for _ in range(5):
        factor *= share * len(weights) / np.minimum(chances * factor, 1).sum()
    return rng.random(len(weights)) < chances * factor


def repeated(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For [2, 0, 1]: the places [0, 0, 2], and which repetition each is, [0, 1, 0]."""
    places = np.repeat(np.arange(len(numbers)), numbers)
    return places, np.arange(len(places)) - np.repeat(np.cumsum(numbers) - numbers, numbers)


def pieces(numbers: np.ndarray) -> Iterator[tuple[int, int]]:
    """Ranges of places whose numbers add up to about `PIECE_ROWS`; those without any rows are left out."""
    ends = np.cumsum(numbers)
    first = done = 0
    while first < len(numbers) and done < ends[-1]:
        last = max(int(np.searchsorted(ends, done + PIECE_ROWS)), first + 1)
        last = min(last, len(numbers))
        if ends[last - 1] > done:
            yield first, last
        first, done = last, int(ends[last - 1])


class Strata:
    """Draws by weight within strata: the movies of a country and a time, a country's companies."""

    def __init__(self, strata: np.ndarray, weights: np.ndarray, count: int) -> None:
        self.members = np.argsort(strata, kind="stable")
        self.ends = np.concatenate([[0.0], np.cumsum(weights[self.members])])
        self.bounds = np.searchsorted(strata[self.members], np.arange(count + 1))

    def draw(self, rng: np.random.Generator, strata: np.ndarray | int, rows: int) -> np.ndarray:
        """A member of each stratum, or of all where it has none."""
        first, end = self.bounds[strata], self.bounds[np.asarray(strata) + 1]
        empty = first == end
        first, end = np.where(empty, 0, first), np.where(empty, len(self.members), end)
        low, high = self.ends[first], self.ends[end]
        places = np.searchsorted(self.ends, low + rng.random(rows) * (high - low), side="right") - 1
        return self.members[np.clip(places, first, end - 1)]

    def draw_any(self, rng: np.random.Generator, rows: int) -> np.ndarray:
        places = np.searchsorted(self.ends, rng.random(rows) * self.ends[-1], side="right") - 1
        return self.members[np.minimum(places, len(self.members) - 1)]


# --- strings ---


def take(values: Sequence[str], places: np.ndarray) -> pa.Array:
    """Values by place; NULL for the empty string."""
    dictionary = pa.array([value or None for value in values], pa.string())
    return dictionary.take(pa.array(places))


def take_all(values: Sequence[str], places: np.ndarray) -> pa.Array:
    """Values by place, the empty string, too."""
    return pa.array(values, pa.string()).take(pa.array(places))


def pick(rng: np.random.Generator, weighted: Mapping[str, float], rows: int) -> pa.Array:
    """Values as often as their weights say; NULL for the empty string."""
    return take(list(weighted), choose(rng, weighted.values(), rows))


def pick_ranked(rng: np.random.Generator, values: Sequence[str], rows: int, exponent: float = 0.7) -> pa.Array:
    """Values, the first most often; NULL for the empty string."""
    return take(values, choose(rng, zipf(len(values), exponent), rows))


def digits(numbers: np.ndarray) -> pa.Array:
    return pa.array(numbers.astype(np.int64)).cast(pa.string())


def join(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def integers(numbers: np.ndarray, missing: np.ndarray | None = None) -> pa.Array:
    return pa.array(numbers.astype(np.int32), mask=missing)


def without(strings: pa.Array, missing: np.ndarray) -> pa.Array:
    """NULL where something is missing."""
    return pc.if_else(pa.array(~missing), strings, pa.scalar(None, pa.string()))


def checksums(rng: np.random.Generator, rows: int) -> pa.Array:
    """What stands for an MD5 sum: 32 hexadecimal digits."""
    return fixed_strings(HEXADECIMAL[rng.integers(0, 16, (rows, 32), np.uint8)])


def sound_codes(strings: pa.Array) -> pa.Array:
    """Soundex of five characters over all words, without the zeros at the end: 'Downey' is D5. NULL without letters."""
    classes = np.zeros(256, np.uint8)
    for digit, letters in enumerate(("BFPV", "CGJKQSXZ", "DT", "L", "MN", "R"), 1):
        for letter in letters:
            classes[[ord(letter), ord(letter.lower())]] = digit
    is_letter = np.zeros(256, bool)
    is_letter[[*range(ord("A"), ord("Z") + 1), *range(ord("a"), ord("z") + 1)]] = True

    rows = len(strings)
    offsets = np.frombuffer(strings.buffers()[1], np.int32)[strings.offset : strings.offset + rows + 1]
    data = np.frombuffer(strings.buffers()[2], np.uint8)
    codes = np.zeros((rows, SOUND_CODE_CHARACTERS), np.uint8)
    lengths = np.zeros(rows, np.int64)
    previous = np.zeros(rows, np.uint8)
    for place in range(SOUND_CHARACTERS_MAX):
        at = offsets[:-1] + place
        character = np.where(at < offsets[1:], data[np.minimum(at, len(data) - 1)], 0)
        letter = is_letter[character]
        digit = classes[character]
        first = letter & (lengths == 0)
        further = letter & ~first & (digit != 0) & (digit != previous) & (lengths < SOUND_CODE_CHARACTERS)
        codes[first, 0] = character[first] & 0xDF
        codes[further, lengths[further]] = digit[further] + ord("0")
        lengths += first | further
        previous = np.where(letter, digit, previous)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    characters = codes[np.arange(SOUND_CODE_CHARACTERS) < lengths[:, None]]
    made = pa.StringArray.from_buffers(rows, pa.py_buffer(ends), pa.py_buffer(characters))
    return without(made, lengths == 0)
