"""Headless Chromium for tests of pages, spoken to over its debugging pipe; no library is needed.

    with Browser() as browser:
        page = browser.open(Path("index.html"), width=400, dark=True)
        page.messages          # errors of the console and of scripts
        page.evaluate("document.title")
        page.press("Tab"); page.screenshot(path)
"""

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SECONDS = 60.0
# Keys that tests press: (key, code, number, text).
_KEYS = {"Tab": ("Tab", "Tab", 9, ""), "Enter": ("Enter", "Enter", 13, "\r"),
         " ": (" ", "Space", 32, " "), "ArrowLeft": ("ArrowLeft", "ArrowLeft", 37, ""),
         "ArrowUp": ("ArrowUp", "ArrowUp", 38, ""), "ArrowRight": ("ArrowRight", "ArrowRight", 39, ""),
         "ArrowDown": ("ArrowDown", "ArrowDown", 40, ""), "Home": ("Home", "Home", 36, ""),
         "End": ("End", "End", 35, ""), "PageUp": ("PageUp", "PageUp", 33, ""),
         "PageDown": ("PageDown", "PageDown", 34, ""), "Escape": ("Escape", "Escape", 27, "")}


def find():
    """The browser's command, or None."""
    return next((path for path in map(shutil.which, _NAMES) if path), None)


class Browser:
    """A running Chromium; pages are opened one after the other in one tab."""

    def __init__(self):
        self._profile = tempfile.mkdtemp(prefix="bw-browser-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        # Chromium reads commands from descriptor 3 and writes answers to 4.
        command = [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                   "--disable-dev-shm-usage", "--disable-extensions", "--hide-scrollbars=false",
                   "--allow-file-access-from-files", "--remote-debugging-pipe",
                   f"--user-data-dir={self._profile}", "about:blank"]
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "sh", *command],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self._profile})
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._number, self._session = b"", 0, None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method, **parameters):
        """A command of the DevTools protocol; returns its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session and not method.startswith("Target."):
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            answer = self._receive(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)
        raise TimeoutError(f"{method}: no answer")

    def _receive(self, deadline):
        import select
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._read, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self._buffer += data
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    def recolour(self, dark):
        """Makes the page dark or light, as a reader's system does while it is open."""
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path, width=1400, dark=False, height=900):
        """Shows a page of the file system, with a query and a fragment if the path has them, and waits
        until it is loaded."""
        name, rest = re.fullmatch(r"([^?#]*)(.*)", str(path)).groups()
        if not Path(name).is_file():
            raise FileNotFoundError(name)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.recolour(dark)
        self.events = []
        url = Path(name).resolve().as_uri() + rest
        page = Page(self)
        # Chromium drops a navigation that begins while the one before is not finished.
        for address in ("about:blank", url):
            self.events = []
            self.call("Page.navigate", url=address)
            deadline = time.monotonic() + _SECONDS
            arrived = f"location.href === {json.dumps(address)} && document.readyState === 'complete'"
            while not page.try_evaluate(arrived):
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{address} does not load")
                time.sleep(0.01)
        page.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
        return page


class Page:
    """The page that a Browser shows."""

    def __init__(self, browser):
        self._browser = browser

    @property
    def messages(self):
        """What the console calls an error: exceptions, failed loads, console.error."""
        self.evaluate("0")
        found = []
        for event in self._browser.events:
            method, data = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                details = data["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif method == "Runtime.consoleAPICalled" and data["type"] in ("error", "assert"):
                found.append(" ".join(str(one.get("value", "")) for one in data["args"]))
            elif method == "Log.entryAdded" and data["entry"]["level"] == "error":
                found.append(data["entry"]["text"] + " " + data["entry"].get("url", ""))
            elif method == "Network.loadingFailed" and not data.get("canceled"):
                found.append("failed to load: " + data.get("errorText", ""))
            elif method == "Network.requestWillBeSent":
                url = data["request"]["url"]
                if not url.startswith(("file:", "data:", "about:", "blob:")):
                    found.append("asks the network for " + url)
        return found

    def evaluate(self, expression):
        """The value of a JavaScript expression; promises are awaited."""
        result = self._browser.call("Runtime.evaluate", expression=expression, returnByValue=True,
                                    awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def try_evaluate(self, expression):
        """The same, or nothing while one page is being replaced by another."""
        try:
            return self.evaluate(expression)
        except RuntimeError:
            return None

    def press(self, key, shift=False):
        """A key goes down and up."""
        name, code, number, text = _KEYS.get(key) or (key, "Key" + key.upper(), ord(key.upper()), key)
        common = {"key": name, "code": code, "windowsVirtualKeyCode": number,
                  "modifiers": 8 if shift else 0}
        self._browser.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown",
                           **({"text": text} if text else {}), **common)
        self._browser.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        """Text into what has the focus."""
        self._browser.call("Input.insertText", text=text)

    def screenshot(self, path, whole=False):
        """Writes a PNG of the window, or of the whole page."""
        result = self._browser.call("Page.captureScreenshot", format="png",
                                    captureBeyondViewport=bool(whole))
        Path(path).write_bytes(base64.b64decode(result["data"]))
