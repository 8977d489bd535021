#!/usr/bin/env bash
# Runs every configuration of the Hopper GEMM under compute-sanitizer: memcheck, racecheck and
# synccheck, over small shapes with edges in all dimensions. Fails on any finding.
#
#   tests/chapters/06_hopper_fp8_gemm/sanitize.sh [TOOL...]
#
# Builds the test program first (CMake preset `gpu`). Needs a Hopper GPU, GoogleTest and the
# compute-sanitizer of the CUDA Toolkit.
. "$(dirname "${BASH_SOURCE[0]}")/../sanitize.sh"

TARGET=06_hopper_fp8_gemm_device
KERNELS=hopper  # the namespace of all kernels
PASSED="^\[       OK \] (Of/Sanitized|Grouped)"
RUNS=("--gtest_filter=Of/Sanitized*:Grouped.*-*ManyTiles*")
TESTS=ON
PARTS=8  # a process is busy for minutes with what the tool adds to some thirty kernels
sanitize_main "$@"
