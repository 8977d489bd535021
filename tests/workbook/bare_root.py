"""A bare Debian root in which a test does what a reader does on a fresh machine, or what an image's
recipe does: no container engine is needed, but root is.

BW_TEST_ROOTS names a folder that holds roots by the name of their release, as debootstrap makes them
(debootstrap --variant=minbase bookworm FOLDER/bookworm); without it, debootstrap makes one.
"""

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

# What programs in the root need of this machine's settings to reach package indexes.
_NETWORK = ("etc/resolv.conf", "etc/hosts", "etc/pip.conf", "usr/local/share/ca-certificates")
_NETWORK_VARIABLES = re.compile(r"(?i)^(https?_proxy|no_proxy|PIP_.*|SSL_CERT_FILE)$")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Unavailable(Exception):
    """Why no root can be had here."""


class BareRoot:
    """A root of its own, removed at the end. A context manager."""

    def __init__(self, release):
        if os.geteuid() != 0:
            raise Unavailable("a root of its own takes root")
        self.folder = Path(tempfile.mkdtemp(prefix=f"workbook-{release}-"))
        self.env = {"PATH": _PATH, "LANG": "C.UTF-8"}
        self.env.update({name: value for name, value in os.environ.items()
                         if _NETWORK_VARIABLES.match(name)})
        try:
            self._fill(release)
        except BaseException:
            self.__exit__()
            raise

    def _fill(self, release):
        known = os.environ.get("BW_TEST_ROOTS")
        if known and (Path(known) / release).is_dir():
            subprocess.run(["cp", "-a", "--reflink=auto", f"{Path(known) / release}/.",
                            str(self.folder)], check=True)
        elif shutil.which("debootstrap"):
            result = subprocess.run(["debootstrap", "--variant=minbase", release, str(self.folder)],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                                    universal_newlines=True)
            if result.returncode:
                raise Unavailable(f"debootstrap made no {release}: {result.stdout[-500:]}")
        else:
            raise Unavailable("there is no debootstrap, and BW_TEST_ROOTS names no root")
        for name in _NETWORK:
            source, target = Path("/") / name, self.folder / name
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True)
            elif source.is_file():
                shutil.copyfile(source, target)
        self.run("command -v update-ca-certificates && update-ca-certificates")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, command, user="root", folder="/", network=True, **env):
        """A shell command in the root; the CompletedProcess, with standard error in its output."""
        script = (f'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && '
                  f'exec chroot "$0" setpriv --reuid={user} --regid={user} --init-groups '
                  f'env -i "${{@:2}}" bash -c "$1"')
        home = "/root" if user == "root" else f"/home/{user}"
        settings = {**self.env, **env, "HOME": home, "USER": user}
        words = ["unshare", "--mount", *([] if network else ["--net"]), "bash", "-c", script,
                 str(self.folder), f"cd {shlex.quote(folder)} && {command}",
                 *(f"{name}={value}" for name, value in settings.items())]
        return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, universal_newlines=True, errors="replace",
                              check=False)


class Image:
    """What a Dockerfile makes of a bare root: FROM, RUN, COPY, ENV, USER and WORKDIR."""

    def __init__(self, dockerfile, context):
        self._context = Path(context)
        text = re.sub(r"^\s*#[^\n]*\n", "", dockerfile.read_text(encoding="utf-8"), flags=re.M)
        self.steps = [line.split(None, 1) for line in text.replace("\\\n", " ").splitlines() if line]
        self.release = re.fullmatch(r"debian:(\w+)-slim", self.steps[0][1]).group(1)
        self.user, self.folder = "root", "/"

    def build(self, root, say=print):
        """Takes every step; raises RuntimeError for one that fails."""
        for name, rest in self.steps[1:]:
            say(f"{name} {' '.join(rest.split())}")
            if name == "RUN":
                result = root.run(rest, self.user, self.folder)
                if result.returncode:
                    raise RuntimeError(f"RUN {rest}: {result.stdout[-4000:]}")
            elif name == "ENV":
                root.env.update([rest.split("=", 1)])
            elif name == "USER":
                self.user = rest
            elif name == "WORKDIR":
                self.folder = rest
            elif name == "COPY":
                self._copy(root, rest.split())
            elif name == "CMD":
                json.loads(rest)
            else:
                raise RuntimeError(f"{name} is not known to this test.")

    def _copy(self, root, words):
        owner = next((word.split("=")[1] for word in words if word.startswith("--chown=")), "root")
        source, target = (word for word in words if not word.startswith("--"))
        if (source, target) != (".", "."):
            raise RuntimeError("This test knows `COPY . .` alone.")
        shutil.copytree(self._context, root.folder / self.folder.lstrip("/"), symlinks=True,
                        dirs_exist_ok=True, ignore=self._ignored)
        root.run(f"chown -R {owner} .", folder=self.folder)

    def _ignored(self, folder, names):
        patterns = [line for line in (self._context / ".dockerignore").read_text(
            encoding="utf-8").splitlines() if line and not line.startswith("#")]
        found = set()
        for name in names:
            path = (Path(folder) / name).relative_to(self._context).as_posix()
            if any(fnmatch.fnmatch(f"/{path}", pattern.replace("**", "*").rstrip("/"))
                   for pattern in patterns):
                found.add(name)
        return found
