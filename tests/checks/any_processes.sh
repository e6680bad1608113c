#!/bin/bash
# One binary trains on 1, 4, 3 and 2 processes, each going on from the checkpoint of the one before, and ends where one process ends alone.
#
# any_processes.sh PROCESSES PROGRAM FOLDER
set -eu
processes=$1 program=$2 folder=$3
rm -rf "$folder"
mkdir -p "$folder"
run() { MESHTF_CHECK=1 "$processes" "$@"; }
alone=$(run 1 "$program" "$folder/alone" 8 | grep '^epoch 8 ')
run 1 "$program" "$folder/all" 2
run 4 "$program" "$folder/all" 2 resume
run 3 "$program" "$folder/all" 2 resume
together=$(run 2 "$program" "$folder/all" 2 resume | grep '^epoch 8 ')
echo "$alone"
echo "$together"
awk -v a="${alone##* }" -v b="${together##* }" 'BEGIN { exit !(a > 0 && a < 0.5 && (a - b) / a < 0.01 && (b - a) / a < 0.01) }' || {
  echo "expected the same loss after 8 epochs, whatever processes trained them" >&2
  exit 1
}
