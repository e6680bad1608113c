#!/bin/bash
# A training that was cut off goes on as if it had not been: resume.sh PROCESSES PROGRAM TEXT FOLDER
#
# The last checkpoint but one is gone on from, under the same layout and under another; the held-out loss must be the one of the whole training.
# The log of both has each step once. A training that is killed before its first checkpoint begins again by the same command, one that has ended
# ends again by it, and both end with status 0.
set -u
mpirun=$1 program=$2 text=$3 folder=$4
log=$folder.log
rm -rf "$folder" "$log"
train() { "$mpirun" 4 "$program" --steps 10 --write 20 --data "$text" "$@" </dev/null || exit 1; }
loss() { sed -n 's/^held-out text: loss \([0-9.]*\),.*/\1/p'; }

again=(--layout mixed --save "$folder" --resume "$folder" --log "$log")
"$mpirun" 4 "$program" --steps 100000 --data "$text" "${again[@]}" </dev/null >/dev/null 2>&1 &
job=$!
for _ in $(seq 600); do
  grep -qs '"step":2,' "$log/log.jsonl" && break
  sleep 0.1
done
kill -TERM $job
wait $job
[ "$(ls "$folder")" = "" ] || { echo "expected a training that was killed before its first checkpoint, got $(ls "$folder")"; exit 1; }

whole=$(train "${again[@]}" | loss)
ended=$(train "${again[@]}" | loss)
[ "$ended" = "$whole" ] || { echo "expected a training that has ended to end again with loss $whole, got $ended"; exit 1; }
[ "$(ls "$folder")" = $'step-00000009\nstep-00000010' ] ||
  { echo "expected the two newest checkpoints in $folder, got: $(ls "$folder")"; exit 1; }
rm -r "$folder/step-00000010"
same=$(train --layout mixed --resume "$folder" --log "$log" | loss)
other=$(train --layout two_axes --resume "$folder" | loss)
logged=$(sed -n 's/^{"step":\([0-9]*\),.*"name":"loss",.*/\1/p' "$log/log.jsonl" | tr '\n' ' ')
[ "$logged" = "$(seq -s ' ' 10) " ] || { echo "expected a loss of each of ten steps in $log, got those of $logged"; exit 1; }
echo "held-out loss: $whole; resumed: $same; resumed under another layout: $other"
[ -n "$whole" ] && [ "$same" = "$whole" ] && awk "BEGIN { d = $other / $whole - 1; exit !(d < 1e-5 && d > -1e-5) }"
