#!/bin/bash
# Passes if examples/processes ends, as one who was told to, though its launcher ignores SIGTERM: launcher_stays.sh PROCESSES
set -u
launcher=$(mktemp)
printf '#!/bin/bash\ntrap "" TERM\nexec sleep 50\n' >"$launcher"
chmod +x "$launcher"
MESHTF_MPIRUN=$launcher "$1" 2 true 2>/dev/null &
job=$!
sleep 1
kill -TERM $job
wait $job
status=$?
rm -f "$launcher"
[ $status -eq 143 ] || { echo "expected status 143, got $status"; exit 1; }
