#!/usr/bin/env python3
"""A check of the checks: changes the simulator's sources, one token at a time, and runs its tests.

    tests/mutation/mutate.py --build build/sim --count 200 --seed 1

A mutant is a source file in which one operator, bound or constant is another one. Its object file is
linked, in front of the library, into the programs of the tests that can see the source (suite.py), as
far as the build folder has them; these run until one fails: then the mutant is killed. The build folder
is only read (it must be up to date), so any number of workers share it. What becomes of a mutant:

  killed      a test fails, crashes or hangs (runs much longer than without the change)
  equivalent  the compiler makes the same object file of it
  explained   no test fails, and explained.txt next to this file says why that is right
  survived    no test fails
  invalid     it doesn't compile

The exit status is 0 if at least --least percent of those that change something were killed.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from suite import UNIT_TESTS, Suite, what_failed

ROOT = Path(__file__).resolve().parents[2]
EXPLAINED = Path(__file__).resolve().with_name("explained.txt")
# A token and its replacements. Binary operators are between blanks (clang-format sees to
# it), which distinguishes them from template brackets, pointers and references.
_SWAPS = {
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="],
    "!=": ["=="], "+": ["-"], "-": ["+"], "*": ["+"], "/": ["*"], "%": ["/"], "&&": ["||"],
    "||": ["&&"], "<<": [">>"], ">>": ["<<"], "&": ["|"], "|": ["&"], "^": ["|"], "+=": ["-="],
    "-=": ["+="], "|=": ["&="], "&=": ["|="], "<<=": [">>="], ">>=": ["<<="],
}
_SITE = re.compile(
    r"(?<= )(?P<operator><<=|>>=|<=|>=|==|!=|\+=|-=|\|=|&=|&&|\|\||<<|>>|[<>+\-*/%&|^])(?= |$)"
    r"|\bstd::(?P<extreme>min|max)\b"
    r"|\b(?P<truth>true|false)\b"
    r"|(?<![\w.'])(?P<number>0[xX][0-9a-fA-F']+|\d[\d']*)(?P<suffix>[uUlL]*)(?![\w.'])"
    r"|(?<=[(&| ])(?P<not>!)(?=[\w(*])"
    r"|(?P<step>\+\+|--)")
# What the sanitized runs of the tests would notice ends a mutant too: a place outside of an array, a
# shift by too much, an overflow. These need no library of the sanitizer.
_WATCHED = ("-D_GLIBCXX_ASSERTIONS", "-fsanitize=undefined", "-fno-sanitize=enum,vptr",
            "-fsanitize-undefined-trap-on-error")
# Lines whose numbers and operators do not change the simulator's behaviour.
_SKIPPED = re.compile(r"^\s*(#|//|static_assert|template|using |namespace|case .*:$)"
                      r"|operator[<>=!+\-*/&|]|\.section =|\bnoexcept\b")


class Mutant:
    """One change: a file, where, what."""

    def __init__(self, path, line, column, old, new, text):
        self.path, self.line, self.column, self.old, self.new = path, line, column, old, new
        self.text = text.strip()
        self.before = column - (len(text) - len(text.lstrip()))  # characters of it before the token

    @property
    def layer(self):
        return self.path.split("/")[2]

    def changed_line(self, line):
        return line[:self.column] + self.new + line[self.column + len(self.old):]

    @property
    def key(self):
        """What it is, whatever the line's number."""
        return f"{self.path} | {self.text} | {self.old} -> {self.new} | {self.before}"

    def describe(self):
        return (f"{self.path}:{self.line}: `{self.old}` -> `{self.new}` in "
                f"`{self.text}`, column {self.column + 1}")


def without_texts(source):
    """The source with strings, characters and comments blanked, of the same length."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    return re.sub(r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
                  r"|//[^\n]*|/\*(?:.|\n)*?\*/", blank, source)


def replacements(match):
    if match["operator"]:
        return _SWAPS[match["operator"]], match["operator"], match.start("operator")
    if match["extreme"]:
        return ["min" if match["extreme"] == "max" else "max"], match["extreme"], match.start("extreme")
    if match["truth"]:
        return ["false" if match["truth"] == "true" else "true"], match["truth"], match.start("truth")
    if match["not"]:
        return [""], "!", match.start("not")
    if match["step"]:
        return ["--" if match["step"] == "++" else "++"], match["step"], match.start("step")
    text = match["number"]
    value = int(text.replace("'", ""), 0)
    return [str(value + 1)] + ([str(value - 1)] if value > 0 else []), text, match.start("number")


def mutants_of(path):
    """All changes of a file."""
    source = (ROOT / path).read_text(encoding="utf-8")
    lines, bare = source.split("\n"), without_texts(source).split("\n")
    found = []
    for number, line in enumerate(bare, 1):
        if _SKIPPED.search(line):
            continue
        for match in _SITE.finditer(line):
            if match["number"] and match["number"].startswith("0") and len(match["number"]) > 1 \
                    and match["number"][1] not in "xX":
                continue
            news, old, column = replacements(match)
            for new in news:
                found.append(Mutant(path, number, column, old, new, lines[number - 1]))
    return found


def read_explained():
    """{mutant's key: why no test can or need notice it}."""
    reasons = {}
    if not EXPLAINED.exists():
        return reasons
    key = None
    for line in EXPLAINED.read_text(encoding="utf-8").splitlines():
        if line.startswith("common/"):
            key = line.strip()
        elif key and line.strip():
            reasons[key] = (reasons.get(key, "") + " " + line.strip()).strip()
    return reasons


class Build:
    """The build folder: how a source is compiled, and how programs are linked."""

    def __init__(self, folder):
        self.folder = folder
        self.compilations = {}
        for entry in json.loads((folder / "compile_commands.json").read_text(encoding="utf-8")):
            path = os.path.relpath(entry["file"], ROOT)
            if path.startswith("common/simulator/") and path.split("/")[2] in UNIT_TESTS:
                self.compilations[path] = (self._without_launcher(entry["command"]),
                                           entry["directory"])
        self.links = {}

    def read_links(self, programs):
        """Asks Ninja how the programs are linked."""
        for program in programs:
            listed = subprocess.run(["ninja", "-C", str(self.folder), "-t", "commands", program],
                                    stdout=subprocess.PIPE, universal_newlines=True, check=True)
            links = [line for line in listed.stdout.splitlines() if f" -o bin/{program} " in line]
            # "... && COMMAND && ...": what follows discovers the tests.
            command = next(part for part in links[-1].split(" && ") if f"-o bin/{program}" in part)
            self.links[program] = self._without_launcher(command)

    @staticmethod
    def _without_launcher(command):
        words = shlex.split(command)
        return words[1:] if os.path.basename(words[0]) in ("ccache", "sccache") else words

    def compile(self, path, source, into):
        """Compiles a text in place of a source; returns whether it does."""
        words, directory = self.compilations[path]
        words = list(words)
        words[words.index("-o") + 1] = str(into)
        words[words.index("-c") + 1] = str(source)
        words += ["-w", f"-ffile-prefix-map={source.parent}=.", *_WATCHED]
        return subprocess.run(words, cwd=directory, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def link(self, program, objects, into):
        words = list(self.links[program])
        words[words.index("-o") + 1] = str(into)
        first = next(i for i, word in enumerate(words) if word.endswith(".o"))
        words[first:first] = [str(path) for path in objects]
        done = subprocess.run(words, cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, universal_newlines=True)
        if done.returncode != 0:
            raise RuntimeError(f"{program} does not link:\n{done.stdout[-2000:]}")


class Judge:
    """Makes, builds and tests mutants."""

    def __init__(self, build, suite, reasons, scratch):
        self.build, self.suite, self.reasons, self.scratch = build, suite, reasons, scratch
        self.originals = {}

    def hash_of(self, path, folder):
        """Of the object file of the unchanged source."""
        if path not in self.originals:
            source = folder / "original" / Path(path).name
            source.parent.mkdir(exist_ok=True)
            source.write_text((ROOT / path).read_text(encoding="utf-8"), encoding="utf-8")
            self.build.compile(path, source, folder / "original.o")
            self.originals[path] = hashlib.sha256((folder / "original.o").read_bytes()).hexdigest()
        return self.originals[path]

    def judge(self, mutant):
        """(mutant, what becomes of it, by which test)."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as name:
            folder = Path(name)
            source = folder / "mutant" / Path(mutant.path).name
            source.parent.mkdir()
            lines = (ROOT / mutant.path).read_text(encoding="utf-8").split("\n")
            lines[mutant.line - 1] = mutant.changed_line(lines[mutant.line - 1])
            source.write_text("\n".join(lines), encoding="utf-8")
            changed = folder / "mutant.o"
            if not self.build.compile(mutant.path, source, changed):
                return mutant, "invalid", ""
            programs = folder / "bin"
            programs.mkdir()
            for test in self.suite.of_layer(mutant.layer):
                for program in test.programs:
                    if not (programs / program).exists():
                        self.build.link(program, [changed], programs / program)
                ended = test.run(self.suite.built, programs, self.suite.limit(test))
                if ended.how:
                    return mutant, "killed", f"{test.name} {ended.how}: {what_failed(ended.output)}"
            # Asked last: most are killed, and the question costs a compilation.
            if hashlib.sha256(changed.read_bytes()).hexdigest() == self.hash_of(mutant.path, folder):
                return mutant, "equivalent", ""
        if mutant.key in self.reasons:
            return mutant, "explained", self.reasons[mutant.key]
        return mutant, "survived", ""


def select(arguments, sources):
    """The mutants to judge: those of a file that an earlier run wrote, and some at random."""
    everything = [mutant for path in sources for mutant in mutants_of(path)
                  if arguments.only in mutant.key]
    if not everything:
        raise SystemExit(f"No mutant of the simulator has {arguments.only} in its key.")
    known, count = [], arguments.count
    if arguments.again:
        wanted = {json.loads(line)["key"] for line in
                  Path(arguments.again).read_text(encoding="utf-8").splitlines()
                  if json.loads(line)["result"] in ("survived", "explained")}
        known = [mutant for mutant in everything if mutant.key in wanted]
    elif count is None:
        count = 200
    chosen = random.Random(arguments.seed)
    return known + chosen.sample(everything, min(count or 0, len(everything)))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0],
                                     epilog=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build/sim"), metavar="FOLDER",
                        help="an up to date build of the simulator's tests (default: build/sim)")
    parser.add_argument("--count", type=int, default=None,
                        help="how many mutants by chance (default: 200; none with --again)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default: 1)")
    parser.add_argument("--only", default="", metavar="TEXT",
                        help="only mutants whose key (path, line, change) holds this")
    parser.add_argument("--tests", default="", metavar="TEXT",
                        help="only tests whose name holds this")
    parser.add_argument("--again", metavar="FILE",
                        help="those that survived in the run that wrote this file")
    parser.add_argument("--write", metavar="FILE", help="write a line of JSON for each mutant")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="default: one a core")
    parser.add_argument("--seconds", type=float, default=0, help="begin no mutant after that time")
    parser.add_argument("--least", type=float, default=95, metavar="PERCENT",
                        help="that must be killed (default: 95)")
    return parser.parse_args()


def main():
    arguments = parse()
    folder = Path(arguments.build).resolve()
    if not (folder / "compile_commands.json").is_file():
        raise SystemExit(f"{folder} is no build folder: configure and build simulator_tests first.")
    build, suite = Build(folder), Suite(folder, ROOT, arguments.tests)
    if not build.compilations:
        raise SystemExit(f"{folder} compiles the simulator's files in groups; a mutant is one file. "
                         "Configure a build without groups: "
                         "cmake --preset sim -B build/mutation -DBW_UNITY=OFF")
    if suite.missing:
        print("not built, so not run: " + ", ".join(suite.missing), flush=True)
    mutants = select(arguments, sorted(build.compilations))
    suite.measure(arguments.workers, lambda line: print(line, flush=True))
    build.read_links(suite.programs)
    tests = suite.tests.values()
    print(f"{len(mutants)} mutants; {len(tests)} tests take {sum(one.seconds for one in tests):.1f} s "
          f"without a change, {max(tests, key=lambda one: one.seconds).name} the longest", flush=True)
    counts = Counter()
    report = open(arguments.write, "w", encoding="utf-8") if arguments.write else None
    begin = time.time()
    with tempfile.TemporaryDirectory(dir=folder) as scratch, \
            concurrent.futures.ThreadPoolExecutor(arguments.workers) as pool:
        judge = Judge(build, suite, read_explained(), scratch)

        def in_time(mutant):
            if arguments.seconds and time.time() - begin > arguments.seconds:
                return mutant, "left out", ""
            return judge.judge(mutant)
        judged = [pool.submit(in_time, mutant) for mutant in mutants]
        for future in concurrent.futures.as_completed(judged):
            mutant, result, by = future.result()
            counts[result] += 1
            if result == "survived":
                print(f"survived: {mutant.describe()}", flush=True)
            if report:
                report.write(json.dumps({"key": mutant.key, "path": mutant.path, "line": mutant.line,
                                         "result": result, "by": by}) + "\n")
                report.flush()
    changing = counts["killed"] + counts["survived"]
    share = 100.0 * counts["killed"] / changing if changing else 100.0
    print(", ".join(f"{counts[name]} {name}" for name in sorted(counts)))
    print(f"killed: {share:.1f} % of {changing} that change something and aren't explained, "
          f"in {time.time() - begin:.0f} s")
    return 0 if share >= arguments.least else 1


if __name__ == "__main__":
    sys.exit(main())
