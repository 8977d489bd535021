"""What each subcommand does. Every function takes (root, console, arguments), returns a status."""

import os
import re
import sys

from . import (browser, build, chapters, elf, gpu_report, labs, machine, packages, prebuilt,
               private_env, schedules, setup, simulate, toml_text, toolkit, wheels_for_tests, workspace)
from .errors import WorkbookError
from .process import run_in_foreground
from .workspace import prepare

# What `bench` measures: its program and its build.
BENCHMARKS = {"simulator": ("simulator_bench", build.SIM_BENCH),
              "plain": ("plain_cuda_bench", build.SIM),
              "checks": ("checks_bench", build.SIM),
              "configs": ("05_config_choice", build.SIM),
              "timing": ("timing_bench", build.SIM),
              "hopper": ("hopper_bench_gpu", build.GPU_BENCH)}
GRADING_BENCHMARK = "grade"
RECORDED_TIMES = "tests/hardware/timing/h100_times.csv"
HOPPER_CHAPTER = "06_hopper_fp8_gemm"


def do_setup(root, console, arguments):
    from .site import command as site_command  # the site's modules are half of what a command would read
    if prebuilt.is_used(root):
        with workspace.only_one(root, console):
            found = setup.ensure_compiler(root, console)
        console.say(f"Ready: {found.describe()}.")
        return 0
    with workspace.only_one(root, console):
        tools = setup.ensure(root, console, everything=True)
        wheels_for_tests.ensure(root, console)
        site_command.ensure(root, console)
        if arguments.grading:
            setup.ensure_grading(root, console)
        if arguments.browser:
            browser.ensure(root, console, tools)
    console.say(f"Ready: {tools.toolkit.describe()}.")
    return 0


def _report_file(name):
    """The path of a report, which can be written there."""
    path = os.path.abspath(name)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        problem = f"there is no folder {folder}"
    elif os.path.isdir(path):
        problem = "it is a folder"
    elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
        problem = "you may not write there"
    else:
        return path
    raise WorkbookError(f"--report can't write {path}: {problem}. Name a file in a folder that exists "
                        "and may be written to.", exit_code=2)


def do_run(root, console, arguments):
    from .reader import progress
    if arguments.report is not None:
        if arguments.machine == "gpu":
            raise WorkbookError("--report writes what the simulator says. Leave --gpu out.",
                                exit_code=2)
        arguments.machine = "sim"
        os.environ["BW_SIM_REPORT"] = _report_file(arguments.report)
    own = progress.load(root).use == progress.MINE
    is_exercise = re.fullmatch(r"\d+\.\d+", arguments.chapter)
    if own or is_exercise:
        workspace.require_toml(root, console)
        from .reader import own_code
    if is_exercise:
        if arguments.machine == "gpu":
            raise WorkbookError("The code of an exercise runs in the simulator. Leave --gpu out.",
                                exit_code=2)
        return own_code.run_exercise(root, console, arguments.chapter, arguments.rest,
                                     schedules.of_exercise(arguments))
    chapter = _chapter_to_run(root, arguments.chapter)
    gpus = machine.find_gpus()
    on_gpu, where = chapters.choose_machine(chapter, gpus, arguments.machine)
    schedules.require_simulator(arguments, on_gpu)
    name = chapter.name + ("_gpu" if on_gpu else "")
    configuration = (build.for_gpu(build.GPU, next(filter(chapter.runs_on, gpus))) if on_gpu
                     else build.SIM)
    tools = prepare(root, console, configuration, [name], f"Building chapter {chapter.number}",
                    environment={**os.environ, **schedules.settings(arguments)})
    command = [str(build.program(root, configuration, name)), *arguments.rest]
    head = console.paint(f"Chapter {chapter.number}: {chapter.title}", "bold") + f", {where}"
    if own and not on_gpu:
        with own_code.composed(root, console, name, tools) as (settings, phrase):
            console.say(f"{head}, {phrase}")
            return schedules.run(console, command, arguments, dict(tools.env, **settings), cwd=root)
    if own:
        head += ", with the solutions (your own code runs in the simulator: --sim)"
    console.say(head)
    return schedules.run(console, command, arguments, tools.env)


def _chapter_to_run(root, wanted):
    """The chapter that is named; a lab's name gets the command that runs it."""
    try:
        return chapters.find_program(root, wanted)
    except WorkbookError:
        lab = labs.named(root, wanted)
        if lab is None:
            raise
        raise WorkbookError(f"{wanted} is a lab: ./workbook lab {lab.name}", exit_code=2) from None


def do_sim(root, console, arguments):
    """Runs any CUDA program with the simulator's runtime and driver in place of the machine's."""
    if not arguments.rest:
        raise WorkbookError("Name the program after `--`: ./workbook sim -- ./program arguments",
                            exit_code=2)
    path = simulate.find_program(arguments.rest[0])
    program = elf.read(path)
    simulate.check(program, path)
    prepare(root, console, build.SIM, simulate.TARGETS, "Building the simulator")
    env = simulate.environment(root, os.environ, program)
    simulate.check_libraries(path, env)
    with simulate.watched(env) as made_a_call:
        status = run_in_foreground([str(path), *arguments.rest[1:]], env=env)
        if not made_a_call():
            console.say(simulate.no_call(path, program))
    return status


def do_suite(root, console, arguments):
    """A public suite of faulty and right kernels, against what the simulator says of them."""
    from . import suites
    return suites.do_suite(root, console, arguments, prepare)


def do_profile(root, console, arguments):
    """The chapter's profile.sh on a GPU that runs it, else a profile of a simulated run."""
    chapter = chapters.find_program(root, arguments.chapter)
    of_simulator = any(value is not None for value in (
        arguments.timing, arguments.gpu, arguments.launch, arguments.against, arguments.save))
    if (arguments.machine == "sim" or of_simulator or arguments.json
            or not any(map(chapter.runs_on, machine.find_gpus()))):
        from .timeline import profile_command
        return profile_command.do_profile(root, console, arguments)
    script = root / "solutions" / chapter.name / "profile.sh"
    if not script.is_file():
        raise WorkbookError(f"Chapter {chapter.number} has no profile.sh.")
    prepare(root, console, build.GPU, [chapter.name + "_gpu"], f"Building chapter {chapter.number}")
    options = ["--", *arguments.rest] if arguments.rest else []
    return run_in_foreground([str(script), *options])


def _do_test_gpu(root, console, arguments):
    """Everything natively, against the simulator; a report to send back."""
    if arguments.all or arguments.sanitize or arguments.rest:
        raise WorkbookError("--gpu runs what a GPU can run, natively; --all, --sanitize and options of "
                            "ctest have no meaning there. Leave them out.", exit_code=2)
    wanted = chapters.find(root, arguments.chapter) if arguments.chapter else None
    gpu = gpu_report.require_gpu(machine.find_gpus())
    configuration = gpu_report.configuration(gpu)
    tools = prepare(root, console, configuration, [], f"Building everything for {gpu.name}",
                    everything=True)
    return gpu_report.measure(root, console, gpu, tools, configuration.folder(root), wanted)


def do_test(root, console, arguments):
    if arguments.gpu:
        return _do_test_gpu(root, console, arguments)
    selection, configuration, targets, title = [], build.SIM, [], "Building everything"
    if arguments.sanitize:
        if arguments.chapter:
            raise WorkbookError("--sanitize runs the simulator's own tests, not those of a chapter. "
                                "Leave one of the two out.", exit_code=2)
        configuration, targets = build.SANITIZED, ["simulator_tests"]
        selection += ["--label-regex", "^simulator$"]
        title = "Building the simulator with sanitizers"
    if arguments.chapter:
        chapter = chapters.find(root, arguments.chapter)
        selection += ["--label-regex", f"^{chapter.label}$"]
        # Its kernels are a GPU's that there is: there they are tested on one.
        if chapter.name == HOPPER_CHAPTER and any(map(chapter.runs_on, machine.find_gpus())):
            configuration = build.GPU_TESTS
    if not arguments.all:
        selection += ["--label-exclude", "^slow$"]
    tools = prepare(root, console, configuration, targets, title,
                     everything=not arguments.sanitize)
    # One test more than there are cores: some wait, for a process, a lock or a second to pass.
    command = [tools.ctest, "--test-dir", str(configuration.folder(root)), "--output-on-failure",
               "--no-tests=error", "--parallel", str(machine.core_count() + 1), *selection,
               *arguments.rest]
    if console.live and sys.stdout.isatty():
        command.insert(1, "--progress")
    return run_in_foreground(command, env=tools.env)


def do_bench(root, console, arguments):
    if arguments.subject == GRADING_BENCHMARK:
        from .grading import bench
        return bench.do_bench(root, console, arguments)
    target, configuration = BENCHMARKS[arguments.subject]
    options = list(arguments.rest)
    if arguments.grid:
        if arguments.subject != "hopper":
            raise WorkbookError(f"--grid belongs to `bench hopper`, not to `bench {arguments.subject}`.",
                                exit_code=2)
        options = ["--parts", "grid", *options]
    if arguments.record:
        return _record_times(root, console, arguments)
    if arguments.validate:
        return _validate_times(root, console, arguments)
    if arguments.published:
        return _published_times(root, console, arguments)
    if arguments.subject == "hopper":
        chapters.gpu_for(chapters.find(root, HOPPER_CHAPTER), machine.find_gpus(), "`bench hopper`")
    if arguments.subject == "timing" and not any(option.startswith(("--against", "--list", "--help"))
                                                 for option in options):
        options += ["--against", str(_recorded_times(root, console))]
    tools = prepare(root, console, configuration, [target], f"Building {target}")
    return run_in_foreground([str(build.program(root, configuration, target)), *options],
                             env=tools.env)


def _validate_times(root, console, arguments):
    """Simulated times of chapters compared with those of a GPU."""
    from . import timing_validation
    if arguments.subject != "timing":
        raise WorkbookError(f"--validate belongs to `bench timing`, not to `bench {arguments.subject}`.",
                            exit_code=2)
    tools = prepare(root, console, build.SIM, sorted(set(timing_validation.CHAPTER_PROGRAMS.values())),
                    "Building the programs of chapters 1 and 6")
    return timing_validation.do_validate(root, console, tools, list(arguments.rest))


def _published_times(root, console, arguments):
    """Simulated times of two ladders of kernels compared with measured and published ones."""
    from . import timing_ladders
    if arguments.subject != "timing" or arguments.record or arguments.rest:
        raise WorkbookError("--published goes with `bench timing` alone: it runs the two ladders, and "
                            "nothing else.", exit_code=2)
    programs = [ladder.program for ladder in timing_ladders.LADDERS]
    tools = prepare(root, console, build.SIM, programs, "Building the ladders")
    return timing_ladders.do_published(root, console, tools)


def _record_times(root, console, arguments):
    """Times of chapters on this machine's GPU, for _validate_times."""
    from . import timing_recording
    if arguments.subject != "timing" or arguments.validate or arguments.rest:
        raise WorkbookError("--record goes with `bench timing` alone: it measures what `--validate` "
                            "compares with.", exit_code=2)
    gpu = chapters.gpu_for(chapters.find(root, HOPPER_CHAPTER), machine.find_gpus(), "--record")
    tools = prepare(root, console, build.GPU, sorted(set(timing_recording.PROGRAMS.values())),
                    "Building the programs of chapters 1 and 6")
    return timing_recording.do_record(root, console, tools, gpu, arguments.record)


def _recorded_times(root, console):
    """What simulated times are compared with: those of this machine's Hopper GPU, measured now, or
    those that were recorded on an H100."""
    chapter = chapters.find(root, HOPPER_CHAPTER)
    if not any(chapter.runs_on(gpu) for gpu in machine.find_gpus()):
        return root / RECORDED_TIMES
    program = "timing_bench_gpu"
    tools = prepare(root, console, build.GPU_BENCH, [program], f"Building {program}")
    path = build.GPU_BENCH.folder(root) / "gpu_times.csv"
    status = run_in_foreground([str(build.program(root, build.GPU_BENCH, program)), "--write",
                                str(path)], env=tools.env)
    if status != 0:
        raise WorkbookError(f"{program} ended with status {status}; `./workbook bench timing -- "
                            f"--against {RECORDED_TIMES}` compares with the recorded times instead.")
    return path


def do_doctor(root, console, _arguments):
    """Prints what there is and what is missing; 0 if `run` and `test` need nothing more."""
    problems = []
    gpus = machine.find_gpus()
    rows = [
        ("machine", f"{machine.processor_name()}, {machine.core_count()} cores, "
                    f"{machine.memory_gib():.0f} GiB"),
        ("system", machine.distribution_name()),
    ]
    rows += [("GPU", _describe_gpu(gpu)) for gpu in gpus] or [("GPU", "none found")]
    if prebuilt.is_used(root):
        rows += _prebuilt_rows(root)
    else:
        rows += _compiler_rows(root, problems) + _toolkit_rows(root, problems)
        rows += _library_rows(root, problems)
        rows.append(("pages", browser.describe(root)))
    if not toml_text.can_read():
        rows.append(("exercises", "`./workbook next` installs a package that reads them"))
    for name, text in rows:
        print(f"{name:<11}{text}")
    print()
    for chapter in chapters.CHAPTERS:
        print(f"chapter {chapter.number:<3}{chapter.title:<26}{_where(root, chapter, gpus)}")
    print()
    if problems:
        print("Missing: " + "; ".join(problems) + ". `./workbook setup` installs it.")
        return 1
    print("Nothing is missing.")
    return 0


def _prebuilt_rows(root):
    """A workbook from a wheel lacks nothing: the first exercise in code installs a compiler."""
    compiler, (found, _) = packages.gxx_version(), toolkit.find(root)
    ready = "ready" if compiler and found else "the first exercise in code installs what is missing"
    return [("programs", f"built, from the wheel of version {prebuilt.version(root)}"),
            ("g++", str(compiler) if compiler else "missing"),
            ("toolkit", found.describe() if found else "missing"), ("compiling", ready)]


def _describe_gpu(gpu):
    text = f"{gpu.name}, compute capability {gpu.capability}, driver {gpu.driver}"
    return text if gpu.driver_is_new_enough else f"{text} (CUDA 13 needs {machine.MINIMUM_DRIVER})"


def _where(root, chapter, gpus):
    if not chapters.written(root, chapter):
        return "not written yet"
    return chapters.describe_machine(chapter, gpus)


def _compiler_rows(root, problems):
    rows = []
    compiler = packages.gxx_version()
    if compiler is None or compiler < packages.MINIMUM_GXX:
        problems.append(f"g++ {packages.MINIMUM_GXX} or newer")
    rows.append(("g++", str(compiler) if compiler else "missing"))
    cmake = packages.version_of("cmake")
    text = ".".join(map(str, cmake)) if cmake else "missing"
    if not setup.cmake_is_new_enough():
        if private_env.cmake_folder(root):
            text += " (too old; the private environment's is used)"
        else:
            problems.append("CMake " + ".".join(map(str, packages.MINIMUM_CMAKE)) + " or newer")
    rows.append(("CMake", text))
    ninja = packages.version_of("ninja")
    if ninja is None:
        problems.append("Ninja")
    rows.append(("Ninja", ".".join(map(str, ninja)) if ninja else "missing"))
    return rows


def _toolkit_rows(root, problems):
    found, rejected = toolkit.find(root)
    rows = [("toolkit", found.describe() if found else "missing")]
    rows += [("", f"not used: {other.nvcc}, because {other.reason}") for other in rejected]
    oldest, newest = toolkit.SUPPORTED["oldest"], toolkit.SUPPORTED["newest"]
    if not found:
        problems.append(f"CUDA Toolkit {oldest} or newer")
        return rows
    rows.append(("", found.caution() or f"supported: {oldest} to {newest}"))
    nvdisasm = toolkit.find_nvdisasm(root, found.nvcc)
    rows.append(("nvdisasm", str(nvdisasm) if nvdisasm else "missing, only for tests"))
    if not nvdisasm:
        problems.append("nvdisasm")
    return rows


def _library_rows(root, problems):
    wanted = packages.libraries(root)
    if packages.gxx_version() is None:
        return [("libraries", "not known without g++")]
    missing = packages.missing_libraries(wanted)
    rows = []
    for library in wanted:
        if library not in missing:
            text = "found"
        else:
            text = f"missing ({library.debian})"
            if library.purpose == packages.SIMULATOR_BENCH:
                text += ", only for benchmarks"
            else:
                problems.append(library.debian)
        rows.append((library.name, text))
    return rows
