#!/usr/bin/env bash
# The Hopper GEMM under the profiler; name a configuration with --config. --help says more.
. "$(dirname "${BASH_SOURCE[0]}")/../../common/tools/profile.sh"

CHAPTER=06_hopper_fp8_gemm
NEEDS="9.0"
KERNELS="hopper_fp8_gemm"
DEFAULTS=(--m 4096 --n 4096 --k 7168 --beta 0 --launches 3)
SECTIONS=(SpeedOfLight ComputeWorkloadAnalysis MemoryWorkloadAnalysis MemoryWorkloadAnalysis_Tables
          SchedulerStats WarpStateStats SourceCounters LaunchStats Occupancy)
profile_main "$@"
