#!/usr/bin/env bash
# Installs what the workbook's commands need and builds the programs of chapter 1. The image runs this
# once; an editor runs it again when it creates the container, and then it has nothing to do.
set -eu
cd "$(dirname "$0")/.."
PYTHONPATH=common python3 -m tools.prebuild 1
