#!/usr/bin/env bash
# One MMA and the tensor memory around it under the profiler. --help says more.
. "$(dirname "${BASH_SOURCE[0]}")/../../common/tools/profile.sh"

CHAPTER=02_tmem_lifecycle
NEEDS="10.0"
KERNELS="tmem_lifecycle_kernel"
DEFAULTS=(--cta-group 1)
SECTIONS=(SpeedOfLight ComputeWorkloadAnalysis WarpStateStats LaunchStats)
profile_main "$@"
