#!/usr/bin/env python3
"""A check of the checks: changes the simulator's sources, one token at a time, and runs its tests.

    tests/mutation/mutate.py --count 200 --seed 1 --write mutants.jsonl

A mutant is a source file in which one operator, bound or constant is another one. It is compiled alone
and linked into the simulator's shared library that holds the original, in place of it. The tests that
can see the source (suite.py) run with this library until one fails: then the mutant is killed. The build
folder is only read (it must be up to date), so any number of workers share it. What becomes of a mutant:

  killed      a test fails, crashes or hangs (runs much longer than without the change)
  equivalent  the compiler makes the same object file of it
  explained   no test fails, and explained.txt next to this file says why that is right
  survived    no test fails
  invalid     it doesn't compile

A file that --write names is continued: what it says of a mutant is not found out again. The exit status
is 0 if at least --least percent of those that change something were killed.
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

from suite import LIBRARY, NOT_COMPILED, OBSERVERS, Suite, what_failed, wrong_in_map

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
_SECONDS_BEFORE_ASKING = 20.0  # that a mutant's tests take, whether it changes anything
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
    """The build folder: how a source is compiled, and how the libraries are linked."""

    def __init__(self, folder):
        self.folder = folder
        self.compilations, self.header, self.link_words = {}, None, {}
        for entry in json.loads((folder / "compile_commands.json").read_text(encoding="utf-8")):
            words = self._without_launcher(entry["command"])
            # Objects of the targets that the libraries hold: simulator_objects and others.
            if not words[words.index("-o") + 1].startswith("common/simulator/"):
                continue
            if entry["file"].endswith("cmake_pch.hxx.cxx"):
                self.header = words, entry["directory"]
                continue
            for path in sources_of(entry["file"]):
                self.compilations[os.path.relpath(path, ROOT)] = words, entry["directory"]

    @staticmethod
    def _without_launcher(command):
        words = shlex.split(command)
        return words[1:] if os.path.basename(words[0]) in ("ccache", "sccache") else words

    def library_of(self, path):
        """The library that holds a source."""
        words, _ = self.compilations[path]
        return OBSERVERS if "simulator_observer_objects" in words[words.index("-o") + 1] else LIBRARY

    def prepare(self, scratch):
        """Asks Ninja how the libraries are linked; compiles the precompiled header as mutants are."""
        for library in (LIBRARY, OBSERVERS):
            listed = subprocess.run(["ninja", "-C", str(self.folder), "-t", "commands", library],
                                    stdout=subprocess.PIPE, universal_newlines=True, check=True)
            command = next(part for line in reversed(listed.stdout.splitlines())
                           for part in line.split(" && ") if f"-o {library}" in part)
            self.link_words[library] = self._without_launcher(command)
        if self.header:
            words, directory = self.header
            built = words[words.index("-include") + 1]
            header = scratch / "cmake_pch.hxx"
            header.write_text(f'#include "{built}"\n', encoding="utf-8")
            words = _with(words, {"-o": f"{header}.gch", "-include": header})
            subprocess.run([*words, "-w", *_WATCHED], cwd=directory, check=True)
            for path, (words, directory) in self.compilations.items():
                if built in words:
                    self.compilations[path] = _with(words, {"-include": header}), directory

    def compile(self, path, source, into):
        """Compiles a text in place of a source; returns whether it does."""
        words, directory = self.compilations[path]
        words = _with(words, {"-o": into, "-c": source})
        words += ["-w", f"-ffile-prefix-map={source.parent}=.", *_WATCHED]
        return subprocess.run(words, cwd=directory, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def link(self, library, mutant, into):
        """A library with an object file before the others, whose functions take the place of theirs:
        code for a shared library calls every function by its symbol, also one of its own file. It finds
        the other library in the build folder."""
        words = _with(self.link_words[library], {"-o": into})
        words.append(f"-Wl,-rpath,{self.folder / 'lib'}")
        first = next(i for i, word in enumerate(words) if word.endswith(".o"))
        words[first:first] = ["-Wl,--allow-multiple-definition", str(mutant)]
        done = subprocess.run(words, cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, universal_newlines=True)
        if done.returncode != 0:
            raise RuntimeError(f"the library does not link:\n{done.stdout[-2000:]}")

    def link_dead(self, scratch):
        """The library with a function that ends every program of a build folder as it starts: what then
        passes does not test the simulator."""
        (scratch / "dead.cpp").write_text(
            "#include <unistd.h>\n#include <cstring>\n[[gnu::constructor]] static void end() {\n"
            "  char name[4096] = {};\n  (void)!readlink(\"/proc/self/exe\", name, sizeof name - 1);\n"
            "  if (std::strstr(name, \"/bin/python\") == nullptr) _exit(86);\n}\n", encoding="utf-8")
        library = scratch / "dead" / Path(LIBRARY).name
        library.parent.mkdir()
        compiler = self.link_words[LIBRARY][0]
        subprocess.run([compiler, "-shared", "-fPIC", "-x", "c++", str(scratch / "dead.cpp"),
                        "-x", "none", str(self.folder / LIBRARY), f"-Wl,-soname,{library.name}",
                        "-o", str(library)], check=True)
        return library


def sources_of(file):
    """The sources that a file of a compilation holds: those of a group, or itself."""
    if "/Unity/" not in file:
        return [file]
    return re.findall(r'^#include "(.+)"', Path(file).read_text(encoding="utf-8"), re.M)


def _with(words, values):
    """A command with other values of some of its options."""
    words = list(words)
    for option, value in values.items():
        words[words.index(option) + 1] = str(value)
    return words


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
        """(what becomes of it, by which test)."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as name:
            folder = Path(name)
            source = folder / "mutant" / Path(mutant.path).name
            source.parent.mkdir()
            lines = (ROOT / mutant.path).read_text(encoding="utf-8").split("\n")
            lines[mutant.line - 1] = mutant.changed_line(lines[mutant.line - 1])
            source.write_text("\n".join(lines), encoding="utf-8")
            changed = folder / "mutant.o"
            if not self.build.compile(mutant.path, source, changed):
                return "invalid", ""
            original = self.build.library_of(mutant.path)
            library = folder / Path(original).name
            self.build.link(original, changed, library)
            spent, asked = 0.0, False
            for test in self.suite.of_layer(mutant.layer):
                # Asked late: most are killed, and the question costs a compilation.
                asked = asked or spent + test.seconds > _SECONDS_BEFORE_ASKING
                if asked and self.is_equivalent(mutant, changed, folder):
                    return "equivalent", ""
                ended = test.run(library, self.suite.limit(test))
                spent += ended.seconds
                if ended.how:
                    self.suite.kills[mutant.layer, test.name] += 1
                    return "killed", f"{test.name} {ended.how}: {what_failed(ended.output)}"
            if self.is_equivalent(mutant, changed, folder):
                return "equivalent", ""
        if mutant.key in self.reasons:
            return "explained", self.reasons[mutant.key]
        return "survived", ""

    def is_equivalent(self, mutant, changed, folder):
        """Whether the compiler makes the same object file of the changed source."""
        return hashlib.sha256(changed.read_bytes()).hexdigest() == self.hash_of(mutant.path, folder)


class Results:
    """What became of each mutant, by key; each result is a line of a file, if there is one, of which
    the last line for a mutant counts."""

    def __init__(self, name):
        self.of, self.name = {}, name
        if name and os.path.exists(name):
            for line in Path(name).read_text(encoding="utf-8").splitlines():
                result = json.loads(line)
                self.of[result["key"]] = result

    def add(self, mutant, result, by):
        self.of[mutant.key] = {"key": mutant.key, "path": mutant.path, "line": mutant.line,
                               "result": result, "by": by}
        if self.name:
            with open(self.name, "a", encoding="utf-8") as file:
                file.write(json.dumps(self.of[mutant.key]) + "\n")

    def share(self, layer=""):
        """(percentage of the killed, of how many that change something and aren't explained)."""
        counts = Counter(one["result"] for one in self.of.values()
                         if one["path"].startswith(f"common/simulator/{layer}"))
        changing = counts["killed"] + counts["survived"]
        return (100.0 * counts["killed"] / changing if changing else 100.0), changing

    def summary(self):
        counts = Counter(one["result"] for one in self.of.values())
        yield ", ".join(f"{counts[name]} {name}" for name in sorted(counts))
        for layer in sorted({one["path"].split("/")[2] for one in self.of.values()}):
            yield "  {}/: {:.1f} % of {}".format(layer, *self.share(layer + "/"))
        yield "killed: {:.1f} % of {} that change something and aren't explained".format(*self.share())


def select(arguments, sources, results):
    """The mutants to judge: those that survived an earlier run, and some at random, unless judged."""
    everything = [mutant for path in sources for mutant in mutants_of(path)
                  if arguments.only in mutant.key]
    if not everything:
        raise SystemExit(f"No mutant of the simulator has {arguments.only} in its key.")
    known, count = [], arguments.count
    if arguments.again:
        wanted = {key for key, one in Results(arguments.again).of.items()
                  if one["result"] in ("survived", "explained")}
        known = [mutant for mutant in everything if mutant.key in wanted]
        gone = wanted - {mutant.key for mutant in known}
        if gone and not arguments.only:
            print("in no source any more: " + "; ".join(sorted(gone)), flush=True)
    elif count is None:
        count = 200
    chosen = random.Random(arguments.seed).sample(everything, min(count or 0, len(everything)))
    return known + [mutant for mutant in chosen if mutant.key not in results.of]


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
                        help="only tests whose name holds this, those that are built")
    parser.add_argument("--longest", type=float, default=1000, metavar="SECONDS",
                        help="leave out tests that take more processor time")
    parser.add_argument("--shortest", type=float, default=-1, metavar="SECONDS",
                        help="leave out tests that take at most that: those of an earlier run with "
                             "--longest")
    parser.add_argument("--again", metavar="FILE",
                        help="those that survived in the run that wrote this file")
    parser.add_argument("--write", metavar="FILE",
                        help="add a line of JSON for each mutant, and judge none that has one")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="default: one a core")
    parser.add_argument("--seconds", type=float, default=0, help="begin no mutant after that time")
    parser.add_argument("--least", type=float, default=95, metavar="PERCENT",
                        help="that must be killed (default: 95)")
    return parser.parse_args()


def checked(arguments):
    """The build folder: (Build, Suite), or an error that says what it lacks."""
    folder = Path(arguments.build).resolve()
    for library in (LIBRARY, OBSERVERS):
        if not (folder / library).is_file():
            raise SystemExit(f"{folder} has no {library}, in which mutants are linked: configure it "
                             "with BW_SHARED_SIMULATOR=ON and build the tests first.")
    build, suite = Build(folder), Suite(folder, ROOT, arguments.tests)
    simulator = ROOT / "common/simulator"
    sources = [path.relative_to(simulator).as_posix() for path in sorted(simulator.rglob("*.cpp"))]
    wrong = wrong_in_map(sources, suite.listed)
    wrong += [f"{folder} does not compile common/simulator/{path}: configure it again"
              for path in sources if f"common/simulator/{path}" not in build.compilations
              and not path.startswith(NOT_COMPILED)]
    if wrong:
        raise SystemExit("\n".join(wrong))
    if suite.missing and not arguments.tests:
        raise SystemExit(f"not built in {folder}: " + ", ".join(suite.missing)
                         + ". Build them, or select tests that are built (--tests).")
    return build, suite


def prepare(build, suite, scratch, arguments):
    """Everything that happens once: what each test says and takes without a change, and that it fails
    without a simulator."""
    def say(line):
        print(line, flush=True)

    build.prepare(scratch)
    ran = [test for test in suite.measure(arguments.workers, say) if test.name in suite.tests]
    blind = suite.passing(ran, build.link_dead(scratch), arguments.workers)
    if blind:
        raise SystemExit("pass although no program starts, so they do not run the library that holds "
                         "the mutant: " + ", ".join(blind))
    suite.keep(arguments.shortest, arguments.longest)
    if not suite.tests:
        raise SystemExit("no test takes that long: select others with --tests, --shortest and --longest")
    tests = suite.tests.values()
    say(f"{len(tests)} tests take {sum(one.seconds for one in tests):.0f} s of processor time without a "
        f"change, {max(tests, key=lambda one: one.seconds).name} the longest")


def main():
    arguments = parse()
    build, suite = checked(arguments)
    reasons, results = read_explained(), Results(arguments.write)
    known = {mutant.key for path in build.compilations for mutant in mutants_of(path)}
    for key in sorted(set(reasons) - known):
        print(f"explained.txt explains what is in no source: {key}", flush=True)
    mutants = select(arguments, sorted(build.compilations), results)
    print(f"{len(mutants)} mutants of {len(known)}", flush=True)
    begin = time.time()
    with tempfile.TemporaryDirectory(dir=build.folder) as scratch, \
            concurrent.futures.ThreadPoolExecutor(arguments.workers) as pool:
        prepare(build, suite, Path(scratch), arguments)
        judge = Judge(build, suite, reasons, scratch)

        def in_time(mutant):
            if arguments.seconds and time.time() - begin > arguments.seconds:
                return mutant, "", ""
            return (mutant, *judge.judge(mutant))
        judged = [pool.submit(in_time, mutant) for mutant in mutants]
        for future in concurrent.futures.as_completed(judged):
            mutant, result, by = future.result()
            if not result:
                continue
            results.add(mutant, result, by)
            if result == "survived":
                print(f"survived: {mutant.describe()}", flush=True)
    print("\n".join(results.summary()))
    return 0 if results.share()[0] >= arguments.least else 1


if __name__ == "__main__":
    sys.exit(main())
