"""A headless Chromium, driven over the pipe of its DevTools protocol: no package is needed."""

from __future__ import annotations

import base64
import functools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe", "about:blank"),
)
#: Seconds that an answer may take.
PATIENCE = 120.0


@functools.cache
def chromium() -> str | None:
    """Return the path of a Chromium, if there is one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


needs_chromium = pytest.mark.skipif(chromium() is None, reason="no chromium on this machine")


class Browser:
    """One page of a browser: what it logs, requests and answers."""

    def __init__(self, process: subprocess.Popen[bytes], write: int, read: int) -> None:
        self.process, self._write, self._read = process, write, read
        self._buffer = b""
        self._count = 0
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.events: list[dict[str, Any]] = []
        self._session = ""
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """One command of the protocol, and its answer."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        end = time.monotonic() + PATIENCE
        while True:
            answer = self._next(end)
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _next(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self._read, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self._buffer += piece
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message)
        return message

    def _note(self, message: Mapping[str, Any]) -> None:
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            detail = params["exceptionDetails"]
            self.errors.append(detail.get("exception", {}).get("description") or detail["text"])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.errors.append(str([part.get("value") for part in params["args"]]))
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("data:", "blob:")):
                self.requests.append(url)
        elif method is not None:
            self.events.append(dict(message))

    def open(self, url: str) -> None:
        """Load a page, forgetting what those before it params."""
        self.errors, self.requests, self.events = [], [], []
        self.call("Page.navigate", url=url)
        end = time.monotonic() + PATIENCE
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._next(end)

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression, once its promise is fulfilled."""
        done = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in done:
            detail = done["exceptionDetails"]
            raise RuntimeError(detail.get("exception", {}).get("description") or detail["text"])
        return done["result"].get("value")

    def compute(
        self, source: str, columns: Sequence[NDArray[np.float64]], outputs: int, choice: str = "[]"
    ) -> NDArray[np.float64]:
        """A function ``(x, c, y)`` at many points, one a row: to the bit, not as decimals."""
        given = np.ascontiguousarray(np.stack(columns, axis=1) if columns else np.zeros((1, 0)))
        count, width = given.shape
        text = base64.b64encode(given.tobytes()).decode()
        result = self.run(
            f"""(() => {{
              const f = {source};
              const bytes = Uint8Array.from(atob("{text}"), (one) => one.charCodeAt(0));
              const given = new Float64Array(bytes.buffer);
              const all = new Float64Array({count * outputs});
              const c = {choice};
              for (let k = 0; k < {count}; k++) {{
                f(given.subarray(k * {width}, (k + 1) * {width}), c,
                  all.subarray(k * {outputs}, (k + 1) * {outputs}));
              }}
              let made = "";
              const raw = new Uint8Array(all.buffer);
              for (let k = 0; k < raw.length; k += 8192) {{
                made += String.fromCharCode(...raw.subarray(k, k + 8192));
              }}
              return btoa(made);
            }})()"""
        )
        return np.frombuffer(base64.b64decode(result), dtype=np.float64).reshape(count, outputs)

    def size(self, width: int, height: int, *, dark: bool = False) -> None:
        """Set the size of the window and the preferred colours."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)

    def picture(self, path: Path) -> None:
        """The whole page as a PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def press(self, key: str, times: int = 1) -> None:
        """A key, on what has the focus."""
        for _ in range(times):
            for kind in ("keyDown", "keyUp"):
                self.call(
                    "Input.dispatchKeyEvent",
                    type=kind,
                    key=key,
                    code=key,
                    windowsVirtualKeyCode={"ArrowLeft": 37, "ArrowRight": 39, "Tab": 9}.get(key, 0),
                )


def _pipes(commands: int, answers: int) -> None:
    """The two ends stand where Chromium looks for them; first out of each other's way."""
    commands, answers = os.dup2(commands, 100), os.dup2(answers, 101)
    os.dup2(commands, 3)
    os.dup2(answers, 4)


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser of its own, with an empty profile."""
    result = chromium()
    if result is None:
        pytest.skip("no chromium on this machine")
    commands, write = os.pipe()
    read, answers = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [result, f"--user-data-dir={profile}", *FLAGS],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=functools.partial(_pipes, commands, answers),
        )
        os.close(commands)
        os.close(answers)
        try:
            page = Browser(process, write, read)
            yield page
            page._session = ""
            page.call("Browser.close")
        finally:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(write)
            os.close(read)
