# What the chapters' sanitize.sh have in common: builds a program for the GPU and runs it under
# compute-sanitizer's memcheck, racecheck and synccheck. Fails on any finding.
# Needs bash, the CUDA Toolkit with compute-sanitizer, CMake, Ninja and a GPU that runs the program.
#
# A chapter's script sources this file, sets
#   TARGET   what to build; the program is build/gpu/bin/$TARGET
#   KERNELS  a part of the names of the kernels under test
#   PASSED   extended regular expression: what the program prints when its results are right
#   RUNS     array: the program's options, an element for each run
#   TESTS    ON if the program is one of the tests, which need GoogleTest; else OFF
#   PARTS    optional: processes that share a run side by side, as GoogleTest's shards
# and calls sanitize_main "$@", whose arguments are the tools to use instead of all three.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Prints the path of compute-sanitizer.
sanitize_find_sanitizer() {
  local place
  for place in "$(command -v compute-sanitizer)" "${CUDA_HOME:-}/bin/compute-sanitizer" \
    /usr/local/cuda/bin/compute-sanitizer /usr/local/cuda/compute-sanitizer/compute-sanitizer; do
    if [[ -n $place && -x $place ]]; then
      echo "$place"
      return
    fi
  done
  echo "sanitize.sh: error: compute-sanitizer was not found. It is part of the CUDA Toolkit: put its" \
    "bin folder on PATH or set CUDA_HOME." >&2
  return 2
}

# TESTS=OFF is for a new build folder only: it leaves the tests in one that has them.
sanitize_build() {
  local options=()
  if [[ $TESTS == ON || ! -f build/gpu/CMakeCache.txt ]]; then options=("-DBW_TESTS=$TESTS"); fi
  cmake --preset gpu "${options[@]}" >/dev/null
  cmake --build build/gpu --target "$TARGET"
}

# sanitize_run <sanitizer> <tool> <log> <options>...: whether the run was right and had no findings.
# Other kernels, such as a reference's, are left alone: they are slow under the tools.
sanitize_run() {
  local sanitizer=$1 tool=$2 log=$3
  shift 3
  "$sanitizer" --tool "$tool" --kernel-name "kns=$KERNELS" --error-exitcode 99 \
    "build/gpu/bin/$TARGET" "$@" >"$log" 2>&1 &&
    grep -Eq "$PASSED" "$log" &&
    grep -Eq "(ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards)" "$log"
}

# sanitize_parts <sanitizer> <tool> <logs> <options>...: the same in PARTS processes, each with a log
# in the folder <logs>. Names the logs of those that failed.
sanitize_parts() {
  local sanitizer=$1 tool=$2 logs=$3 part
  shift 3
  for ((part = 0; part < ${PARTS:-1}; ++part)); do
    (
      if ((${PARTS:-1} > 1)); then export GTEST_TOTAL_SHARDS=$PARTS GTEST_SHARD_INDEX=$part; fi
      sanitize_run "$sanitizer" "$tool" "$logs/$part" "$@" || echo "$logs/$part"
    ) &
  done
  wait
}

sanitize_main() {
  local tools=("$@") failed=() wrong=() sanitizer tool run began logs log words
  if ((${#tools[@]} == 0)); then tools=(memcheck racecheck synccheck); fi
  sanitizer=$(sanitize_find_sanitizer) || exit
  sanitize_build
  logs=$(mktemp -d)
  for tool in "${tools[@]}"; do
    for run in "${RUNS[@]}"; do
      began=$SECONDS
      read -ra words <<<"$run"
      mapfile -t wrong < <(sanitize_parts "$sanitizer" "$tool" "$logs" "${words[@]}")
      if ((${#wrong[@]} == 0)); then
        echo "$tool, $run: no findings ($((SECONDS - began)) s)"
        continue
      fi
      failed+=("$tool, $run")
      for log in "${wrong[@]}"; do
        echo "$tool, $run: FAILED; its output begins with"
        head -n 60 "$log"
        echo "..."
        tail -n 8 "$log"
      done
    done
  done
  rm -rf "$logs"
  if ((${#failed[@]} > 0)); then
    printf 'failed: %s\n' "${failed[@]}"
    exit 1
  fi
}
