"""A class of readers of every kind (class_maker.py), graded on two workers, one and four: each has to
get what it has to get.

    grade_class.py COUNT [EXERCISES]
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import class_maker
import support
from tools import api

EXERCISES = "1.1,1.2,1.3,1.4,1.5,1.6,1.7,1.8,1.9"
SECONDS = 3000


def main(count, exercises):
    known = api.load_all(support.ROOT)
    wanted = [api.find(known, one) for one in exercises.split(",")]
    with tempfile.TemporaryDirectory(prefix="grade_class_") as holder:
        place, bad = Path(holder) / "class", []
        expected = class_maker.make(support.ROOT, place, wanted, count)
        for workers in ("2", "1", "4"):
            out = Path(holder) / f"out{workers}"
            subprocess.run([sys.executable, str(support.ROOT / "workbook"), "grade", str(place),
                            "--exercises", exercises, "--workers", workers, "--out", str(out)],
                           timeout=SECONDS, check=True)
            bad += problems(expected, out / "verdicts.jsonl")
        print("\n".join(bad) or f"{len(expected)} submissions have what they have to get")
        return 1 if bad else 0


def problems(expected, path):
    """What is not as it should be, a line each."""
    wanted = {(name, one): verdict for name, ones in expected.items() for one, verdict in ones.items()}
    found = []
    for text in path.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        key = (line["submission"], line["id"])
        verdict = [line["status"], line["wrong"]]
        if key not in wanted:
            found.append(f"{key}: not in the class, or there twice")
        elif wanted.pop(key) != verdict:
            found.append(f"{key}: {verdict} instead of {expected[key[0]][key[1]]}: {line['found']}")
    return found + [f"{key}: missing" for key in wanted]


if __name__ == "__main__":
    support.skip_without_toml()
    support.grade_anywhere()
    sys.exit(main(int(sys.argv[1]), (sys.argv[2:] or [EXERCISES])[0]))
