#!/usr/bin/env bash
# Doxygen's filter for README.md files: labels the title, the top one's as the main page, the others' by
# their paths.
set -euo pipefail
label=$(realpath --relative-to="$(dirname "$0")/.." "$1" | tr -c 'A-Za-z0-9\n' '_')
[[ $label == README_md ]] && label=mainpage
exec sed "1s/\$/ {#$label}/" "$1"
