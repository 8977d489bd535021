#!/usr/bin/env bash
# How busy the tensor cores are while the epilogue runs: the GEMM with one scale per tensor under the
# profiler. Compare --accumulators 1 with 2. --help says more.
. "$(dirname "${BASH_SOURCE[0]}")/../../common/tools/profile.sh"

CHAPTER=03_warp_contexts
NEEDS="10.0"
KERNELS="fp8_gemm_kernel"
DEFAULTS=(--m 4096 --n 4096 --k 4096)
SECTIONS=(SpeedOfLight ComputeWorkloadAnalysis MemoryWorkloadAnalysis WarpStateStats LaunchStats)
profile_main "$@"
