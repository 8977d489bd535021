"""All exercises of a chapter, tried as their authors want them to be, by the real check:

    exercise_sweep.py NN           starters, and solutions in the first of an exercise's runs
    exercise_sweep.py NN runs      solutions in all runs
    exercise_sweep.py NN wrong     each kept wrong answer and remark, and the faulty programs
    exercise_sweep.py NN mine      what a check passes runs in the chapter's program too (`use mine`)

Status 77 (skipped) when the chapter has no exercise.
"""

import sys
from dataclasses import replace

import support
from tools import api, check, compose, device_code, exercises, regions, runs, trials
from tools.errors import WorkbookError
from tools.try_exercise import show, tools_of

SKIPPED = 77
_SMALL = ("--m", "384", "--n", "256", "--k", "512")
# The runs of each chapter's program: every ring, both group sizes.
PROGRAMS = {
    "01_mbarrier_pipeline": [("--produce", how, "--rows", "300", "--columns", "260", "--runs", "1")
                             for how in ("plain", "bulk", "tensor")],
    "02_tmem_lifecycle": [("--cta-group", "1"), ("--cta-group", "2")],
    "03_warp_contexts": [("--accumulators", count, "--ctas", "2", *_SMALL) for count in "124"],
    "04_per_k_contexts": [("--accumulators", count, "--tile-n", columns, *_SMALL)
                          for count in "14" for columns in ("64", "96", "128")],
    "05_blockwise_fp8_gemm": [("--config", name, *_SMALL) for name in (
        "cta1_128x128_1x1", "cta1_128x256_1x1", "cta1_128x128_1x1_clc", "cta1_128x128_1x1_kgroup2",
        "cta2_256x128_2x1", "cta2_128x256_2x1", "cta2_256x192_2x2_clc")],
    "06_hopper_fp8_gemm": [_SMALL],
    "07_block_scaled_gemm": [("--format", name.split("_")[0], "--config", name, *_SMALL) for name in (
        "mxfp8_cta1_128x128_1x1", "mxfp4_cta1_128x192_1x1_clc", "nvfp4_cta2_256x256_2x1_overlap")],
}


def tried(exercise, tools, what):
    """The trials of one exercise."""
    if what == "mine":
        yield from in_programs(exercise, tools)
    elif what == "wrong":
        yield from trials.wrong_answers(support.ROOT, exercise, tools)
    elif what == "runs":
        yield trials.solution(support.ROOT, exercise, tools)
    else:
        # The other runs are of programs that have tests of their own with the same lines.
        first = replace(exercise, runs=exercise.runs[:1]) if exercise.is_in_code else exercise
        for one in (trials.starter, trials.solution):
            yield one(support.ROOT, first, tools)


def in_programs(exercise, tools):
    """The solution's lines and each answer that passes with a remark, in the programs of the exercise's
    chapter and, for what its kernel is made of, of chapter 5."""
    if not exercise.is_in_code:
        return
    answers = {"solution": exercise.region.body}
    answers.update((f"remark '{one.name}'", trials.given(support.ROOT, exercise, one, None))
                   for one in exercise.remarks)
    for program in dict.fromkeys((exercise.chapter, "05_blockwise_fp8_gemm")):
        sources = [unit.source.relative_to(support.ROOT)
                   for unit in device_code.units(support.ROOT, program)]
        if not any(device_code.includes(support.ROOT, source, [exercise.solution_file])
                   for source in sources):
            continue
        for name, lines in answers.items():
            yield trials.Trial(f"{name} in {program}", "", None,
                               complaint=runs_in(exercise, tuple(lines), program, tools))


def runs_in(exercise, lines, program, tools):
    """What goes wrong where a program is run with these lines, or ""."""
    replaced = [check.composed_file(support.ROOT, [(exercise, regions.ReaderRegion(lines, 1))])]
    with compose.composed(support.ROOT, tools, [program], replaced) as composed:
        for options in PROGRAMS[program]:
            run = exercises.Run(program, options)
            result = runs.with_ptx(support.ROOT, tools, run, 0, composed.files_of(program),
                                   runs.reference(support.ROOT, tools, run, 0), "", run.checks)
            if not result.verified:
                return f"{program} {' '.join(options)}: {result.text[-2000:]}"
    return ""


def main(chapter, what):
    tools = tools_of(support.ROOT)
    own = [exercise for exercise in api.load_all(support.ROOT)
           if exercise.number[0] == int(chapter)]
    bad = 0
    for exercise in own:
        name = f"{exercise.id} {exercise.title}"
        try:
            for trial in tried(exercise, tools, what):
                problem = trial.problem()
                seconds = f" ({trial.verdict.seconds:.1f} s)" if trial.verdict else ""
                print(f"{name}, {trial.name}: {problem or 'ok'}{seconds}", flush=True)
                if problem:
                    bad += 1
                    show(trial.verdict, print) if trial.verdict else None
        except WorkbookError as error:
            bad += 1
            print(f"{name}: {error}\n{error.details}", flush=True)
    return 1 if bad else 0 if own else SKIPPED


if __name__ == "__main__":
    support.skip_without_toml()
    sys.exit(main(sys.argv[1], (sys.argv[2:] or ["right"])[0]))
