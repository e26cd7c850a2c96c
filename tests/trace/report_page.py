"""Opens the pages that `godwit trace report` writes in a headless Chromium, at two widths, and uses them.

    python tests/trace/report_page.py GODWIT [--pictures FOLDER]

Traces are made here: a query as `synthetic.py` imagines it; one with hostile names and values; one of many structures; one
without samples. Where there is no browser, only the pages are written.
"""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy
from browser import Browser, find_browser
from synthetic import Trace, make

WIDTHS = [1280, 390]
PAGE_BYTES_MAX = 4 << 20
HOSTILE = "</script><script>console.error('run')</script> ' \" \\ {{data}} <!-- \u2028"
# What is wrong with a picture: it has no size, or nothing is drawn on it.
BLANK = """[...document.querySelectorAll('section:not([hidden]) canvas')].filter((canvas) => {
    if (!canvas.width || !canvas.height) return true;
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const pixels = copy.getImageData(0, 0, canvas.width, canvas.height).data;
    return !pixels.some((value, at) => at % 4 === 3 && value > 0);
}).map((canvas) => canvas.parentElement.id)"""
# Buttons, choices and pictures that have no name for a screen reader.
NAMELESS = """[...document.querySelectorAll('button, select, input, canvas')].filter((control) =>
    !(control.getAttribute('aria-label') || control.labels?.length || control.textContent.trim())).length"""
CHOICES = """[...document.querySelectorAll('select')].flatMap((choice) => [...choice.options].slice(0, 8).map((option) => {
    choice.value = option.value;
    choice.dispatchEvent(new Event('change'));
})).length"""


class Checks:
    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0

    def check(self, what: str, found: object, expected: object) -> None:
        if found == expected:
            self.passed += 1
        else:
            self.failed += 1
            print(f"{what}: {found!r}, expected {expected!r}")


def hostile(path: Path) -> None:
    trace = Trace(numpy.random.default_rng(1))
    number = trace.object(HOSTILE, "segment", 8192, table=HOSTILE, column=HOSTILE, first_row=0, rows=1024, entry_bytes=8)
    trace.objects[number]["entries"] = [{"entry": 3, "value": HOSTILE}]
    trace.time = 1_000_000
    rows = numpy.full(50, 3)
    trace.samples(number, 0, rows * 8, rows, 0, trace.time)
    trace.write(path, [HOSTILE])


def many(path: Path) -> None:
    trace = Trace(numpy.random.default_rng(2))
    trace.time = 5_000_000_000
    for column in range(80):
        for segment in range(10):
            number = trace.object(f"big.main.t.c{column}.segment {segment}", "segment", 1 << 20, table="big.main.t", column=f"c{column}",
                                  first_row=segment * 1000, rows=1000)  # fmt: skip
            offsets = trace.random.integers(0, 1 << 20, 10 + column)
            trace.samples(number, segment % 4, offsets, None, 0, trace.time)
    trace.write(path, ["SELECT 1"] * 300)


def empty(path: Path) -> None:
    trace = Trace(numpy.random.default_rng(3))
    trace.samples(None, 0, numpy.zeros(0, dtype=numpy.int64), None, 0, 1)
    trace.write(path, [])


TRACES: dict[str, Callable[[Path], None]] = {
    "query": lambda path: make(path, samples=200_000, seed=19),
    "hostile": hostile,
    "many": many,
    "empty": empty,
}


def look(checks: Checks, browser: Browser, name: str, page: Path) -> None:
    """What holds for each page at each width, light and dark."""
    for width in WIDTHS:
        for dark in (False, True):
            browser.open(page, width, dark=dark)
            where = f"{name} at {width}{' in the dark' if dark else ''}"
            checks.check(f"{where}: width", browser.evaluate("document.documentElement.scrollWidth"), width)
            checks.check(f"{where}: blank pictures", browser.evaluate(BLANK), [])
            checks.check(f"{where}: nameless controls", browser.evaluate(NAMELESS), 0)
            browser.evaluate(CHOICES)
            browser.settle()
            checks.check(f"{where}: blank pictures after choices", browser.evaluate(BLANK), [])
    checks.check(f"{name}: complaints", browser.complaints, [])
    checks.check(f"{name}: requests", [url for url in browser.requests if url != page.resolve().as_uri()], [])
    browser.complaints, browser.requests = [], []


def use(checks: Checks, browser: Browser, page: Path) -> None:
    """Zooms, pans and hides with keys, wheel, mouse and buttons."""
    view = "JSON.stringify(plots[0].view)"
    browser.open(page, 1280)
    whole = browser.evaluate(view)
    browser.evaluate("document.querySelector('#time-plot canvas').focus()")
    browser.press("+")
    zoomed = browser.evaluate(view)
    checks.check("+ zooms in", span(zoomed) < span(whole), True)
    browser.press("ArrowRight")
    moved = browser.evaluate(view)
    checks.check("an arrow moves", (span(moved) == span(zoomed), moved != zoomed), (True, True))
    frame = browser.evaluate("(({x, y, width, height}) => [x, y, width, height])(document.querySelector('#time-plot canvas').getBoundingClientRect())")
    middle = (frame[0] + frame[2] * 0.6, frame[1] + frame[3] * 0.5)
    browser.mouse("mouseWheel", *middle, deltaX=0, deltaY=-100)
    browser.settle()
    wheeled = browser.evaluate(view)
    checks.check("the wheel zooms", span(wheeled) < span(moved), True)
    browser.mouse("mousePressed", *middle, button="left", buttons=1, clickCount=1)
    browser.mouse("mouseMoved", middle[0] - 60, middle[1], button="left", buttons=1)
    browser.mouse("mouseReleased", middle[0] - 60, middle[1], button="left", clickCount=1)
    browser.settle()
    checks.check("dragging moves", browser.evaluate(view) != wheeled, True)
    browser.press("0")
    checks.check("0 shows all", browser.evaluate(view), whole)
    browser.evaluate("document.querySelector('#over-time [data-zoom] button').click()")
    browser.settle()
    checks.check("a button zooms", span(browser.evaluate(view)) < span(whole), True)
    browser.evaluate("plots[0].reset()")
    browser.settle()
    browser.mouse("mouseMoved", *busiest(browser))
    checks.check("a point is told", "from its beginning" in browser.evaluate("tip.hidden ? '' : tip.textContent"), True)
    browser.evaluate("document.querySelector('#legend button').click()")
    checks.check("a structure is hidden", browser.evaluate("document.querySelector('#legend button').getAttribute('aria-pressed')"), "false")
    browser.evaluate("document.activeElement.blur()")
    for _ in range(40):
        browser.press("Tab")
        if browser.evaluate("document.activeElement?.parentElement?.id") == "time-plot":
            break
    checks.check("Tab reaches the picture", browser.evaluate("document.activeElement?.parentElement?.id"), "time-plot")
    says = browser.evaluate("document.getElementById('skew-says').textContent")
    checks.check("the hottest value is named", "whose value is" in says, True)
    checks.check("complaints", browser.complaints, [])


def busiest(browser: Browser) -> list[float]:
    """A place in the window at which the first picture has points: in the middle of the dictionary's band."""
    return browser.evaluate("""(() => {
        const plot = plots[0];
        const frame = plot.canvas.getBoundingClientRect();
        const at = data.points.structure.findIndex((structure) => structures.name[structure].endsWith('dictionary'));
        const band = data.points.structure[at];
        return [frame.x + plot.x(data.points.micros[at] + micros / 20), frame.y + plot.y(band + 0.5)];
    })()""")


def span(view: str) -> float:
    low, high = json.loads(view)["x"]
    return high - low


def pictures(browser: Browser, page: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for width in WIDTHS:
        for dark in (False, True):
            browser.open(page, width, dark=dark)
            browser.picture(folder / f"trace-report-{width}{'-dark' if dark else ''}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("godwit", type=Path)
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of the page")
    arguments = parser.parse_args()
    checks = Checks()
    program = find_browser()
    with tempfile.TemporaryDirectory() as folder:
        pages = {}
        for name, write in TRACES.items():
            trace, page = Path(folder, f"{name}.parquet"), Path(folder, f"{name}.html")
            write(trace)
            run = subprocess.run([arguments.godwit, "trace", "report", trace], capture_output=True, text=True)
            checks.check(f"{name}: the report", (run.returncode, run.stderr), (0, ""))
            checks.check(f"{name}: bounded", page.exists() and page.stat().st_size < PAGE_BYTES_MAX, True)
            if page.exists():
                pages[name] = page
        if program is not None:
            with Browser(program) as browser:
                for name, page in pages.items():
                    look(checks, browser, name, page)
                use(checks, browser, pages["query"])
                if arguments.pictures:
                    pictures(browser, pages["query"], arguments.pictures)
    missing = "" if program else "; skipped: the pages weren't opened, this machine has no Chromium"
    print(f"{checks.passed} passed, {checks.failed} failed{missing}")
    raise SystemExit(checks.failed > 0)


if __name__ == "__main__":
    main()
