"""Stands in for Python's module of the same name, which unpacks pip each time and takes five seconds for
it: `python -m venv FOLDER` with the pip that there is. Put its folder on PYTHONPATH."""

import ensurepip
import importlib.util
import sys
from pathlib import Path

# Where the wheels of ensurepip are; Debian keeps them elsewhere.
_WHEELS = (Path(ensurepip.__file__).parent / "_bundled", Path("/usr/share/python-wheels"))


def _give_pip(site):
    installed = importlib.util.find_spec("pip")
    if installed:
        (site / "pip").symlink_to(Path(installed.origin).parent)
        return
    wheel = next(path for place in _WHEELS for path in sorted(place.glob("pip-*.whl")))
    (site / "pip.pth").write_text(f"{wheel}\n", encoding="utf-8")


def main(folder):
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    site = folder / "lib" / version / "site-packages"
    (folder / "bin").mkdir(parents=True)
    site.mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    (folder / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).parent}\n"
                                       "include-system-site-packages = false\n", encoding="utf-8")
    _give_pip(site)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
