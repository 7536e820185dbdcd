"""A real browser without a window, driven by Chromium's DevTools protocol.

with browser() as chromium:
    with chromium.open(path, dark=True) as page:
        assert page.evaluate("document.title") == "kitchen"
        assert page.errors == []
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from websockets.sync.client import ClientConnection, connect

from tests.support.patience import PATIENCE_SECONDS

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_OPTIONS: Final = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-sandbox",  # the pages are our own, and root may not have one
)
_SAYS_WHERE: Final = "DevTools listening on "
MESSAGE_BYTES_MAX: Final = 256 * 1024 * 1024


def find_browser() -> str | None:
    """Where Chromium is, if it is there."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class Page:
    """An open page."""

    def __init__(self, connection: ClientConnection, session: str) -> None:
        self._connection = connection
        self._session = session
        self._numbers = itertools.count(1)
        #: What its console has complained of, what its scripts have raised, and what it asked for elsewhere.
        self.errors: list[str] = []
        self.requested: list[str] = []

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One of the protocol's. Raises `AssertionError` if the browser says that it failed."""
        number = next(self._numbers)
        self._connection.send(
            json.dumps({"id": number, "sessionId": self._session, "method": method, "params": parameters})
        )
        while True:
            said = json.loads(self._connection.recv(2 * PATIENCE_SECONDS))
            if said.get("id") == number and said.get("sessionId") == self._session:
                assert "error" not in said, said["error"]
                result: dict[str, Any] = said["result"]
                return result
            self._note(said)

    def _note(self, said: dict[str, Any]) -> None:
        parameters = said.get("params", {})
        match said.get("method"):
            case "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description") or details["text"])
            case "Log.entryAdded" if parameters["entry"]["level"] in ("error", "warning"):
                self.errors.append(parameters["entry"]["text"])
            case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning"):
                self.errors.append(str([argument.get("value") for argument in parameters["args"]]))
            case "Network.requestWillBeSent":
                self.requested.append(parameters["request"]["url"])

    def evaluate(self, expression: str) -> Any:
        """What JavaScript comes to, awaited if it is a promise. Raises `AssertionError` with what it raised."""
        said = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def until(self, condition: str) -> None:
        """Return when this holds, which is looked at in each frame. Raises `AssertionError`."""
        looking = (
            f"new Promise((done) => {{ let left = {60 * int(PATIENCE_SECONDS)}; const look = () => "
            f"({condition}) ? done(true) : left-- > 0 ? requestAnimationFrame(look) : done(false); look(); }})"
        )
        assert self.evaluate(looking), f"it never came to {condition}"

    def click(self, x: float, y: float) -> None:
        """With the mouse, at this point of the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def point(self, x: float, y: float) -> None:
        """Move the mouse to this point of the window."""
        self.command("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key: str) -> None:
        """A key, such as ArrowDown or /."""
        text = {"text": key} if len(key) == 1 else {}
        self.command("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.command("Input.dispatchKeyEvent", type="keyUp", key=key)

    def write(self, text: str) -> None:
        """Into whatever has the focus."""
        self.command("Input.insertText", text=text)

    def choose_file(self, selector: str, path: Path) -> None:
        """Give this file to an <input type=file>."""
        root = self.command("DOM.getDocument")["root"]["nodeId"]
        node = self.command("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.command("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.command("Page.captureScreenshot", format="png")["data"]))


class Chromium:
    """A running browser."""

    def __init__(self, address: str) -> None:
        self._address = address

    @contextmanager
    def open(self, path: Path, *, dark: bool = False, width: int = 1440, height: int = 900) -> Iterator[Page]:
        """Open a file, wait until it has loaded, and close it in the end."""
        with connect(self._address, max_size=MESSAGE_BYTES_MAX) as connection:
            target = _of_browser(connection, "Target.createTarget", url="about:blank")["targetId"]
            session = _of_browser(connection, "Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            page = Page(connection, session)
            for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
                page.command(f"{domain}.enable")
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            page.command("Emulation.setEmulatedMedia", features=[scheme])
            page.command(
                "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
            )
            page.command("Page.navigate", url=path.as_uri())
            page.until("document.readyState === 'complete' && location.protocol === 'file:'")
            try:
                yield page
            finally:
                _of_browser(connection, "Target.closeTarget", targetId=target)


def _of_browser(connection: ClientConnection, method: str, **parameters: Any) -> dict[str, Any]:
    """A command to the browser itself."""
    connection.send(json.dumps({"id": 0, "method": method, "params": parameters}))
    while True:
        said = json.loads(connection.recv(PATIENCE_SECONDS))
        if said.get("id") == 0 and "sessionId" not in said:
            result: dict[str, Any] = said["result"]
            return result


@contextmanager
def browser(path: str) -> Iterator[Chromium]:
    """The browser at this path, until the block ends."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [path, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            assert process.stderr is not None
            said = next((line for line in process.stderr if line.startswith(_SAYS_WHERE)), None)
            assert said is not None, "the browser did not start"
            yield Chromium(said.removeprefix(_SAYS_WHERE).strip())
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE_SECONDS)
            assert process.stderr is not None
            process.stderr.close()
