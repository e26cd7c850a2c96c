"""A headless Chromium that is told what to do over a pipe, in its own protocol: no package is needed."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

PROGRAMS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
# A page of these tests is there in a second.
TIMEOUT_SECONDS = 60
# What a page says there is wrong with it.
WRONG_LEVELS = ("error", "warning", "assert")


def find_browser() -> str | None:
    """The program, if this machine has one; the environment's BROWSER_PROGRAM is asked first."""
    return next((found for name in [os.environ.get("BROWSER_PROGRAM", ""), *PROGRAMS] if name and (found := shutil.which(name))), None)


class Browser:
    """One page. Errors that the page reports are collected in `complaints`."""

    def __init__(self, program: str) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.number = 0
        self.rest = b""
        self.session: str | None = None
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command_read, self.commands = os.pipe()
        self.answers, answer_write = os.pipe()
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", f"--user-data-dir={self.profile.name}"]

        # The protocol is on the files 3 and 4. They are made in the child, where 3 and 4 may be in use: first out of the way.
        def pipes() -> None:
            source, target = os.dup(command_read), os.dup(answer_write)
            high = [fd if fd > 4 else os.dup2(fd, fd + 40) for fd in (source, target)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen([program, *options, "--remote-debugging-pipe", "about:blank"], preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(command_read)
        os.close(answer_write)
        target = next(page for page in self.send("Target.getTargets")["targetInfos"] if page["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        self.profile.cleanup()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while (message := self.next_message()).get("id") != self.number:
            self.note(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']['message']}")
        return message["result"]

    def next_message(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            part = os.read(self.answers, 1 << 16)
            if not part:
                raise RuntimeError("the browser has ended")
            self.rest += part
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                self.complaints.append(details.get("exception", {}).get("description") or details["text"])
            case "Runtime.consoleAPICalled" if parameters["type"] in WRONG_LEVELS:
                self.complaints.append(" ".join(str(value.get("value", value.get("description"))) for value in parameters["args"]))
            case "Log.entryAdded" if parameters["entry"]["level"] in WRONG_LEVELS:
                self.complaints.append(parameters["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])

    def open(self, page: Path, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Shows a page in a window of this size, and waits until it has drawn."""
        mobile = width < 640
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if mobile else 1, mobile=mobile)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=features)
        self.send("Page.navigate", url=page.resolve().as_uri())
        end = time.monotonic() + TIMEOUT_SECONDS
        while not self.evaluate("document.readyState === 'complete' && location.protocol === 'file:'"):
            if time.monotonic() > end:
                raise RuntimeError(f"{page} isn't there after {TIMEOUT_SECONDS} s")
            time.sleep(0.05)
        self.settle()

    def settle(self) -> None:
        """Waits for two frames: pictures are drawn in the next one."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def evaluate(self, script: str) -> Any:
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", script))
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        code = {"Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, " ": 32}.get(key, ord(key[0]))
        text = {} if len(key) > 1 else {"text": key}
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **(text if kind == "keyDown" else {}))
        self.settle()

    def mouse(self, kind: str, x: float, y: float, **details: Any) -> None:
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **details)

    def picture(self, path: Path, *, whole: bool = True, clip: dict[str, float] | None = None) -> None:
        """Writes what is seen, or all of the page, as PNG."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        area = clip or {"x": 0, "y": 0, "width": size["width"], "height": size["height"]}
        options = {"clip": {**area, "scale": 1}, "captureBeyondViewport": True} if whole or clip else {}
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png", **options)["data"]))
