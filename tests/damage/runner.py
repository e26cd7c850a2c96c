"""Runs programs and says what they used.

    python -I runner.py

Each line on standard input is a JSON list: seconds, file for standard output, file for standard error, and the words of
the command. The answer is a line, too: exit status (negative: the signal), whether time ran out, seconds, and the most
bytes that were resident at once.

A process apart, as the peak of a child begins with that of the process that it was forked from, and pyarrow is large.
"""

import json
import os
import subprocess
import sys
import threading
import time


def main() -> None:
    for line in sys.stdin:
        seconds, output, errors, *command = json.loads(line)
        print(json.dumps(run(seconds, output, errors, command)), flush=True)


def run(seconds: float, output: str, errors: str, command: list[str]) -> list[float]:
    started = time.monotonic()
    with open(output, "wb") as stdout, open(errors, "wb") as stderr:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
    ran_out = threading.Event()
    timer = threading.Timer(seconds, lambda: (ran_out.set(), child.kill()))
    timer.start()
    _, status, usage = os.wait4(child.pid, 0)
    timer.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    return [child.returncode, ran_out.is_set(), time.monotonic() - started, usage.ru_maxrss * 1024]


if __name__ == "__main__":
    main()
