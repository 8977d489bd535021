#!/usr/bin/env bash
# Runs the pipeline with every stage count and every way to copy under compute-sanitizer: memcheck,
# racecheck and synccheck, over a matrix with edges in both dimensions. Fails on any finding.
#
#   tests/chapters/01_mbarrier_pipeline/sanitize.sh [TOOL...]
#
# Builds the program first (CMake preset `gpu`). Needs a Hopper or Blackwell GPU and the
# compute-sanitizer of the CUDA Toolkit.
. "$(dirname "${BASH_SOURCE[0]}")/../sanitize.sh"

TARGET=01_mbarrier_pipeline_gpu
KERNELS=column_sums_kernel
PASSED="^verified \(260 elements\)"
# More tiles than the longest ring has stages, so that every stage is used again.
SHAPE="--rows 337 --columns 260 --runs 1"
RUNS=("--produce plain $SHAPE" "--produce bulk $SHAPE" "--produce tensor $SHAPE")
TESTS=OFF
sanitize_main "$@"
