"""Choices that can't work don't compile, and say why: refused_traits_test.py <nvcc> <include folder>.

Each of the choices must be refused by its own sentence, and those that work must not be."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

NVCC = INCLUDES = ""
HEADER = "solutions/05_blockwise_fp8_gemm/instantiate_kernel.cuh"
ERROR_LIMIT = 10000

SINGLE_SHAPE = "MMA_M is 64 or 128 and N a multiple of 16"
PAIR_SHAPE = "MMA_M 128 or 256 and N a multiple of 32 with cta_group 2"
B_SCALES = "at most two B-scale blocks"
CLUSTER = "clusters are (1,1), (2,1), (2,2), (4,2), (4,4) or (8,2)"
PAIRS = "even number of CTAs along M"
SLICES = "cluster is too large for this tile"


def traits(mma_m, mma_n, cluster_m=1, cluster_n=1, cta_group=1, k_group_size=1):
    return (f"bw::GemmConfig<bw::GemmTraits{{.mma_m = {mma_m}, .mma_n = {mma_n}, "
            f".cta_group = {cta_group}, .cluster_m = {cluster_m}, .cluster_n = {cluster_n}, "
            f".k_group_size = {k_group_size}}}>::SharedStorage")


def pair(mma_m, mma_n, cluster_m=2, cluster_n=1):
    return traits(mma_m, mma_n, cluster_m, cluster_n, cta_group=2)


# Types that can't be complete, and a part of the sentence.
REFUSED = (
    [(traits(m, 128), SINGLE_SHAPE) for m in (0, 16, 32, 96, 192, 256)]
    + [(traits(m, n), SINGLE_SHAPE) for m in (64, 128) for n in (-16, 0, 8, 24, 152, 272, 512)]
    + [(traits(m, n), B_SCALES) for m in (64, 128) for n in (176, 208, 224, 240)]
    + [(pair(m, 128), PAIR_SHAPE) for m in (64, 192, 512)]
    + [(pair(m, n), PAIR_SHAPE) for m in (128, 256) for n in (0, 16, 48, 144, 288)]
    + [(pair(m, 224), B_SCALES) for m in (128, 256)]
    + [(traits(128, 128, cta_group=group), SINGLE_SHAPE) for group in (0, 3, 4)]
    + [(traits(128, 128, *shape), CLUSTER)
       for shape in ((1, 2), (4, 1), (2, 4), (8, 1), (16, 1), (8, 4), (0, 0))]
    + [(pair(256, 128, 1), PAIRS), (pair(256, 128, 3), PAIRS), (pair(256, 128, 2, 4), CLUSTER)]
    # A slice of A is rows / cluster_n, one of B columns / cluster_m: whole groups of 8.
    + [(traits(128, n, 8, 2), SLICES) for n in (16, 32, 48, 96, 112, 144, 160)]
    + [(traits(64, n, 4, 4), SLICES) for n in (16, 48, 80)]
    + [(pair(256, n, 8, 2), SLICES) for n in (32, 96, 160)]
    + [(traits(64, 64, k_group_size=size), "holds one or two K blocks") for size in (0, 3, 4)]
    + [(traits(128, 256, k_group_size=2), "less than two input stages")]
    # The parts on their own, with what no line above has asked for: a type is refused once.
    + [("bw::BlockwiseFp8Accumulator<128, 256>", "accumulator register per column"),
       ("bw::AccumulatorLayout<64, 128, 1, bw::EpilogueGroups<0, 8>>",
        "two groups of epilogue warps are for 128 rows"),
       ("bw::AccumulatorLayout<48, 64, 1>", "a CTA holds 64 or 128 rows"),
       ("bw::WarpContextTypes<bw::OutputPipelineConfig{2, 128, 1}, 32, 256>",
        "that many threads must take part"),
       ("bw::WarpContextTypes<bw::OutputPipelineConfig{2, 128, 1, 64}, 32, 64>",
        "four warps read the four lane quarters"),
       ("bw::WarpContextTypes<bw::OutputPipelineConfig{2, 128, 1}, 64, 128>",
        "one warp issues the MMAs"),
       ("bw::TmemStage<bw::OutputPipelineConfig{4, 256, 1}>", "must lie in 1"),
       ("bw::ClusterLayout<1, 6, 3>", "at most 16 CTAs")])

WORKING = ([traits(m, n) for m in (64, 128) for n in (16, 48, 112, 144, 192, 256)]
           + [pair(m, n) for m in (128, 256) for n in (32, 96, 160, 256)]
           + [traits(128, 64, 8, 2), traits(64, 32, 4, 4), pair(256, 64, 8, 2),
              traits(128, 256, 4, 4), pair(256, 256, 8, 2), traits(128, 192, k_group_size=2)])


def compile_errors(types):
    """What nvcc says about each of `types`: a list of sentences per type."""
    lines = [f'#include "{HEADER}"'] + [f"constexpr auto bytes_{i} = sizeof({name});"
                                        for i, name in enumerate(types)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "traits.cu"
        path.write_text("\n".join(lines) + "\n")
        # The host's half of the compilation evaluates every static_assert.
        result = subprocess.run(
            [NVCC, "-std=c++20", f"-I{INCLUDES}", "--expt-relaxed-constexpr", "-arch=sm_100a",
             "-Xcudafe", f"--error_limit={ERROR_LIMIT}", "-cuda", str(path), "-o",
             str(Path(folder) / "traits.cpp")],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    errors = [[] for _ in types]
    # An error is a block that ends with an empty line; it names the line that asked for the type.
    for block in re.split(r"\n\s*\n", result.stdout):
        asked = re.findall(r"at line (\d+) of \S*traits\.cu|^\S*traits\.cu\((\d+)\): error", block,
                           re.M)
        if "error:" in block:
            assert asked, block
            number = int(next(filter(None, asked[-1])))
            errors[number - 2].append(re.sub(r'"\s*"|\s+', " ", block))
    assert (result.returncode == 0) == (not any(errors)), result.stdout
    return errors


class RefusedTraits(unittest.TestCase):
    def test_each_has_its_sentence(self):
        for (name, sentence), errors in zip(REFUSED, compile_errors([r[0] for r in REFUSED])):
            with self.subTest(type=name):
                self.assertIn(sentence, " ".join(errors))

    def test_what_works_compiles(self):
        for name, errors in zip(WORKING, compile_errors(WORKING)):
            with self.subTest(type=name):
                self.assertEqual(errors, [])


if __name__ == "__main__":
    NVCC, INCLUDES = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
