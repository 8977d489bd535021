"""Compiles the device code of a built program again, with some files replaced, to PTX alone."""

import functools
import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from . import (blame, build, confinement, limited, machine, prebuilt, ptx_cache,
               ptx_errors, reports)
from .errors import GraderError, WorkbookError

COMPILE_SECONDS = 60
MOST_PTX_BYTES = 16 * confinement.MIB  # a chapter's kernel takes half of one
ARCHITECTURE = "compute_100a"  # of a source that is compiled for several
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
_KEPT_FLAGS = ("-I", "-D", "-O", "-std", "--expt", "-lineinfo", "-isystem")


@dataclass(frozen=True)
class Unit:
    """A CUDA source of a program, and the flags that its device code is compiled with."""

    source: Path
    flags: tuple
    architecture: str = ARCHITECTURE


@dataclass(frozen=True)
class Replaced:
    """A file that a compilation takes instead of the one of the repository."""

    name: Path          # relative to the root: what is replaced
    text: str
    reader_file: Path   # relative to the root: what reports name instead
    owner: str = reports.YOURS  # comes before that name

    @property
    def shown(self):
        """The base name that reports show."""
        return self.owner + self.reader_file.name


def _read_build(root):
    folder = build.SIM.folder(root)
    try:
        ninja = (folder / "build.ninja").read_text(encoding="utf-8")
        commands = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WorkbookError("The workbook is not built yet: `./workbook test 1` or any `./workbook "
                            "run` builds it.") from error
    return ninja, commands


def units(root, program):
    """The CUDA sources of a program, as the build compiles them."""
    if prebuilt.is_used(root):
        return [Unit(unit["source"], tuple(unit["flags"]), unit["architecture"])
                for unit in prebuilt.units(root, program)]
    stamps = []
    for name in ("build.ninja", "compile_commands.json"):
        try:
            stamps.append((build.SIM.folder(root) / name).stat().st_mtime_ns)
        except OSError:
            stamps.append(0)
    return list(_units(root, program, tuple(stamps)))


@functools.lru_cache(maxsize=64)
def _units(root, program, _stamps):
    ninja, commands = _read_build(root)
    link = re.search(rf"^build bin/{re.escape(program)}: \S+ ((?:[^|\n]|\$\n)*)", ninja, re.M)
    if not link:
        raise WorkbookError(f"The build has no program '{program}'.")
    objects = set(link.group(1).replace("$\n", " ").split())
    found = []
    for entry in commands:
        # Taking a command apart is slow, so only one that may be meant is.
        # Without `-x cu` it is host code alone, which the C++ compiler compiles.
        if (not entry["file"].endswith(".cu") or " -x cu " not in entry["command"]
                or not any(name in entry["command"] for name in objects)):
            continue
        words = shlex.split(entry["command"])
        if "-o" in words and words[words.index("-o") + 1] in objects:
            found += [Unit(source, tuple(_flags(words)), _architecture(words))
                      for source in _members(root, Path(entry["file"]))]
    return found


def _members(root, source):
    """A source, or the sources that the build compiles as one: in a file of the build folder."""
    if build.SIM.folder(root) not in source.parents:
        return [source]
    return [Path(root) / member
            for member in _INCLUDE.findall(source.read_text(encoding="utf-8"))]


def _architecture(words):
    named = re.findall(r"arch=(compute_\w+)", " ".join(words))
    return named[0] if named and ARCHITECTURE not in named else ARCHITECTURE


def _flags(words):
    flags = []
    for index, word in enumerate(words):
        if word.startswith(_KEPT_FLAGS):
            flags.append(word)
            if word in ("-I", "-D", "-isystem", "-std"):
                flags.append(words[index + 1])
    return flags


def includes(root, source, files, cache=None):
    """Whether a source is one of `files` or includes one, directly or not (root-relative names)."""
    return bool(_closure(Path(root), source, {} if cache is None else cache) & set(files))


def _closure(root, source, cache):
    """The repository's files that a file includes, itself among them, relative to the root."""
    todo, found = [source], set()
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        if name not in cache:
            try:
                text = (root / name).read_text(encoding="utf-8", errors="replace")
            except OSError:
                text = ""
            cache[name] = [Path(other) for other in _INCLUDE.findall(text)
                           if (root / other).is_file()]
        todo += cache[name]
    return found


@dataclass(frozen=True)
class Compiled:
    """PTX files, or why there are none."""

    files: tuple = ()
    errors: str = ""       # the compiler's words
    limit: str = ""        # of verdict.LIMITS: which one has ended the compiler


def over_limit(limit):
    """A sentence about a compiler that was stopped."""
    if limit == "time":
        return f"The compiler did not come to an end within {COMPILE_SECONDS} s."
    return {"memory": "The compiler ran out of the memory that it may take.",
            "output": "The compiler wrote more than it may."}[limit]


def compile_to_ptx(root, tools, programs, replaced, folder, only=()):
    """{program: Compiled}: those sources of the programs that the replaced files concern, all of
    them at once. `folder` is emptied by the caller; it receives the replaced files and the PTX.
    `only`: names of the sources to compile, where one has the kernels that are wanted.

    What was compiled once from the same texts is not compiled again."""
    root = Path(root)
    overlay, temporary = folder / "include", folder / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    for file in replaced:
        target = overlay / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(file.text, encoding="utf-8")
    compiled = {program: Compiled() for program in programs}
    jobs = _jobs(root, tools, programs, replaced, overlay, only)
    _compile(root, tools, [job for job in jobs if not ptx_cache.has(root, job.key)], replaced, folder)
    for number, job in enumerate(jobs):
        before = compiled[job.program]
        if job.limit or job.errors or ptx_cache.errors(root, job.key):
            compiled[job.program] = Compiled(
                errors=before.errors or job.errors or ptx_cache.errors(root, job.key),
                limit=before.limit or job.limit)
        elif not before.errors and not before.limit:
            output = ptx_cache.copy(root, job.key, folder / f"{number}.ptx")
            if ".entry" in output.read_text(encoding="utf-8"):
                compiled[job.program] = Compiled((*before.files, output))
    return compiled


@dataclass
class _Job:
    """A source that is to be compiled for a program; `key`: of what its PTX depends on."""

    program: str
    command: list
    key: str
    source: Path         # relative to the root
    errors: str = ""
    limit: str = ""


def _jobs(root, tools, programs, replaced, overlay, only):
    cache, names, jobs = {}, [file.name for file in replaced], []
    texts = {file.name: file.text for file in replaced}
    for program in programs:
        concerned = [unit for unit in units(root, program)
                     if includes(root, unit.source.relative_to(root), names, cache)
                     and (not only or unit.source.name in only)]
        if not concerned:
            raise WorkbookError(f"The program {program} doesn't include {names[0]}"
                                + (f" in {', '.join(only)}." if only else "."))
        for unit in concerned:
            source = unit.source.relative_to(root)
            command = [str(tools.toolkit.nvcc), *unit.flags, f"-arch={unit.architecture}", "-ptx",
                       "-x", "cu"]
            key = ptx_cache.key([str(root), tools.toolkit.release, *command, str(source),
                                 *(file.shown for file in replaced)], root,
                                _closure(root, source, cache), texts)
            command[1:1] = [f"-I{overlay}"]
            jobs.append(_Job(program, [*command, str(overlay / source if source in names else
                                                     unit.source)], key, source))
    return jobs


def _compile(root, tools, jobs, replaced, folder):
    """Compiles into the cache; what has no end is the job's own.

    What the compiler says is a job's errors when it names the reader's lines. Anything else may be this
    machine's fault: then the compiler gets another try, and the solution's own text to compile.
    """
    outputs = [folder / f"new-{number}.ptx" for number in range(len(jobs))]
    waiting = list(zip(jobs, outputs))
    for is_last in (False, True):
        ended = _run_compilers(root, tools, [(job.command, output) for job, output in waiting], folder)
        doubtful = []
        for (job, output), result in zip(waiting, ended):
            if _is_settled(tools, job, output, result, replaced, folder):
                _keep(root, job, output, replaced)
            elif is_last:
                _require_solution(root, tools, job, result, folder)
                _keep(root, job, output, replaced)
            else:
                doubtful.append((job, output))
        waiting = doubtful
        if not waiting:
            return


def _run_compilers(root, tools, compilations, folder):
    confined, bounds = tools.confinement, confinement.Bounds(COMPILE_SECONDS)
    commands = [confined.command([*command, "-o", str(output)], bounds, writable=folder)
                for command, output in compilations]
    env = confined.environment({**tools.env, "TMPDIR": str(folder / "tmp")})
    return limited.run_all(commands, confined.seconds(bounds), env=env, cwd=root,
                           parallel=tools.cores or machine.core_count(), cpu_seconds=bounds.cpu_seconds)


def _is_settled(tools, job, output, result, replaced, folder):
    """Fills in a job's errors and limit; whether they are the text's without a doubt."""
    bounds = confinement.Bounds(COMPILE_SECONDS)
    job.errors, job.limit = "", tools.confinement.exceeded(result, bounds)
    words = _words(result, output, folder)
    if not job.limit and result.status == 0:
        if not blame.is_plain_file(output) or not output.stat().st_size:
            blame.require_no_fault_of_machine("The compiler", result, folder)
            raise GraderError("The compiler reported success and wrote no PTX.", details=result.text)
        if output.stat().st_size > MOST_PTX_BYTES:
            job.errors, job.limit = words, "output"
        return True
    job.errors = words or "The compiler failed without a word.\n"
    found = [reports.first_error(words, file.reader_file) for file in replaced]
    if job.limit == "time" or result.printed_too_much or (
            not job.limit and any(error and error.line for error in found)):
        return True
    blame.require_no_fault_of_machine("The compiler", result, folder)
    return False


def _words(result, output, folder):
    """What a compiler said about the source."""
    said = result.text
    if result.status != 0 and blame.is_plain_file(output) and output.stat().st_size <= MOST_PTX_BYTES:
        ptx = output.read_text(encoding="utf-8", errors="replace")
        said = ptx_errors.explained(said, ptx, str(output))
    return said.replace(str(folder), ".")  # which is another one each time


def _require_solution(root, tools, job, result, folder):
    """Throws where the solution's own text doesn't compile in the same way."""
    command = [word for word in job.command if word != f"-I{folder / 'include'}"]
    command[-1] = str(root / job.source)
    output = folder / "solution.ptx"
    ended, = _run_compilers(root, tools, [(command, output)], folder)
    if ended.status != 0 or not blame.is_plain_file(output):
        raise GraderError("The compiler fails on the solution's own text too: "
                          f"{blame.last_words(ended)}", details=ended.text)
    blame.require_no_fault_of_machine("The compiler", result, folder)


def _keep(root, job, output, replaced):
    if job.limit:
        return
    if job.errors:
        ptx_cache.put_errors(root, job.key, job.errors)
    else:
        _name_reader_files(root, output, replaced)
        ptx_cache.put(root, job.key, output)


def _name_reader_files(root, ptx, replaced):
    """Lets reports tell the lines of `replaced` from the solution's."""
    text = ptx.read_text(encoding="utf-8")
    for file in replaced:
        shown = (root / file.name).parent / file.shown
        text = text.replace(f'"{root / file.reader_file}"', f'"{shown}"')
    ptx.write_text(text, encoding="utf-8")
