"""Runs every program of this folder in the simulator at the level `races` and compares what is said
with the marks in the sources.

`// expect: NAME... CODE` after a line, or before a statement: the program NAME is wrong, the first
report has this code, and the accesses that it is about are in lines marked so. A program that no mark
names is right and ends without any report. Arguments: the program, and numbers of seeds.
"""

import os
import re
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER.parents[2] / "docs" / "race_suites.md"
FAULT_STATUS = 70
_MARK = re.compile(r"\bexpect:\s*([\w ]+?)\s+(BW-\w+)")
_CODE = re.compile(r"\bBW-[A-Z]\d+")
_PLACE = re.compile(r"(\w+\.cu):(\d+)")
# The two accesses of a race.
_SIDE = re.compile(r"^\s*(?:first|second): .*?(\w+\.cu):(\d+)", re.MULTILINE)
WRONG = ("_racy", "_faulty")


def marks():
    """{name of a wrong program: (code, {(file, line)})}."""
    found = defaultdict(lambda: [set(), set()])
    for source in sorted(FOLDER.glob("*.cu")):
        lines = source.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            # A mark on a line of its own belongs to the statement below it.
            places = [number]
            if line.strip().startswith("//"):
                length = next((i for i, text in enumerate(lines[number:], 1)
                               if text.endswith((";", "{"))), 0)
                places = range(number + 1, number + 1 + length)
            for names, code in _MARK.findall(line.rpartition("//")[2]):
                for name in names.split():
                    found[name][0].add(code)
                    found[name][1].update((source.name, place) for place in places)
    return found


def run(program, name, setting, seed):
    """(exit status, what was printed)."""
    env = dict(os.environ, BW_SIM_CHECKS="races", BW_SIM_SEED=str(seed))
    if setting:
        key, value = setting.split("=")
        env[key] = value
    try:
        ended = subprocess.run([program, name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=env, timeout=60, universal_newlines=True, check=False)
    except subprocess.TimeoutExpired:
        return None, ""
    return ended.returncode, ended.stdout


def complaint(name, expected, ended):
    """What is wrong with the runs of a program, or nothing."""
    if expected is None:
        for seed, (status, text) in ended.items():
            if status != 0 or _CODE.search(text):
                return f"seed {seed}: right, but it ended with status {status} and said:\n{text}"
        return ""
    codes, places = expected
    reported = {seed: text for seed, (_, text) in ended.items() if _CODE.search(text)}
    if not reported:
        return f"wrong, but no report in {len(ended)} seeds"
    for seed, text in reported.items():
        code = _CODE.search(text).group()
        if code not in codes:
            return f"seed {seed}: {code} instead of {' or '.join(sorted(codes))}:\n{text}"
        sides = [(file, int(line)) for file, line in _SIDE.findall(text)][:2] or [
            (file, int(line)) for file, line in _PLACE.findall(text)][:1]
        # A report of no line is about none: memory that is never freed.
        if not set(sides) <= places:
            wanted = ", ".join(f"{file}:{line}" for file, line in sorted(places))
            return f"seed {seed}: names {sides} and not lines of {wanted}:\n{text}"
    return ""


def main():
    program, seeds = sys.argv[1], [int(seed) for seed in sys.argv[2:]]
    listed = subprocess.run([program], stdout=subprocess.PIPE, universal_newlines=True, check=True)
    cases = [line.split(" ", 1) for line in listed.stdout.splitlines()]
    expected = marks()
    unknown = set(expected) - {name for name, _ in cases}
    problems = [f"{name}: marked, but there is no such program" for name in sorted(unknown)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {(name, seed): pool.submit(run, program, name, setting, seed)
                for name, setting in cases for seed in seeds}
        counts = {"right": [0, 0], "wrong": [0, 0]}
        for name, _ in cases:
            wrong = name.endswith(WRONG)
            if wrong and name not in expected:
                problems.append(f"{name}: wrong by its name, but no line is marked")
                continue
            ended = {seed: runs[name, seed].result() for seed in seeds}
            problem = complaint(name, expected.get(name), ended)
            kind = counts["wrong" if wrong else "right"]
            kind[0] += not problem
            kind[1] += 1
            if problem:
                problems.append(f"{name}: {problem}")
    page = PAGE.read_text(encoding="utf-8")
    claim = f"{counts['right'][1]} correct programs and {counts['wrong'][1]} faulty ones"
    if claim not in page:
        problems.append(f"{PAGE.name} does not say `{claim}`")
    print(f"right: {counts['right'][0]} of {counts['right'][1]} silent; "
          f"wrong: {counts['wrong'][0]} of {counts['wrong'][1]} found by code and lines")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
