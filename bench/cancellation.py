"""How long functions of one huge value go on after a statement is cancelled.

    python bench/cancellation.py --functions upper,list_sort

Each statement runs to its end once, then is interrupted at several moments of that time, in processes of their own, as by
Ctrl-C. Prints the longest time from an interrupt to the end of the process, which includes giving memory back: a tenth of
a second for a gigabyte. Fails if one takes longer than `--most`.
"""

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path

from options import SHELL

TEXT = "(SELECT repeat('Godwit und Uferschnepfe, ', {mb} * 40000 + range) AS t FROM range(1))"
UMLAUTS = "(SELECT repeat('Größe ändert sich Ende! ', {mb} * 36000 + range) AS t FROM range(1))"
DIGITS = "(SELECT repeat('0123456789abcdef', {mb} * 62500 + range) AS t FROM range(1))"
JSON = "(SELECT '[' || repeat('{{\"a\": [1, 2.5, \"text\"]}}, ', {mb} * 40000 + range) || '1]' AS t FROM range(1))"
LIST = "(SELECT list_transform(range({mb} * 125000 + range), x -> x * 7919 % 1000003) AS l FROM range(1))"
TEXTS = "(SELECT list_transform(range({mb} * 20000 + range), x -> 'text ' || x * 7919 % 1000003) AS l FROM range(1))"

# What is computed, its source, and the size of the value in MB.
FUNCTIONS: dict[str, tuple[str, str, int]] = {
    "upper": ("length(upper(t))", TEXT, 600),
    "lower of umlauts": ("length(lower(t))", UMLAUTS, 300),
    "initcap": ("length(initcap(t))", TEXT, 300),
    "reverse": ("length(reverse(t))", UMLAUTS, 300),
    "replace": ("length(replace(t, 'und', 'oder'))", TEXT, 300),
    "translate": ("length(translate(t, 'aeiou', 'uoiea'))", TEXT, 300),
    "strpos": ("strpos(t, 'Limosa')", TEXT, 900),
    "contains": ("contains(t, 'Limosa')", TEXT, 900),
    "like": ("t LIKE '%Lim%osa%'", TEXT, 900),
    "like of many parts": ("t LIKE '%G_dwit%Lim_sa%'", TEXT, 300),
    "ilike": ("t ILIKE '%limosa%'", TEXT, 300),
    "length": ("length(t)", UMLAUTS, 900),
    "substring": ("length(substring(t, 200000000, 10))", UMLAUTS, 500),
    "split_part": ("split_part(t, ',', 20000000)", TEXT, 500),
    "string_split": ("len(string_split(t, ' '))", TEXT, 100),
    "regexp_matches": ("regexp_matches(t, 'Lim.*osa')", TEXT, 900),
    "regexp_matches of classes": ("regexp_matches(t, '[a-z]+[0-9]')", TEXT, 300),
    "regexp_replace": ("length(regexp_replace(t, '[aeiou]+', '_', 'g'))", TEXT, 100),
    "regexp_extract_all": ("len(regexp_extract_all(t, '[a-z]+'))", TEXT, 50),
    "regexp_count": ("regexp_count(t, '[a-z]+')", TEXT, 100),
    "sha512": ("sha512(t)", TEXT, 900),
    "md5": ("md5(t)", TEXT, 900),
    "crc32": ("crc32(t)", TEXT, 900),
    "hash": ("hash(t)", TEXT, 900),
    "hex": ("length(hex(t))", TEXT, 300),
    "unhex": ("octet_length(unhex(t))", DIGITS, 300),
    "to_base64": ("length(to_base64(encode(t)))", DIGITS, 500),
    "from_base64": ("octet_length(from_base64(t))", DIGITS, 500),
    "url_encode": ("length(url_encode(t))", TEXT, 200),
    "normalize": ("length(normalize(t, 'NFD'))", UMLAUTS, 100),
    "strip_accents": ("length(strip_accents(t))", UMLAUTS, 100),
    "lpad": ("length(lpad('x', octet_length(t), 'é'))", TEXT, 400),
    "repeat": ("length(repeat('é', octet_length(t)))", TEXT, 400),
    "quote_literal": ("length(quote_literal(replace(t, 'e', '''')))", TEXT, 200),
    "levenshtein": ("levenshtein(left(t, 60000), reverse(left(t, 60000)))", TEXT, 2),
    "jaro_similarity": ("jaro_similarity(left(t, 60000), repeat('x', 60000))", TEXT, 2),
    "hamming": ("hamming(t, t)", UMLAUTS, 300),
    "jaccard": ("jaccard(t, t)", UMLAUTS, 100),
    "to_char": ("length(to_char(DATE '2024-02-29', replace(t, 'und', 'YYYY')))", TEXT, 50),
    "strftime": ("length(strftime(DATE '2024-02-29', replace(t, 'und', '%Y')))", TEXT, 200),
    "printf": ("length(printf(replace(t, 'und', '%1$d'), 42))", TEXT, 100),
    "format": ("length(format(replace(t, 'und', '{0}'), 42))", TEXT, 100),
    "json_valid": ("json_valid(t)", JSON, 500),
    "json": ("length(json(t))", JSON, 200),
    "json_pretty": ("length(json_pretty(t))", JSON, 100),
    "json_structure": ("json_structure(t)", JSON, 100),
    "json_array_length": ("json_array_length(t)", JSON, 200),
    "json_extract": ("json_extract(t, '$[8000000]')", JSON, 300),
    "json_strip_nulls": ("length(json_strip_nulls(t))", JSON, 100),
    "json_contains": ("json_contains(t, '{\"a\": [7]}')", JSON, 50),
    "text to JSON": ("length(t::JSON)", JSON, 300),
    "JSON to structs": ("len(json_transform(t, '[{\"a\": [\"VARCHAR\"]}]'))", JSON, 30),
    "text to a list": ("len(replace(replace(t, '{\"a\": ', ''), '}', '')::VARCHAR[])", JSON, 30),
    "list to a text": ("length(l::VARCHAR)", LIST, 50),
    "list to a list": ("len(l::VARCHAR[])", LIST, 50),
    "list_sort": ("list_sort(l)[1]", LIST, 100),
    "list_sort of texts": ("list_sort(l)[1]", TEXTS, 100),
    "list_reverse_sort": ("list_reverse_sort(l)[1]", LIST, 100),
    "list_distinct": ("len(list_distinct(l))", LIST, 100),
    "list_distinct of texts": ("len(list_distinct(l))", TEXTS, 100),
    "list_intersect": ("len(list_intersect(l, l))", LIST, 50),
    "list_has_all": ("list_has_all(l, l)", LIST, 50),
    "list_median": ("list_median(l)", LIST, 100),
    "list_mode": ("list_mode(l)", LIST, 100),
    "list_histogram": ("list_histogram(l)[3]", LIST, 50),
    "list_sum": ("list_sum(l)", LIST, 200),
    "list_stddev_samp": ("list_stddev_samp(l)", LIST, 200),
    "list_position": ("list_position(l, -1)", LIST, 200),
    "list_positions": ("len(list_positions(l, 5))", LIST, 100),
    "list_reverse": ("len(list_reverse(l))", LIST, 200),
    "list_reduce": ("list_reduce(l, (a, x) -> a + x)", LIST, 10),
    "list_filter": ("len(list_filter(l, x -> x % 2 = 0))", LIST, 100),
    "array_to_string": ("length(array_to_string(l, ','))", LIST, 100),
    "list_inner_product": ("list_inner_product(l, l)", LIST, 200),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--godwit", type=Path, default=SHELL, help="the shell to measure")
    parser.add_argument("--functions", type=lambda text: text.split(","), help="some of the names")
    parser.add_argument("--interrupts", type=int, default=6, help="moments at which each is interrupted [6]")
    parser.add_argument("--memory-limit", default="8GB", help="[8GB]")
    parser.add_argument("--most", type=float, default=1.0, help="seconds that an interrupted statement may take [1]")
    arguments = parser.parse_args()
    failures = 0
    print("function\tseconds\tafter an interrupt")
    for name in arguments.functions or FUNCTIONS:
        computed, source, megabytes = FUNCTIONS[name]
        sql = f"SELECT {computed} FROM {source.format(mb=megabytes)}"
        command = [arguments.godwit, "--threads", "1", "--memory-limit", arguments.memory_limit, "-c", sql]
        seconds, _, error = run(command, None)
        if error:
            print(f"{name}\t{error}", flush=True)
            failures += 1
            continue
        moments = [seconds * (at + 0.5) / arguments.interrupts for at in range(arguments.interrupts)]
        longest = max(run(command, moment)[1] for moment in moments)
        print(f"{name}\t{seconds:.2f}\t{longest:.3f}", flush=True)
        failures += longest > arguments.most
    return int(failures > 0)


def run(command: list[str], interrupt_after: float | None) -> tuple[float, float, str]:
    """The seconds that a process takes, those after its interrupt, and its error if nothing interrupted it."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, error = process.communicate(timeout=interrupt_after)
        end = time.monotonic()
        return end - start, 0.0, error.strip().partition("\n")[0]
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        interrupt = time.monotonic()
        process.communicate()
        end = time.monotonic()
        return end - start, end - interrupt, ""


if __name__ == "__main__":
    sys.exit(main())
