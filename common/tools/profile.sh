# What the chapters' profile.sh have in common: finds Nsight Compute and a GPU that runs the chapter,
# profiles the chapter's program, writes the profiler's report and prints a short table of it.
# Needs bash, awk, the CUDA Toolkit with Nsight Compute, and a GPU; no network, no Python.
#
# A chapter's script sources this file, sets
#   CHAPTER       its folder, which is also its program's name
#   NEEDS         "9.0 10.0": the compute capabilities that run it
#   KERNELS       regular expression: the names of the kernels to look at
#   DEFAULTS      array: the program's options where the caller gives none
#   SECTIONS      array: sections of the report (`ncu --list-sections`)
# and calls profile_main "$@". The table's rows stand in profile_metrics.txt; `./workbook profile`
# prints the same ones in the simulator.
set -euo pipefail

PROFILE_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
PROFILE_MOST_LAUNCHES=16
PROFILE_LAUNCHES_A_TABLE=4
METRICS=()
while IFS= read -r PROFILE_ROW; do
  [[ $PROFILE_ROW == \#* ]] || METRICS+=("$PROFILE_ROW")
done <"$PROFILE_ROOT/common/tools/profile_metrics.txt"

profile_number() { echo $((10#${CHAPTER%%_*})); }

# One paragraph on standard error; ends the script.
profile_fail() {
  printf 'profile.sh: error: %s\n' "$1" >&2
  exit "${2:-1}"
}

profile_help() {
  cat <<EOF
Usage: solutions/$CHAPTER/profile.sh [--program FILE] [--output FILE] [-- <the program's options>]

Profiles chapter $(profile_number)'s program with Nsight Compute (ncu) on a GPU of compute capability
${NEEDS// / or }, writes the whole report for its viewer (ncu-ui) and prints these figures of each launch:

EOF
  profile_legend
  cat <<EOF

  --program FILE   the program (default: ${CHAPTER}_gpu of the newest build in build/)
  --output FILE    the report (default: build/profile/$CHAPTER.ncu-rep)
  --help           this text

The program's options, if none are given: ${DEFAULTS[*]}
The GPU's clocks are left as they are, so times vary a little from run to run.
EOF
}

profile_legend() {
  local row column metric meaning
  for row in "${METRICS[@]}"; do
    IFS='|' read -r column metric meaning <<<"$row"
    printf '  %-14s %s\n%17s(%s)\n' "$column" "$meaning" "" "$metric"
  done
}

# The simulator runs every chapter; said wherever this machine can't profile.
profile_instead() {
  echo "Without one, the simulator says what the program does and estimates its cycles:" \
    "./workbook run $(profile_number) --sim"
}

# Sets PROFILE_GPU and, where the GPU is not the first one, CUDA_VISIBLE_DEVICES.
profile_choose_gpu() {
  local wanted="compute capability ${NEEDS// / or }" listing index name capability found=""
  command -v nvidia-smi >/dev/null ||
    profile_fail "No NVIDIA driver was found (there is no nvidia-smi on PATH). Chapter \
$(profile_number) needs a GPU of $wanted. $(profile_instead)"
  listing=$(nvidia-smi --query-gpu=index,name,compute_cap --format=csv,noheader 2>&1) ||
    profile_fail "nvidia-smi finds no GPU that works: ${listing//$'\n'/ } Chapter \
$(profile_number) needs one of $wanted. $(profile_instead)"
  while IFS=',' read -r index name capability; do
    name=${name# } capability=${capability// /}
    found+="${found:+, }$name ($capability)"
    [[ " $NEEDS " == *" $capability "* ]] || continue
    PROFILE_GPU="$name, compute capability $capability"
    if [[ -z ${CUDA_VISIBLE_DEVICES:-} && $index != 0 ]]; then
      export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=$index
    fi
    return
  done <<<"$listing"
  profile_fail "Chapter $(profile_number) needs a GPU of $wanted; this machine has $found. \
$(profile_instead)"
}

# Sets PROFILE_NCU.
profile_find_ncu() {
  local place
  for place in "$(command -v ncu)" "${CUDA_HOME:-}/bin/ncu" /usr/local/cuda/bin/ncu \
    /opt/nvidia/nsight-compute/*/ncu; do
    if [[ -n $place && -x $place ]]; then
      PROFILE_NCU=$place
      return
    fi
  done
  profile_fail "Nsight Compute (ncu) was not found on PATH, in CUDA_HOME, in /usr/local/cuda or in \
/opt/nvidia/nsight-compute. It is part of the CUDA Toolkit; where the toolkit was installed without \
it, the package is nsight-compute. Put its ncu on PATH."
}

# Prints the path of the newest build of the program.
profile_find_program() {
  local newest="" candidate
  for candidate in "$PROFILE_ROOT"/build/*/bin/"${CHAPTER}_gpu"; do
    [[ -x $candidate && ($newest == "" || $candidate -nt $newest) ]] && newest=$candidate
  done
  [[ -n $newest ]] ||
    profile_fail "The program ${CHAPTER}_gpu has not been built. Build it with \`cmake --preset gpu\` \
and \`cmake --build build/gpu --target ${CHAPTER}_gpu\`, or run \`./workbook run $(profile_number) \
--gpu\` once; --program names one that lies elsewhere."
  echo "$newest"
}

# Prints those of METRICS that this ncu knows for this GPU; says on standard error what it leaves out.
profile_known_metrics() {
  local row column metric meaning known unknown=""
  known=$("$PROFILE_NCU" --query-metrics 2>/dev/null | awk '{ print $1 }') || known=""
  for row in "${METRICS[@]}"; do
    IFS='|' read -r column metric meaning <<<"$row"
    if [[ -z $known || $'\n'$known$'\n' == *$'\n'"${metric%%.*}"$'\n'* ]]; then
      echo "$row"
    else
      unknown+="${unknown:+, }$metric"
    fi
  done
  [[ -z $unknown ]] ||
    echo "profile.sh: left out, because this ncu does not know it for this GPU: $unknown." >&2
}

# Runs the program under ncu; its output goes to our standard output.
profile_record() {
  local report=$1 metrics=$2 log status=0 section
  shift 2
  local sections=()
  for section in "${SECTIONS[@]}"; do sections+=(--section "$section"); done
  log=$(mktemp)
  # Not --clock-control base: it would change the settings of a GPU that others may use too.
  "$PROFILE_NCU" --force-overwrite --export "$report" --clock-control none --kernel-name-base \
    function --kernel-name "regex:$KERNELS" --launch-count $PROFILE_MOST_LAUNCHES \
    "${sections[@]}" --metrics "$metrics" "$@" >"$log" 2>&1 || status=$?
  cat "$log"
  local output
  output=$(<"$log")
  rm -f "$log"
  if [[ $output == *ERR_NVGPUCTRPERM* ]]; then
    profile_fail "The driver lets only administrators read the GPU's performance counters \
(ERR_NVGPUCTRPERM). Run this script as root (sudo -E), or let every user read them: put \`options \
nvidia NVreg_RestrictProfilingToAdminUsers=0\` into a file in /etc/modprobe.d, then reboot. In a \
container: start it with --cap-add=SYS_ADMIN."
  fi
  if [[ $output == *"No kernels were profiled"* ]]; then
    profile_fail "The program launched no kernel of a name like $KERNELS, so there is nothing to \
show; its output is above. (Options such as --help launch none.)"
  fi
  if ((status != 0)); then
    profile_fail "Profiling failed (ncu's exit status: $status); what ncu and the program said is \
above."
  fi
}

# A column for each launch in the report, a line for each metric.
profile_table() {
  local report=$1 rows=$2
  "$PROFILE_NCU" --import "$report" --page raw --csv --print-units base |
    awk -v rows="$rows" -v width="$PROFILE_LAUNCHES_A_TABLE" '
      function fields(line, out) { gsub(/^"|"$/, "", line); return split(line, out, /","/) }
      function number(text) {
        gsub(/,/, "", text)
        if (text !~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/) return text
        return text + 0 >= 1000 || text ~ /^[0-9]+$/ ? sprintf("%.0f", text) : sprintf("%.2f", text)
      }
      function print_table(first, last,   i, launch) {
        if (first > 1) print ""
        printf "%-16s", "launch"
        for (launch = first; launch <= last; ++launch) printf "%14s", launch
        print ""
        for (i = 1; i <= columns; ++i) {
          printf "%-16s", label[i]
          for (launch = first; launch <= last; ++launch)
            printf "%14s", metric[i] in at ? number(cell[launch, at[metric[i]]]) : "-"
          printf "  %-7s%s\n", (metric[i] in at ? unit[at[metric[i]]] : ""), metric[i]
        }
      }
      BEGIN {
        columns = split(rows, row, "\n")
        for (i = 1; i <= columns; ++i) {
          split(row[i], part, "|")
          label[i] = part[1]; metric[i] = part[2]
        }
      }
      { sub(/\r$/, "") }
      /^"ID",/ { count = fields($0, name); for (i = 1; i <= count; ++i) at[name[i]] = i; next }
      !count { next }
      !units++ { fields($0, unit); next }
      {
        ++launches
        fields($0, value)
        for (i = 1; i <= count; ++i) cell[launches, i] = value[i]
      }
      END {
        if (!launches) exit 1
        for (launch = 1; launch <= launches; ++launch)
          print "launch " launch "  " cell[launch, at["Kernel Name"]]
        print ""
        for (first = 1; first <= launches; first += width)
          print_table(first, first + width - 1 < launches ? first + width - 1 : launches)
      }' ||
    profile_fail "The report $report was written, but ncu could not print it as a table; open it \
with ncu-ui."
}

profile_main() {
  local program="" report="$PROFILE_ROOT/build/profile/$CHAPTER.ncu-rep"
  while (($# > 0)); do
    case $1 in
      --help | -h) profile_help && exit 0 ;;
      --program | --output)
        (($# > 1)) || profile_fail "$1 needs a value: the name of a file." 2
        if [[ $1 == --program ]]; then program=$2; else report=$2; fi
        shift 2
        ;;
      --) shift && break ;;
      *) profile_fail "$1 is not an option of this script (--help lists them). Options of the \
program follow after --." 2 ;;
    esac
  done
  (($# > 0)) || set -- "${DEFAULTS[@]}"

  profile_choose_gpu
  profile_find_ncu
  [[ -n $program ]] || program=$(profile_find_program) || exit 1
  [[ -x $program ]] || profile_fail "--program $program: there is no such program."
  [[ $report == *.ncu-rep ]] || report+=.ncu-rep
  mkdir -p "$(dirname "$report")" || profile_fail "The report's folder can't be made."

  local rows metrics
  rows=$(profile_known_metrics)
  metrics=$(cut -d'|' -f2 <<<"$rows" | paste -sd, -)
  echo "gpu      $PROFILE_GPU"
  echo "program  $program $*"
  profile_record "$report" "$metrics" "$program" "$@"
  echo
  profile_table "$report" "$rows"
  echo
  echo "report   $report (open it with ncu-ui; --help says what the rows mean)"
}
