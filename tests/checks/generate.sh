#!/bin/bash
# A trained model writes the same text on every number of processes: generate.sh PROCESSES TRAINING PROGRAM TEXT FOLDER
#
# The text is longer than the model has positions; another seed writes another text, and the likeliest bytes need no seed.
set -u
mpirun=$1 training=$2 program=$3 text=$4 folder=$5
rm -rf "$folder"
"$mpirun" 4 "$training" --steps 30 --write 0 --layout mixed --data "$text" --save "$folder" </dev/null >/dev/null || exit 1

writes() {
  local processes=$1
  shift
  "$mpirun" "$processes" "$program" --checkpoint "$folder" --prompt 'And God said' "$@" </dev/null || exit 1
}
wrong() { echo "expected $1, got: $2"; exit 1; }
drawn=$(writes 1 --tokens 300 --temperature 0.9 --top-k 12 --top-p 0.95 2>/dev/null) || exit 1
echo "$drawn"
[[ $drawn = 'And God said'* ]] && [ "$(printf %s "$drawn" | wc -c)" -ge 300 ] || wrong "the prompt and 300 bytes" "$drawn"
for processes in 2 4; do
  other=$(writes $processes --tokens 300 --temperature 0.9 --top-k 12 --top-p 0.95 2>/dev/null) || exit 1
  [ "$other" = "$drawn" ] || wrong "on $processes processes the text of one" "$other"
done
seed=$(writes 1 --tokens 300 --temperature 0.9 --top-k 12 --top-p 0.95 --seed 2 2>/dev/null) || exit 1
[ "$seed" != "$drawn" ] || wrong "another text with another seed" "$seed"
likeliest=$(writes 1 --tokens 40 --temperature 0 2>/dev/null) || exit 1
same=$(writes 4 --tokens 40 --temperature=0 --seed 2 2>/dev/null) || exit 1
[ "$same" = "$likeliest" ] || wrong "$likeliest" "$same"
