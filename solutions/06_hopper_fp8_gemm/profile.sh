#!/usr/bin/env bash
# The Hopper GEMM under the profiler; name a configuration with --config. --help says more.
. "$(dirname "${BASH_SOURCE[0]}")/../../common/tools/profile.sh"

# The simulator doesn't execute wgmma.
profile_instead() {
  echo "Without one, ./workbook run 5 runs the same GEMM, written for Blackwell, in the simulator."
}

CHAPTER=06_hopper_fp8_gemm
NEEDS="9.0"
KERNELS="hopper_fp8_gemm"
DEFAULTS=(--m 4096 --n 4096 --k 7168 --beta 0 --launches 3)
SECTIONS=(SpeedOfLight ComputeWorkloadAnalysis MemoryWorkloadAnalysis MemoryWorkloadAnalysis_Tables
          SchedulerStats WarpStateStats SourceCounters LaunchStats Occupancy)
METRIC_GMMA="wgmma|sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_active|share of \
the rate at which tensor cores can begin wgmma instructions"
METRIC_FMA="FMA|sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active|share of an SM's cycles \
in which the FP32 pipe works: the promotion"
METRIC_SHARED="shared|l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed|\
share of shared memory's bandwidth that loads and stores of threads take (wgmma and TMA not counted)"
METRIC_L2="L2|lts__throughput.avg.pct_of_peak_sustained_elapsed|share of L2's bandwidth in use"
METRIC_GMMA_STALL="wgmma wait|smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio|warps \
that wait for wgmma, for each instruction issued"
METRIC_BARRIER_STALL="bar. wait|smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio|\
warps that wait at named barriers, for each instruction issued"
METRICS=("$METRIC_TIME" "$METRIC_CYCLES" "$METRIC_TENSOR" "$METRIC_GMMA" "$METRIC_FMA" "$METRIC_ISSUE"
         "$METRIC_SHARED" "$METRIC_CONFLICTS" "$METRIC_L2" "$METRIC_L2_HITS" "$METRIC_DRAM"
         "$METRIC_GMMA_STALL" "$METRIC_BARRIER_STALL" "$METRIC_LOCAL")
profile_main "$@"
