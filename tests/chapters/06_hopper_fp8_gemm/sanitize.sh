#!/usr/bin/env bash
# Runs every configuration of the Hopper GEMM under compute-sanitizer: memcheck, racecheck and
# synccheck, over small shapes with edges in all dimensions. Fails on any finding.
#
#   tests/chapters/06_hopper_fp8_gemm/sanitize.sh [TOOL...]
#
# Builds the test program first (CMake preset `gpu`). Needs a Hopper GPU, GoogleTest and the
# compute-sanitizer of the CUDA Toolkit.
set -euo pipefail
cd "$(dirname "$0")/../../.."

sanitizer=""
for place in "$(command -v compute-sanitizer || true)" "${CUDA_HOME:-}/bin/compute-sanitizer" \
  /usr/local/cuda/bin/compute-sanitizer /usr/local/cuda/compute-sanitizer/compute-sanitizer; do
  if [[ -n $place && -x $place ]]; then
    sanitizer=$place
    break
  fi
done
if [[ -z $sanitizer ]]; then
  echo "sanitize.sh: error: compute-sanitizer was not found. It is part of the CUDA Toolkit: put its" \
    "bin folder on PATH or set CUDA_HOME." >&2
  exit 2
fi

name=06_hopper_fp8_gemm_device
cmake --preset gpu -DBW_TESTS=ON >/dev/null
cmake --build build/gpu --target $name
tools=("$@")
if ((${#tools[@]} == 0)); then tools=(memcheck racecheck synccheck); fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=()
for tool in "${tools[@]}"; do
  began=$SECONDS
  # The reference's kernels are left alone: they are not under test, and slow under the tools.
  if "$sanitizer" --tool "$tool" --kernel-name kns=hopper_fp8_gemm --error-exitcode 99 \
    "build/gpu/bin/$name" --gtest_filter='Sanitized.*' >"$log" 2>&1 &&
    grep -q "^\[       OK \] Sanitized" "$log" &&
    grep -Eq "(ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards)" "$log"; then
    echo "$tool: no findings ($((SECONDS - began)) s)"
    continue
  fi
  failed+=("$tool")
  echo "$tool: FAILED; its output begins with"
  head -n 60 "$log"
  echo "..."
  tail -n 8 "$log"
done
if ((${#failed[@]} > 0)); then
  echo "failed: ${failed[*]}"
  exit 1
fi
