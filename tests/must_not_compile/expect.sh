#!/bin/bash
# Passes if the compiler refuses a file in the words on the file's first lines: expect.sh FILE [--precompiled FLAG... --] COMPILER [FLAG...]
#
# The file begins with lines "// error: WORDS"; all of them must be in the output, and those of lines "// g++: WORDS" and "// clang: WORDS" in that of
# one compiler. Who reads the message has little patience: its first line
# that says "error:" has at most 200 characters, and all of it at most 15 lines. None is excepted.
#
# The first error is the only one: nothing else is said of what follows from it. A file where that cannot be says so: "// errors: NUMBER, since ...".
#
# What docs/errors/ quotes of a file next to this script is compared too, where the compiler is of the version that the page was written with.
#
# With the flags of a precompiled header the compiler takes a fifth of the time. Where the file includes planning.hpp first, the message is the same but for
# a line that names all.hpp, which includes it for both. Where it includes another header first, the lines that say from where are other ones, up to 4 (one
# where clang's error is in that header): there a message counts if it has at most 11 further lines (14). Any other is asked for again without these flags.
set -u
export LC_ALL=C   # English, and ' for quotes
max_lines=15
file=$1
shift
precompiled=()
if [ "$1" = --precompiled ]; then
  shift
  while [ "$1" != -- ]; do
    precompiled+=("$1")
    shift
  done
  shift
fi

mapfile -t words < <(sed -n '/^\/\/ error: /!q;s/^\/\/ error: //p' "$file")
most=$(sed -n 's/^\/\/ errors: \([0-9]*\), since .*/\1/p' "$file")
quotes=$(dirname "$0")/errors.py

# Newer compilers than g++ 12 quote each line of a call, and say that a static_assert is not constant before they say why: neither counts.
counted() {
  if [[ $1 != *clang* && $("$1" -dumpversion) != 12* ]]; then grep -v '^ *[0-9]* | \|error: non-constant condition for static assertion$'; else cat; fi
}

# What is wrong with what the compiler said; nothing if all is as expected.
problem() {
  local compiler=$2 lines
  lines=$(counted "$compiler" <<<"$1")
  [ ${#words[@]} -gt 0 ] || { echo "its first line must be '// error: WORDS'"; return; }
  [ $status -ne 0 ] || { echo "it must not compile, but it does"; return; }
  local name=g++ own
  [[ $compiler != *clang* ]] || name=clang
  mapfile -t own < <(sed -n "s|^// $name: ||p" "$file")
  for expected in "${words[@]}" "${own[@]}"; do
    [[ $said == *"$expected"* ]] || { echo "expected the words: $expected"; return; }
  done
  # Paths are as long as the place where the sources lie, so they do not count.
  local first errors
  first=$(grep -m1 'error:' <<<"$said")
  local message=error:${first#*error:}
  [ ${#message} -le 200 ] || { echo "its first error has ${#message} characters, expected at most 200"; return; }
  errors=$(counted "$compiler" <<<"$said" | grep -c 'error:')
  [ "$errors" -le "${most:-1}" ] || { echo "the compiler says $errors errors, expected ${most:-1}"; return; }
  [ "$(wc -l <<<"$lines")" -le "$3" ] || { echo "the compiler says $(wc -l <<<"$lines") lines, expected at most $3"; return; }
  if [ "$(dirname "$file")" -ef "$(dirname "$0")" ] && command -v python3 >/dev/null; then
    printf '%s\n' "$said" | python3 -S -I "$quotes" --said "$file" "$compiler" 2>&1
  fi
}

if [ ${#precompiled[@]} -gt 0 ]; then
  said=$("$1" "${precompiled[@]}" "${@:2}" 2>&1)
  status=$?
  if [ "$(grep -m1 '^#include' "$file")" = '#include <meshtf/planning.hpp>' ]; then
    wrong=$(problem "$(grep -v '^In file included from .*/all.hpp:1:$' <<<"$said")" "$1" $max_lines)
  else
    more=4
    in=$(grep -m1 'error:' <<<"$said") in=${in%%:*}
    # clang says from where once, for the error: of a header that the file itself includes first, in one line
    [[ $1 != *clang* || $(grep -m1 '^#include' "$file") != "#include <${in#*/include/}>" ]] || more=1
    wrong=$(problem "$(grep -v '^In file included from\|^  *from ' <<<"$said")" "$1" $((max_lines - more)))
  fi
  [ -n "$wrong" ] || exit 0
fi
said=$("$@" 2>&1)
status=$?
wrong=$(problem "$said" "$1" $max_lines)
[ -z "$wrong" ] && exit 0
printf '%s: %s\n--- the compiler said (status %s):\n%s\n' "$file" "$wrong" "$status" "$said"
exit 1
