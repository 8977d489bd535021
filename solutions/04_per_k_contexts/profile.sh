#!/usr/bin/env bash
# What the scaling of every K block costs: the blockwise GEMM with one tile per CTA under the profiler.
# --help says more.
. "$(dirname "${BASH_SOURCE[0]}")/../../common/tools/profile.sh"

CHAPTER=04_per_k_contexts
NEEDS="10.0"
KERNELS="blockwise_tile_kernel"
DEFAULTS=(--m 4096 --n 4096 --k 4096)
SECTIONS=(SpeedOfLight ComputeWorkloadAnalysis MemoryWorkloadAnalysis WarpStateStats LaunchStats)
profile_main "$@"
