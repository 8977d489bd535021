"""Names each CTA's roles: as the texts and figures call them where the kernel is the workbook's, else
by the functions that their warps alone are in."""

import re
from collections import defaultdict

from .model import Role

# A role's function has to take at least this share of its warps' time to name it. It is small: a warp
# that has done its work waits for the others.
NAMING_SHARE = 0.005
# Set-up functions, and CUDA's own (__syncwarp), do not name a role.
SET_UP = re.compile(r"init|prefetch|elect_one|^__")
# The roles by the names of the chapters' texts and figures, and the functions of the chapters'
# kernels and labs that are theirs.
OF_TEXTS = {
    "producer": ("produce_tiles",),
    "consumers": ("consume_tiles",),
    "scheduler": ("publish_all",),
    "load": ("load", "load_operands", "load_scaled_operands"),
    "epilogue load": ("load_residual", "load_c"),
    "MMA": ("multiply", "multiply_scaled"),
    "math": ("MathWarpgroup::run",),
    "epilogue": ("write_and_read", "write", "write_rows", "write_tiles", "write_scaled_tiles"),
    "output": ("OutputWarp::run",),
    "idle": ("decrease_registers",),
}
_OF_FUNCTIONS = {function: name for name, functions in OF_TEXTS.items() for function in functions}
WORKBOOK = re.compile(r"(?:^|/)(?:(?:solutions|chapters)/\d\d_\w+|common/device)/")


def functions():
    """{function: role} of the chapters' kernels."""
    return dict(_OF_FUNCTIONS)


def name(models):
    """Fills in Cta.roles."""
    for model in models:
        for cta in model.ctas:
            names = _role_names(cta, model)
            groups = {}
            for warp in sorted(cta.warps):
                groups.setdefault(names[warp], []).append(warp)
            cta.roles = [Role(name, tuple(warps)) for name, warps in groups.items()]


def _role_names(cta, model):
    weights = {}
    for warp, segments in cta.warps.items():
        mine = defaultdict(int)
        for segment in segments:
            parts = segment.parts or [(segment.begin, segment.end, 0, segment.instruction)]
            for begin, end, _, instruction in parts:
                if instruction is None or end is None:
                    end = cta.end
                for path in _function_paths(model.places, instruction):
                    mine[path] += end - begin
        weights[warp] = mine
    return {warp: _role_name(warp, weights, cta, model) for warp in weights}


def _function_paths(places, instruction):
    """The inlined functions around an instruction, outermost first: (f,), (f, g), ..."""
    if instruction is None or instruction not in places:
        return ()
    functions = [frame.function for frame in reversed(places[instruction].stack)][1:]
    return [tuple(functions[:depth + 1]) for depth in range(len(functions))]


def _role_name(warp, weights, cta, model):
    """The name of a warp's role."""
    mine = weights[warp]
    total = sum(segment.length(cta.end) for segment in cta.warps[warp]) or 1
    others = [weights[other] for other in weights if other != warp]
    best = None
    for path, weight in mine.items():
        # A function that all warps are in (the dispatch, the set-up) does not name a role.
        shared = all(_is_in(other, path) for other in others) and others
        outer = path[:-1]
        outer_shared = not outer or all(_is_in(other, outer) for other in others)
        if (shared or not outer_shared or weight < NAMING_SHARE * total
                or not path[-1] or SET_UP.search(path[-1])):
            continue
        if best is None or weight > mine[best]:
            best = path
    if best is None:
        return _behaviour(warp, cta)
    parts = best[-1].split("::")
    # A member called `run` says nothing without its class.
    function = "::".join(parts[-2:]) if parts[-1] == "run" else parts[-1]
    if _is_the_workbooks(best, cta.warps[warp], model.places):
        return _OF_FUNCTIONS.get(function, function)
    return function


def _is_the_workbooks(path, segments, places):
    """Whether a path of functions ends in a file of a chapter."""
    for segment in segments:
        for instruction in {part[3] for part in segment.parts} | {segment.instruction}:
            frames = list(reversed(places[instruction].stack))[1:] if instruction in places else []
            if tuple(frame.function for frame in frames[:len(path)]) == path:
                return bool(WORKBOOK.search(frames[len(path) - 1].path))
    return False


def _is_in(weights, path):
    """Whether a warp is in a function for more than what moved there from another line."""
    return weights.get(path, 0) > 2


def _behaviour(warp, cta):
    """What a warp without a function of its own does."""
    if any(mma.warp == warp for mma in cta.mmas):
        return "MMA"
    if any(copy.warp == warp and copy.direction == "load" for copy in cta.copies):
        return "load"
    if any(event.warp == warp for event in cta.tensor_memory):
        return "epilogue"
    if any(copy.warp == warp for copy in cta.copies):
        return "store"
    return "threads"
