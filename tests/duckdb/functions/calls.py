"""Calls of scalar functions, made from the signatures that Godwit tells of itself."""

import itertools
import random
import re
from dataclasses import dataclass, field

from .values import BY_TYPE, FAMILIES, NUMBERS, OF_FAMILY, OF_NUMBER, SERIES, SPECIAL, WRONG, by_kind

# Volatile, or not the same by design: what they give can't be compared.
NOT_COMPARED = {
    "random", "rand", "gen_random_uuid", "uuid", "uuidv4", "uuidv7", "hash", "setseed", "version", "error",
    "now", "current_timestamp", "get_current_timestamp", "transaction_timestamp", "statement_timestamp", "localtimestamp",
    "current_date", "today", "current_time", "get_current_time", "localtime",
}  # fmt: skip
# Made by the binder, of AT TIME ZONE and the like.
INTERNAL = re.compile(r"(try_)?timezone_(add|moment|text|time)|to_local_time")
INFIX = re.compile(r"^(\W+)\(")


@dataclass
class Form:
    """One way to call a function: its name, and the words of its arguments."""

    name: str
    words: list[str]
    family: str
    is_alias: bool
    calls: list["Call"] = field(default_factory=list)

    def __str__(self) -> str:
        of = f" of {self.family}" if any(word in OF_FAMILY | OF_NUMBER for word in self.words) else ""
        return f"{self.name}({', '.join(self.words)}){of}"


@dataclass(frozen=True)
class Call:
    """Arguments of a form; `wrong` ones have types that the form doesn't name."""

    name: str
    arguments: tuple[str, ...]
    wrong: bool = False

    @property
    def sql(self) -> str:
        return call_of(self.name, self.arguments)


def call_of(name: str, arguments: tuple[str, ...] | list[str]) -> str:
    if not name[0].isalpha():
        return f"({' '.join([*arguments[:-1], name, arguments[-1]])})"
    return f"{name}({', '.join(arguments)})"


def forms_of(signature: str, is_alias: bool) -> list[Form]:
    """All numbers of arguments and families of types of a signature."""
    if match := re.fullmatch(r"(\w+) ([^\w\s()]+) (\w+)", signature):
        name, wordings = match[2], [[match[1], match[3]]]
    else:
        name, _, rest = signature.partition("(")
        wordings = wordings_of(rest.removesuffix(")"))
    forms = []
    for words in wordings:
        families = ["INTEGER"]
        if OF_FAMILY & set(words):
            families = FAMILIES
        elif OF_NUMBER & set(words):
            families = NUMBERS
        forms += [Form(name, words, family, is_alias) for family in families[: 2 if is_alias else None]]
    return forms


def wordings_of(text: str) -> list[list[str]]:
    """Words of arguments without and with what stands in square brackets, and with the last ones several times."""
    if optional := re.search(r"\[(, .*)\]$|\[(, [^\[\]]*)\](?=\[)", text):
        inner = optional[1] if optional[1] is not None else optional[2]
        # Two options in a row: the first may come without the second.
        head, tail = text[: optional.start()], text[optional.end() :]
        if optional[1] is not None and (both := re.fullmatch(r"\[(, [^\[\]]*)\]\[(, [^\[\]]*)\]", optional[0])):
            return [w for middle in ("", both[1], both[1] + both[2]) for w in wordings_of(head + middle)]
        return wordings_of(head + tail) + wordings_of(head + inner + tail)
    words = [word.strip() for word in text.split(", ")] if text else []
    if "…" not in words:
        return [words]
    at = words.index("…")
    before, after = words[:at], words[at + 1 :]
    repeated = before[-2:] if before[-2:] == ["key", "value"] else before[-1:]
    once = before[: len(before) - len(repeated)]
    return [once + repeated * times + after for times in (1, 2, 3)]


def choices(form: Form, place: int) -> list[str]:
    """Arguments for a place of a form."""
    found = SPECIAL.get((form.name, place)) or SPECIAL.get((form.name, None))
    word = form.words[place]
    if form.name in ("range", "generate_series") and word in SERIES:
        return [*SERIES[word], "NULL"]
    if found and word not in ("list", "INTERVAL"):
        return [*found, "NULL"]
    if word in ("start", "end") and form.name.startswith("date"):
        types = [BY_TYPE[ty][:7] for ty in ("DATE", "TIMESTAMP")]
        return [*itertools.chain.from_iterable(types), "NULL"]
    if form.name == "concat" and word == "list":
        # NULL without a type is a text there.
        return by_kind(word, form.family)
    if (of_kind := by_kind(word, form.family)) is not None:
        return [*of_kind, "NULL"]
    types = re.split(r", | or ", word)
    values = [value for ty in types for value in BY_TYPE.get(ty, by_kind(ty, form.family) or [])]
    if not values:
        raise KeyError(f"no values for {word!r} of {form}")
    return [*values, "NULL"]


def fill(form: Form, rng: random.Random, most: int, wrong: int) -> None:
    """Gives a form its calls: all combinations of arguments if they are few, else each argument and some combinations."""
    places = [choices(form, place) for place in range(len(form.words))]
    combinations = 1
    for values in places:
        combinations *= len(values)
    if combinations <= most:
        chosen = list(itertools.product(*places))
    else:
        decks = [rng.sample(values, len(values)) for values in places]
        rows = max(most, max(map(len, decks))) if most >= 20 else most
        chosen = [tuple(deck[row % len(deck)] if row < len(deck) else rng.choice(deck) for deck in decks) for row in range(rows)]
    calls = [Call(form.name, arguments) for arguments in dict.fromkeys(chosen)]
    for _ in range(wrong if form.words else 0):
        arguments = list(rng.choice(chosen))
        arguments[rng.randrange(len(arguments))] = rng.choice(WRONG)
        calls.append(Call(form.name, tuple(arguments), wrong=True))
    if wrong:
        # One argument more, and one less, than there may be.
        calls.append(Call(form.name, (*chosen[0], "1"), wrong=True))
        if len(chosen[0]) > 1 and form.name[0].isalpha():
            calls.append(Call(form.name, chosen[0][:-1], wrong=True))
    form.calls = list(dict.fromkeys(calls)) if form.name[0].isalpha() else [call for call in calls if len(call.arguments) == 2]


def forms_of_functions(listed: list[dict[str, str]]) -> list[Form]:
    """The forms of the functions that `godwit_functions()` lists."""
    seen: set[tuple[str, str]] = set()
    forms = []
    for row in sorted(listed, key=lambda row: (row["example"].split("(")[0].lower() != row["name"], row["name"], row["signature"])):
        if row["name"] in NOT_COMPARED or INTERNAL.fullmatch(row["name"]):
            continue
        key = (row["description"], row["signature"].partition("(")[2])
        forms += forms_of(row["signature"], is_alias=key in seen)
        seen.add(key)
    return forms
