"""What the programs of this folder have in common on the command line."""

import argparse
import os
import platform
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from resident import machine_bytes

ROOT = Path(__file__).parent.parent
SHELL = ROOT / "target/release/godwit"
RESULTS = ROOT / "bench/results"
# Where `godwit demo` keeps its files, too.
DATA = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "godwit"
# The smallest limit for two threads.
SMALLEST_MEMORY_LIMIT = "96MiB"

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def parse_size(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text)
    if not match or match[2].upper() not in UNITS:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 2GB")
    return int(float(match[1]) * UNITS[match[2].upper()])


def list_of(known: dict[str, Any], what: str) -> Callable[[str], list[str]]:
    """A parser for names with commas between them."""

    def parse(text: str) -> list[str]:
        unknown = [name for name in text.split(",") if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"there is no {what} {unknown[0]}; there are {', '.join(known)}")
        return text.split(",")

    return parse


def add_common(parser: argparse.ArgumentParser) -> None:
    """The options that all programs have."""
    parser.add_argument("--scale", type=float, help="amount of data; what it counts depends on the suite")
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder where data is kept between runs [{DATA}]")
    parser.add_argument("--threads", type=int, default=2, help="for every engine [2]")
    parser.add_argument("--timeout", type=float, default=300, help="seconds that one run of a query may take [300]")
    parser.add_argument("--godwit", type=Path, default=SHELL, help="the shell to measure")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for JSON and plots")
    parser.add_argument("--smoke", action="store_true", help="tiny data, one run: to see that everything works")


def circumstances(arguments: argparse.Namespace) -> dict[str, Any]:
    """What a report says about how it came about."""
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "threads": arguments.threads,
        "timeout_seconds": arguments.timeout,
        "machine": {
            "cores": os.cpu_count(),
            "processor": processor(),
            "memory_bytes": machine_bytes(),
            "system": platform.release(),
        },
    }


def processor() -> str:
    """The processor's name as Linux tells it."""
    try:
        names = re.findall(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        names = []
    return names[0] if names else platform.processor()
