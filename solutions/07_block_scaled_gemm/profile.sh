#!/usr/bin/env bash
# The block-scaled GEMM under the profiler; name a configuration with --config. --help says more.
. "$(dirname "${BASH_SOURCE[0]}")/../../common/tools/profile.sh"

CHAPTER=07_block_scaled_gemm
NEEDS="10.0"
KERNELS="block_scaled_gemm"
DEFAULTS=(--m 4096 --n 4096 --k 7168 --beta 0.5)
SECTIONS=(SpeedOfLight ComputeWorkloadAnalysis MemoryWorkloadAnalysis WarpStateStats SourceCounters
          LaunchStats)
profile_main "$@"
