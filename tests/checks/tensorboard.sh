#!/bin/bash
# TensorBoard reads what a training logs, each step once though it was cut off and resumed: tensorboard.sh PROCESSES PROGRAM FOLDER
#
# MESHTF_TENSORBOARD names a Python that has TensorBoard; otherwise one is installed from PyPI, in an environment next to FOLDER.
set -u
mpirun=$1 program=$2 folder=$3
mkdir -p "$folder" || exit 1
python=${MESHTF_TENSORBOARD:-}
if [ -z "$python" ]; then
  python=${folder%/}.venv/bin/python3
  if ! "$python" -c 'import tensorboard' 2>/dev/null; then
    { python3 -m venv "${folder%/}.venv" && timeout 200 "$python" -m pip install --quiet tensorboard 'setuptools<81'; } >"${folder%/}.pip" 2>&1 ||
      { echo "TensorBoard can't be had here: $(tail -1 "${folder%/}.pip")"; exit 77; }
  fi
fi
"$mpirun" 4 "$program" "$folder" begin </dev/null && "$mpirun" 4 "$program" "$folder" resume </dev/null || exit 1
"$python" - "$folder" <<'END'
import sys
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.backend.event_processing import plugin_event_accumulator

read = event_accumulator.EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
read.Reload()
steps = list(range(1, 8))
losses = read.Scalars("loss")
assert [e.step for e in losses] == steps, losses
assert [e.value for e in losses] == [8.0 / 4 ** (s - 1) for s in steps], losses
for tag, factor in ("weights/w", 1), ("gradients/w", 2):
    told = read.Histograms(tag)
    assert [e.step for e in told] == steps, tag
    for e in told:
        h = e.histogram_value
        x = factor * 0.5 ** (e.step - 1)
        assert (h.min, h.max, h.num, h.sum, h.sum_squares) == (x, x, 8, 8 * x, 8 * x * x), (tag, e)
        assert sum(h.bucket) == 8
texts = read.Tensors("words")
assert [e.step for e in texts] == steps
assert [e.tensor_proto.string_val[0] for e in texts] == [b"begin %d" % s if s <= 3 else b"resume %d" % s for s in steps], texts
assert read.SummaryMetadata("words").plugin_data.plugin_name == "text"

# The newer reader turns old forms into new ones, as the pages that people see do.
read = plugin_event_accumulator.EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
read.Reload()
plugins = {tag: read.SummaryMetadata(tag).plugin_data.plugin_name for tag in read.Tags()["tensors"]}
assert plugins == {"loss": "scalars", "weights/w": "histograms", "gradients/w": "histograms", "words": "text"}, plugins
assert all([e.step for e in read.Tensors(tag)] == steps for tag in plugins)
print("TensorBoard has read", len(plugins), "names of", len(steps), "steps")
END
