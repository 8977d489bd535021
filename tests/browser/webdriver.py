"""Firefox and WebKitGTK for tests of pages, spoken to over their own protocols; no library is needed.

WebKitGTK is the engine closest to Safari's that runs on Linux. Both have navigate(address),
evaluate(expression) and close().
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

SECONDS = 60
_FIREFOX = ("firefox-esr", "firefox")


class NoBrowser(RuntimeError):
    """A browser that is not there, or does not start."""


def _free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _until(action, what):
    """What action() returns as soon as it does not fail any more."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return action()
        except OSError as error:
            if time.monotonic() > deadline:
                raise NoBrowser(f"{what} does not answer: {error}") from error
            time.sleep(0.1)


def _end(process):
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Firefox:
    """A headless Firefox, over Marionette."""

    @staticmethod
    def missing():
        """What is not there, or ""."""
        return "" if any(map(shutil.which, _FIREFOX)) else "Firefox is missing"

    def __init__(self):
        self._profile = tempfile.mkdtemp(prefix="bw-firefox-")
        port = _free_port()
        with open(os.path.join(self._profile, "user.js"), "w", encoding="utf-8") as file:
            file.write(f'user_pref("marionette.port", {port});\n'
                       'user_pref("datareporting.policy.dataSubmissionEnabled", false);\n'
                       'user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);\n')
        command = next(filter(None, map(shutil.which, _FIREFOX)))
        self._process = subprocess.Popen(
            [command, "--headless", "--no-remote", "--marionette", "--profile", self._profile],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._profile, "MOZ_DISABLE_CONTENT_SANDBOX": "1"})
        try:
            self._socket = _until(lambda: socket.create_connection(("127.0.0.1", port), SECONDS),
                                  "Firefox")
            self._socket.settimeout(2 * SECONDS)
            self._buffer, self._number = b"", 0
            self._read()  # the greeting
            self._call("WebDriver:NewSession", {"capabilities": {}})
        except BaseException:
            self.close()
            raise

    def _read(self):
        while b":" not in self._buffer:
            self._receive()
        size, _, self._buffer = self._buffer.partition(b":")
        while len(self._buffer) < int(size):
            self._receive()
        message, self._buffer = self._buffer[:int(size)], self._buffer[int(size):]
        return json.loads(message.decode())

    def _receive(self):
        part = self._socket.recv(1 << 16)
        if not part:
            raise NoBrowser("Firefox has gone")
        self._buffer += part

    def _call(self, name, parameters):
        self._number += 1
        text = json.dumps([0, self._number, name, parameters]).encode()
        self._socket.sendall(str(len(text)).encode() + b":" + text)
        _, number, error, result = self._read()
        assert number == self._number
        if error:
            raise RuntimeError(error.get("message", str(error)))
        return result

    def navigate(self, address):
        self._call("WebDriver:Navigate", {"url": address})

    def evaluate(self, expression):
        return self._call("WebDriver:ExecuteScript",
                          {"script": f"return ({expression});", "args": [], "sandbox": None})["value"]

    def close(self):
        _end(self._process)
        shutil.rmtree(self._profile, ignore_errors=True)


class WebKit:
    """WebKitGTK's MiniBrowser on a screen of its own, over WebDriver."""

    @staticmethod
    def missing():
        """What is not there, or ""."""
        for name in ("WebKitWebDriver", "Xvfb"):
            if not shutil.which(name):
                return f"{name} is missing"
        return ""

    def __init__(self):
        self._home = tempfile.mkdtemp(prefix="bw-webkit-")
        self._processes = []
        try:
            display = self._screen()
            port = _free_port()
            self._address = f"http://127.0.0.1:{port}/session"
            self._start(["WebKitWebDriver", f"--port={port}"], {
                "DISPLAY": display, "HOME": self._home, "XDG_RUNTIME_DIR": self._home,
                "GDK_BACKEND": "x11", "LIBGL_ALWAYS_SOFTWARE": "1", "NO_AT_BRIDGE": "1",
                "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1"})  # the tests run as root, too
            made = _until(lambda: self._ask("POST", "", {"capabilities": {}}), "WebKitGTK's driver")
            self._address += "/" + made["sessionId"]
            self._ask("POST", "/timeouts", {"script": 2000 * SECONDS, "pageLoad": 2000 * SECONDS})
        except BaseException:
            self.close()
            raise

    def _start(self, command, environment):
        self._processes.append(subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, **environment}))

    def _screen(self):
        """The name of a new X display."""
        read, write = os.pipe()
        self._processes.append(subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x900x24", "-nolisten", "tcp"],
            pass_fds=(write,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        os.close(write)
        with os.fdopen(read) as file:
            number = file.readline().strip()
        if not number:
            raise NoBrowser("Xvfb does not start")
        return f":{number}"

    def _ask(self, method, path, body=None):
        request = urllib.request.Request(
            self._address + path, method=method, headers={"Content-Type": "application/json"},
            data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=4 * SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode("utf-8", "replace")) from error

    def navigate(self, address):
        self._ask("POST", "/url", {"url": address})

    def evaluate(self, expression):
        return self._ask("POST", "/execute/sync", {"script": f"return ({expression});", "args": []})

    def close(self):
        for process in reversed(self._processes):
            _end(process)
        shutil.rmtree(self._home, ignore_errors=True)
