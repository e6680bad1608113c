#!/bin/bash
# Every header that programs include refuses a compiler that is too old, in one sentence and with nothing after it: old_compilers.sh ROOT COMPILER
#
# The compiler says that it is an older one. A compiler that is one (Debian's clang++-14) is asked, too, next to a new clang.
set -u
root=$1 compiler=$2
source=$(mktemp --suffix=.cpp)
trap 'rm -f "$source"' EXIT
bad=0
refused() {   # GOT HEADER COMPILER [FLAG...]
  local got=$1 header=$2 said
  shift 2
  echo "#include <meshtf/$header.hpp>" >"$source"
  said=$("$@" -std=c++20 -I"$root/include" -fdiagnostics-color=never -Wno-builtin-macro-redefined -fsyntax-only "$source" 2>&1)
  if ! grep -q "error: meshtf: expected g++ 12 or clang 16, or newer, got $got\$" <<<"$said" || [ "$(grep -c 'error: ' <<<"$said")" -ne 2 ]; then
    printf 'meshtf/%s.hpp: expected one sentence about %s and the end of the compilation, got:\n%s\n' "$header" "$got" "$said"
    bad=1
  fi
}
for header in core planning training meshtf compiled; do
  case $("$compiler" --version) in
    *clang*)
      refused 'clang 15' "$header" "$compiler" -U__clang_major__ -D__clang_major__=15
      for old in clang++-14 clang++-15; do   # of one header: it reads the others to their ends, which takes seconds
        if [ "$header" = core ] && command -v "$old" >/dev/null; then refused "clang ${old#clang++-}" "$header" "$old"; fi
      done;;
    *) refused 'g++ 11' "$header" "$compiler" -U__GNUC__ -D__GNUC__=11;;
  esac
done
exit $bad
