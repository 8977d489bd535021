#!/usr/bin/env bash
# The whole GEMM under the profiler; name a configuration with --config. --help says more.
. "$(dirname "${BASH_SOURCE[0]}")/../../common/tools/profile.sh"

CHAPTER=05_blockwise_fp8_gemm
NEEDS="10.0"
KERNELS="blockwise_fp8_gemm"
DEFAULTS=(--m 4096 --n 4096 --k 7168 --beta 0.5)
SECTIONS=(SpeedOfLight ComputeWorkloadAnalysis MemoryWorkloadAnalysis WarpStateStats SourceCounters
          LaunchStats)
profile_main "$@"
