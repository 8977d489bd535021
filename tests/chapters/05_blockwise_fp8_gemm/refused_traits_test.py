"""Choices that can't work don't compile, and say why: refused_traits_test.py <nvcc> <include folder>.

Each of the choices must be refused by its own sentence, and one that works must not be."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

NVCC = INCLUDES = ""
HEADER = "solutions/05_blockwise_fp8_gemm/instantiate_kernel.cuh"

# Traits and a part of the sentence.
REFUSED = [
    (".mma_m = 96", "MMA_M is 64 or 128 and N a multiple of 16"),
    (".mma_n = 152", "MMA_M is 64 or 128 and N a multiple of 16"),
    (".mma_n = 176", "at most two B-scale blocks"),
    (".mma_m = 128, .mma_n = 256", "accumulator registers per"),
    (".mma_m = 64, .cta_group = 2, .cluster_m = 2", "MMA_M 128 or 256 and N"),
    (".mma_m = 256, .mma_n = 48, .cta_group = 2, .cluster_m = 2", "multiple of 32 with cta_group 2"),
    (".mma_m = 256, .cta_group = 2", "even number of CTAs along M"),
    (".cluster_m = 4, .cluster_n = 2", "clusters are (1,1), (2,1), (2,2), (4,4) or (8,2)"),
    (".mma_n = 32, .cluster_m = 8, .cluster_n = 2", "cluster is too large for this tile"),
]


def compile_errors(traits):
    """What nvcc says of a file that names the kernel of `traits`; empty when it compiles."""
    source = (f'#include "{HEADER}"\n'
              f"constexpr auto kBytes = sizeof(bw::GemmConfig<bw::GemmTraits{{{traits}}}>"
              "::SharedStorage);\n")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "traits.cu"
        path.write_text(source)
        # The host's half of the compilation evaluates every static_assert.
        result = subprocess.run(
            [NVCC, "-std=c++20", f"-I{INCLUDES}", "--expt-relaxed-constexpr", "-arch=sm_100a",
             "-cuda", str(path), "-o", str(Path(folder) / "traits.cpp")],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    return "" if result.returncode == 0 else result.stdout


class RefusedTraits(unittest.TestCase):
    def test_each_has_its_sentence(self):
        for traits, sentence in REFUSED:
            with self.subTest(traits=traits):
                self.assertIn(sentence, compile_errors(traits))

    def test_what_works_compiles(self):
        self.assertEqual(compile_errors(".mma_m = 64, .mma_n = 256, .cluster_m = 2"), "")


if __name__ == "__main__":
    NVCC, INCLUDES = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
