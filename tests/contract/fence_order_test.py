"""The fences of the contract's members, which change no value that a kernel could observe in the
simulator: fence_order_test.py <nvcc> <root>. Compiles fence_order.cu to PTX and looks at the order
of the instructions of each kernel."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

NVCC, ROOT = Path(sys.argv[1]), Path(sys.argv[2])
ARRIVE = r"mbarrier\.arrive\."
WAIT = r"mbarrier\.try_wait\."
ACQUIRE_OF_CLUSTER = WAIT + r"parity\.acquire\.cluster"
PROXY = r"fence\.proxy\.async\.shared::cta"
BEFORE = r"tcgen05\.fence::before_thread_sync"
AFTER = r"tcgen05\.fence::after_thread_sync"

# PTX ISA, "Memory Consistency Model: tcgen05": what another thread reads or overwrites next is
# ordered by before_thread_sync ahead of the arrival and after_thread_sync after the wait. "Async
# proxy": ordinary reads that TMA's next write follows need the proxy fence ahead of the arrival, in
# every lane, and the lanes' meeting before one of them arrives.
ORDERS = {
    "acquire_for_mma": [WAIT, AFTER],
    "acquire_for_mma_of_a_pair": [ACQUIRE_OF_CLUSTER, AFTER],
    "acquire_for_epilogue": [WAIT + r"parity\.shared", AFTER],
    "acquire_for_epilogue_of_a_pair": [ACQUIRE_OF_CLUSTER, AFTER],
    "epilogue_arrive": [BEFORE, ARRIVE],
    # Reads of tensor memory are ordered by the fence; the arrival publishes nothing, and the ISA's own
    # pattern has a relaxed one (PTX ISA, "tcgen05 memory consistency model").
    "epilogue_arrive_of_a_pair": [BEFORE, ARRIVE + r"shared::cluster"],
    # Whoever waits for arrivals or copies of another CTA acquires at cluster scope.
    "wait_for_input": [WAIT + r"parity\.shared"],
    "wait_for_input_of_a_pair": [ACQUIRE_OF_CLUSTER],
    "try_input_of_a_pair": [r"mbarrier\.test_wait\.parity\.acquire\.cluster"],
    "take_answer": [WAIT + r"parity\.shared", r"clusterlaunchcontrol\.query_cancel", PROXY, ARRIVE],
    "take_answer_in_a_cluster": [ACQUIRE_OF_CLUSTER, r"clusterlaunchcontrol\.query_cancel", PROXY,
                                 ARRIVE + r"release\.cluster"],
    "ask_for_a_cluster": [ACQUIRE_OF_CLUSTER, r"clusterlaunchcontrol\.try_cancel"],
    "arrive_input": [PROXY, r"bar\.warp\.sync", ARRIVE],
    "signal_complete": [BEFORE, ARRIVE],
    "signal_complete_of_a_pair": [BEFORE, ARRIVE + r"release\.cluster", ARRIVE + r"shared::cta"],
    "complete_dealloc": [r"tcgen05\.relinquish", WAIT, AFTER, r"tcgen05\.dealloc"],
}


def kernels_of(source):
    """PTX body of every kernel of a CUDA source, by name."""
    with tempfile.TemporaryDirectory() as folder:
        ptx = Path(folder) / "kernels.ptx"
        result = subprocess.run(
            [str(NVCC), "-std=c++20", "--expt-relaxed-constexpr", "-arch=sm_100a", "-ptx",
             f"-I{ROOT}", str(source), "-o", str(ptx)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        assert result.returncode == 0, result.stdout
        text = ptx.read_text()
    return dict(re.findall(r"\.entry (\w+)\(.*?\{\n(.*?)\n\}\n", text, re.DOTALL))


class FenceOrder(unittest.TestCase):
    def test_members_fence_what_they_hand_over(self):
        kernels = kernels_of(ROOT / "tests/contract/fence_order.cu")
        self.assertEqual(set(kernels), set(ORDERS))
        for name, instructions in ORDERS.items():
            with self.subTest(member=name):
                self.assertRegex(kernels[name], r"[\s\S]*".join(instructions))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
