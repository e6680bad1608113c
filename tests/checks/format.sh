#!/bin/bash
# Every C++ file is as clang-format 19 writes it; what to type is said if one is not. Other versions format a little differently, so without
# this one the check is skipped (status 77).
set -u
cd "$1" || exit 66
command -v clang-format-19 >/dev/null || { echo "clang-format-19 is not here: apt install clang-format-19"; exit 77; }
files=$(find include tests examples benchmarks \( -name '*.hpp' -o -name '*.cpp' \) -type f | sort)
clang-format-19 --dry-run --Werror $files >/dev/null 2>&1 && exit 0   # one process for all of them; what differs is shown below
bad=$(for file in $files; do clang-format-19 "$file" | cmp -s - "$file" || echo "$file"; done)
[ -z "$bad" ] && exit 0
for file in $bad; do
  echo "$file is not formatted:"
  clang-format-19 "$file" | diff "$file" - | head -6
done
echo "to format them: clang-format-19 -i" $bad
exit 1
