"""A headless Chromium that a test drives: the DevTools protocol over two pipes, which needs no further package.

https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NAMED = {"Enter": 13, "Tab": 9, "Escape": 27, "Delete": 46, " ": 32, "ArrowRight": 39}
TEXT = {"Enter": "\r", "Tab": "", "Escape": "", "Delete": "", "ArrowRight": ""}


class Browser:
    """One tab."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read, self._number, self._session, self._rest = write, read, 0, "", b""
        self.events: list[dict[str, Any]] = []
        """What the browser reported by itself; a test may clear it."""
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self("Page.enable")
        self("Emulation.setDeviceMetricsOverride", width=1366, height=768, deviceScaleFactor=1, mobile=False)

    def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its reply; what the browser reports meanwhile is kept in `events`."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (found := self._receive()).get("id") != self._number:
            self.events.append(found)
        assert "error" not in found, found
        return dict(found["result"])

    def open(self, page: Path) -> None:
        """Open a file and wait until its scripts have run."""
        self("Page.navigate", url=page.as_uri())
        self.until("location.protocol === 'file:' && document.readyState === 'complete'")

    def value(self, expression: str) -> Any:
        """What an expression gives on the page, promises awaited."""
        found = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression holds, for a minute at most: the machine may do other things too."""
        poll = (
            f"const poll = () => ({expression}) ? done(true) : Date.now() > end ? done(false) : setTimeout(poll, 20);"
        )
        assert self.value(f"new Promise((done) => {{ const end = Date.now() + 6e4; {poll} poll(); }})"), expression

    def press(self, *keys: str) -> None:
        """Press keys one after the other, as a keyboard does: characters, or names such as Enter."""
        for key in keys:
            given = {
                "key": key,
                "windowsVirtualKeyCode": NAMED.get(key, ord(key[0].upper())),
                "text": TEXT.get(key, key),
            }
            self("Input.dispatchKeyEvent", type="keyDown", **{k: v for k, v in given.items() if v != ""})
            self("Input.dispatchKeyEvent", type="keyUp", key=key)

    def choose_file(self, selector: str, path: Path) -> None:
        """Give a file to a file field."""
        root = self("DOM.getDocument")["root"]["nodeId"]
        node = self("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self("DOM.setFileInputFiles", files=[str(path)], nodeId=node)

    def download_to(self, folder: Path) -> None:
        """Put what the page saves into a folder."""
        self("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def screenshot(self, path: Path) -> None:
        """What is to be seen, as a PNG file."""
        path.write_bytes(base64.b64decode(self("Page.captureScreenshot", format="png")["data"]))

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            got = os.read(self._read, 1 << 16)
            assert got, "the browser has gone"
            self._rest += got
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser with its own profile, ended with the block."""
    assert CHROMIUM, "this test needs Chromium: apt-get install chromium, or the like"
    its_read, write = os.pipe()
    read, its_write = os.pipe()
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={profile}"]
    shell = f'exec "$0" "$@" 3<&{its_read} 4>&{its_write}'  # the browser reads from 3 and writes to 4
    done = subprocess.Popen(
        ["bash", "-c", shell, CHROMIUM, *options], pass_fds=(its_read, its_write), stderr=subprocess.DEVNULL
    )
    os.close(its_read)
    os.close(its_write)
    try:
        yield Browser(write, read)
    finally:
        os.close(write)
        os.close(read)
        done.terminate()
        done.wait(timeout=20)
