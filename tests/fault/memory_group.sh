# For scripts that limit memory, to be read by them: a control group for programs that shall have little.

# Sets $group to a new one. Fails where there are none, or none may be made.
make_group() {
  if [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then group=/sys/fs/cgroup/memory limit_file=memory.limit_in_bytes
  elif [ -e /sys/fs/cgroup/cgroup.controllers ]; then group=/sys/fs/cgroup limit_file=memory.max
  else return 1
  fi
  group=$group/meshtf-test-$$
  mkdir "$group" 2>/dev/null
}

# limit_to BYTES, none of which the system swaps. A process joins by writing its number to $group/cgroup.procs.
limit_to() {
  [ -w "$group/$limit_file" ] && echo "$1" >"$group/$limit_file" || return 1
  if [ -e "$group/memory.swappiness" ]; then echo 0 >"$group/memory.swappiness"; fi
  if [ -e "$group/memory.swap.max" ]; then echo 0 >"$group/memory.swap.max"; fi
}

# A process that has been killed is in it for a moment.
remove_group() {
  local i
  for i in {1..50}; do
    rmdir "$group" 2>/dev/null && return
    sleep 0.1
  done
}
