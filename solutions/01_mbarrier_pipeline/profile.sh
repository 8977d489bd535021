#!/usr/bin/env bash
# What each stage count costs, and who waits: the pipeline under the profiler. --help says more.
. "$(dirname "${BASH_SOURCE[0]}")/../../common/tools/profile.sh"

CHAPTER=01_mbarrier_pipeline
NEEDS="9.0 10.0"
KERNELS="column_sums_kernel"
DEFAULTS=(--produce tensor --runs 1)
SECTIONS=(SpeedOfLight MemoryWorkloadAnalysis WarpStateStats Occupancy LaunchStats)
profile_main "$@"
