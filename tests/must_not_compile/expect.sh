#!/bin/bash
# Passes if the compiler refuses a file in the words on the file's first lines: expect.sh FILE COMPILER [FLAG...]
#
# The file begins with lines "// error: WORDS"; all of them must be in the output. Who reads the message has little patience: its first line
# that says "error:" has at most 200 characters, and all of it at most 15 lines. None is excepted.
#
# The first error is the only one: nothing else is said of what follows from it. A file where that cannot be says so: "// errors: NUMBER, since ...".
#
# What docs/errors/ quotes of a file next to this script is compared too, where the compiler is of the version that the page was written with.
set -u
export LC_ALL=C   # English, and ' for quotes
file=$1
shift
said=$("$@" 2>&1)
status=$?
fail() { printf '%s: %s\n--- the compiler said (status %s):\n%s\n' "$file" "$1" "$status" "$said"; exit 1; }

mapfile -t words < <(sed -n '/^\/\/ error: /!q;s/^\/\/ error: //p' "$file")
[ ${#words[@]} -gt 0 ] || fail "its first line must be '// error: WORDS'"
[ $status -ne 0 ] || fail "it must not compile, but it does"
for expected in "${words[@]}"; do
  [[ $said == *"$expected"* ]] || fail "expected the words: $expected"
done

# Paths are as long as the place where the sources lie, so they do not count.
first=$(grep -m1 'error:' <<<"$said")
message=error:${first#*error:}
[ ${#message} -le 200 ] || fail "its first error has ${#message} characters, expected at most 200"
errors=$(grep -c 'error:' <<<"$said")
most=$(sed -n 's/^\/\/ errors: \([0-9]*\), since .*/\1/p' "$file")
[ "$errors" -le "${most:-1}" ] || fail "the compiler says $errors errors, expected ${most:-1}"
lines=$(wc -l <<<"$said")
[ "$lines" -le 15 ] || fail "the compiler says $lines lines, expected at most 15"

quotes=$(dirname "$0")/errors.py
if [ "$(dirname "$file")" -ef "$(dirname "$0")" ] && command -v python3 >/dev/null; then
  other=$(printf '%s\n' "$said" | python3 "$quotes" --said "$file" "$1" 2>&1) || fail "$other"
fi
