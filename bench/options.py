"""What the programs of this folder have in common on the command line."""

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHELL = ROOT / "target/release/godwit"
RESULTS = ROOT / "bench/results"

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def parse_size(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text)
    if not match or match[2].upper() not in UNITS:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 2GB")
    return int(float(match[1]) * UNITS[match[2].upper()])
