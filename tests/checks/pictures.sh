#!/bin/bash
# The pictures in docs/pictures are what meshtf-plan draws: pictures.sh ROOT PLAN [--write] (writes them anew)
#
# Lines of the library's headers move, so they are not compared.
set -u
root=$1 plan=$2 write=${3:-}
work=$(mktemp -d) || exit 69
trap 'rm -rf "$work"' EXIT
cd "$root/docs/pictures" || exit 66
bad=0
moving() { sed -E 's/\.hpp:[0-9]+/.hpp:LINE/g' "$1"; }
draw() {   # draw FILE OPTION...
  local file=$1
  shift
  "$plan" "$@" --svg "$work/$file" >/dev/null || { echo "meshtf-plan $* failed"; bad=1; return; }
  python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$work/$file" || { echo "docs/pictures/$file is not well-formed"; bad=1; }
  [ -z "$write" ] || cp "$work/$file" "$file"
  cmp -s <(moving "$file") <(moving "$work/$file") || {
    echo "docs/pictures/$file is not what meshtf-plan $* draws: tests/checks/pictures.sh ROOT PLAN --write"
    bad=1
  }
}
draw transformer_under_mixed.svg --model transformer --layout mixed
draw mixed_beside_data_parallel.svg --model transformer --layout mixed --beside data_parallel
draw one_forward_one_backward.svg --schedule one_forward_one_backward
for file in *; do
  [ -e "$work/$file" ] || { echo "docs/pictures/$file: who draws it? tests/checks/pictures.sh does not"; bad=1; }
done
exit $bad
