#!/bin/bash
# The README's program compiles as it stands, and with the change that the README shows the compiler says what the README shows:
# readme.sh ROOT COMPILER [FLAG...] -c SOURCE -o OUTPUT   (the last four are ignored: the program is the README's)
#
# The lines of the compiler are g++'s, whatever the column. Of clang the two numbers of the comparison are expected.
set -u
export LC_ALL=C   # English, and ' for quotes
readme=$(cd "$1" && pwd)/README.md
shift
compile=("${@:1:$#-4}" -fdiagnostics-color=never -fsyntax-only hello_layouts.cpp)
work=$(mktemp -d) || exit 69
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 69
block() { awk -v kind="$1" '$0 == "```" kind && !seen {on = seen = 1; next} on && /^```/ {exit} on' "$readme"; }
fail() { printf '%s\n' "$@"; exit 1; }

block cpp >hello_layouts.cpp
"${compile[@]}" || fail "README.md: its program does not compile"

block diff | sed -n 's/^-//p' >before
block diff | sed -n 's/^+//p' >after
[ "$(wc -l <before)" = 1 ] && [ "$(wc -l <after)" = 1 ] || fail "README.md: expected a diff of one line"
awk 'NR == FNR {old = $0; next} FILENAME == "after" {new = $0; next} $0 == old {print new; found = 1; next} 1; END {exit !found}' before after hello_layouts.cpp >changed ||
  fail "README.md: its program lacks the line that its diff takes away"
mv changed hello_layouts.cpp
said=$("${compile[@]}" 2>&1) && fail "README.md: its mistake compiles"

any_column() { sed -E 's/^(hello_layouts\.cpp:[0-9]+):[0-9]+:/\1:COLUMN:/; s/^ *([0-9]+ \|)/\1/'; }
if [[ ${compile[*]} == *clang* ]]; then
  comparison=$(block console | sed -n "s/.*'(\([0-9]* <= [0-9]*\))'.*/\1/p")
  [[ $said == *"$comparison"* ]] || fail "README.md: expected the compiler to say $comparison" "$said"
  exit 0
fi
while IFS= read -r line; do
  any_column <<<"$said" | grep -qxF -- "$line" || fail "README.md: the compiler does not say: $line" "--- it said:" "$said"
done < <(block console | any_column)
