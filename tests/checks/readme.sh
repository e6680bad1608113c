#!/bin/bash
# The README says what is so: each of its C++ blocks stands in examples/layouts.cpp line by line, and its table is what that program prints.
# readme.sh ROOT LAYOUTS: the sources, and the built program.
set -u
root=$1 program=$2
blocks() { awk -v kind="$1" '$0 == "```" kind {on = 1; n++; next} /^```/ {on = 0} on {print n "\t" $0}' "$root/README.md"; }

holds() {   # does the file hold these lines, one after the other?
  awk 'NR == FNR {want[++n] = $0; next} {have[++m] = $0} END {for (i = 0; i + n <= m; ++i) {for (k = 1; k <= n && have[i + k] == want[k]; ++k); if (k > n) exit 0} exit 1}' "$1" "$2"
}

status=0
for n in $(blocks cpp | cut -f1 | uniq); do
  blocks cpp | awk -F'\t' -v n="$n" '$1 == n' | cut -f2- >"$PWD/readme_block"
  holds "$PWD/readme_block" "$root/examples/layouts.cpp" || {
    echo "README.md: C++ block $n does not stand in examples/layouts.cpp as it is: copy it from there"
    status=1
  }
done
blocks text | cut -f2- >"$PWD/readme_table"
"$root/examples/processes" 4 "$program" | sed 's/ *$//' >"$PWD/readme_printed"
sed 's/ *$//' "$PWD/readme_table" | diff - "$PWD/readme_printed" || {
  echo "README.md: its table (<) is not what examples/layouts prints (>)"
  status=1
}
exit $status
