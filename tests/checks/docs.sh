#!/bin/bash
# The documents say what is so: docs.sh ROOT LAYOUTS TUTORIAL [PLAN] (the sources, and built programs; PLAN is meshtf-plan,
# which is looked for next to LAYOUTS, as hello_layouts, budget, search and plan_paper_models are; TUTORIAL may be a text that it has printed).
#
#   ```cpp            stands line by line in a file of examples/, include/meshtf/ or tests/
#   ```text           in the README: is what LAYOUTS prints for three or more layouts; in the tutorial: stands line by line in what TUTORIAL prints; in
#                     explain.md: in what PLAN prints; in cost.md: in what budget prints, and its table of models is what plan_paper_models prints; in
#                     layout_search.md: is what search prints
#   ```text FILE      words that this file of tests/must_not_compile/ expects from the compiler; a line may end in ... before they do
#   ```text examples/NAME [N ARGUMENT...]   lines that this example prints one after the other, on N processes, if it is a program that runs on some;
#                     FOLDER is a folder of its own. Times, lines of the library, and what decimals have after the third place, are not compared
#   `folder/file.hpp` is there: under the root, include/meshtf/ or the document's folder (links: tests/checks/links.py)
#   `folder/file.hpp: name, name`   each of the names is in that file
#   `name`            in docs/walk.md: is in the sources; and each line of its diagram that begins with a file and a name: the file has the name
# In the README, which has at most 130 lines: what hello_layouts prints; and of each claim in a list the tests and the figures in a comment,
#   <!-- tests: FILE FILE; figures: FILE: NUMBER = WORDS; NUMBER = WORDS -->   the files are there; the first line of FILE that has WORDS has NUMBER
# Other blocks (sh, cmake, console) are not compared here: check.readme compiles the README's program and its mistake.
set -u
beside=$(dirname "$2")
root=$1 layouts=$2 tutorial=$3 plan=${4:-$beside/meshtf-plan}
work=$(mktemp -d) || exit 69
trap 'rm -rf "$work"' EXIT
cd "$root" || exit 66
status=0
bad() { echo "$1"; status=1; }

# "N<TAB>LINE" for each line of the Nth block of that kind.
blocks() { awk -v kind="$2" '/^```/ {if (on) {on = 0; next} n += (on = ($0 == "```" kind)); if (!on) on = 2; next} on == 1 {print n "\t" $0}' "$1"; }
block() { blocks "$1" "$2" | awk -F'\t' -v n="$3" '$1 == n' | cut -f2-; }
numbers() { blocks "$1" "$2" | cut -f1 | uniq; }

# Does one of the files hold these lines, one after the other?
holds() {
  awk 'NR == FNR {want[++n] = $0; next} FNR == 1 {m = 0; split("", have)} {have[++m] = $0; if (m >= n && $0 == want[n]) {for (k = 1; k <= n && have[m - n + k] == want[k]; ++k); if (k > n) {found = 1; exit}}}
       END {exit !found}' "$@"
}

mapfile -t sources < <(find examples include/meshtf tests \( -name '*.cpp' -o -name '*.hpp' \) -type f)
documents=(README.md CONTRIBUTING.md docs/*.md docs/*/*.md)

python3 "$root/tests/checks/quoted_code.py" "${sources[@]}" -- "${documents[@]}" || status=1

# ---- what the compiler says of mistakes

while IFS=: read -r document fence; do
  file=${fence#'```text '}
  block "$document" "text $file" 1 | sed 's/\.\.\.$//' >"$work/words"
  while IFS= read -r words; do
    grep -qxF "// $words" "$file" 2>/dev/null || bad "$document: the compiler is not expected to say this: '$words': see the first lines of $file"
  done <"$work/words"
done < <(grep -H '^```text .' "${documents[@]}" | grep -v '```text examples/')

# ---- what programs print

run() { "$root/examples/processes" 4 "$@" | sed 's/ *$//'; return "${PIPESTATUS[0]}"; }
run "$layouts" >"$work/layouts" || bad "examples/layouts failed"
block README.md text 1 | sed 's/ *$//' >"$work/table"
# of the layouts that the table has, all lines that the program prints, in its order
awk 'NR == FNR {if ($2 == "promised") wanted[$1] = 1; next} $2 == "promised" {shown = $1 in wanted} FNR == 1 || shown' "$work/table" "$work/layouts" |
  diff "$work/table" - || bad "README.md: its table (<) is not what examples/layouts prints of these layouts (>)"
[ "$(grep -c promised "$work/table")" -ge 3 ] || bad "README.md: expected a table of three layouts or more"
hello=$("$beside/hello_layouts") || bad "examples/hello_layouts failed"
grep -qF "\`$hello\`" README.md || bad "README.md: it does not say what examples/hello_layouts prints: $hello"
[ "$(wc -l <README.md)" -le 130 ] || bad "README.md: it has $(wc -l <README.md) lines, expected at most 130"
diff <(block README.md cpp 1) <(sed '1,/^\/\/ clang-format off$/d' examples/hello_layouts.cpp) || bad "README.md: its program (<) is not all of examples/hello_layouts.cpp (>)"

# ---- the README's claims have tests, and its figures are those of the pages

claims=$(awk '/^- / {if (on) print claim; claim = $0; on = 1; next} on && /^  / {claim = claim " " $0; next} on {print claim; on = 0} END {if (on) print claim}' README.md)
while IFS= read -r claim; do
  comment=$(sed -n 's/.*<!-- \(tests: .*\) -->.*/\1/p' <<<"$claim") words=" $(sed 's/<!--.*//' <<<"$claim") "
  [ -n "$comment" ] || { bad "README.md: this claim names no test: $claim"; continue; }
  files=${comment#tests: } files=${files%%;*}
  for file in $files; do [ -f "$file" ] || bad "README.md: there is no test $file of this claim: $claim"; done
  [[ $comment == *figures:* ]] || { ! grep -qE ' [0-9.]+ (s|ms|lines|layouts|%)' <<<"$words" || bad "README.md: this claim does not say which page has its figures: $claim"; continue; }
  figures=${comment##*figures: } page=${figures%%: *}
  while IFS='=' read -r figure row; do
    figure=${figure// /} row=${row# }
    number="(^|[^0-9.])${figure//./\\.}([^0-9.]|\\.? |$)"
    [[ -n $row && $(grep -m1 -F -- "$row" "$page") =~ $number ]] || bad "README.md: $page does not have the figure $figure where it says '$row'"
    [[ $words =~ $number ]] || bad "README.md: the figure $figure is not in this claim: $claim"
  done < <(tr ';' '\n' <<<"${figures#*: }" | sed 's/^ *//; s/ *$//')
done <<<"$claims"
if [ -n "$(numbers docs/tutorial.md text)" ]; then
  if [ -x "$tutorial" ]; then
    run "$tutorial" "$work/checkpoints" >"$work/tutorial" || bad "examples/tutorial failed"
  else
    sed 's/ *$//' "$tutorial" >"$work/tutorial" || bad "examples/tutorial has printed nothing"
  fi
  for n in $(numbers docs/tutorial.md text); do
    block docs/tutorial.md text "$n" | sed 's/ *$//' >"$work/block"
    holds "$work/block" "$work/tutorial" || bad "docs/tutorial.md: text block $n is not what examples/tutorial prints: $(head -1 "$work/block")"
  done
fi
times() { sed -E 's/[0-9.]+ (ns|us|ms|s)( |,|$)/TIME\2/g'; }   # modelled: they follow the constants of machine_model
if [ -n "$(numbers docs/explain.md text)" ]; then
  { "$plan" && "$plan" --schedule one_forward_one_backward; } >"$work/printed" || bad "examples/meshtf-plan failed"
  times <"$work/printed" >"$work/plan"
  for n in $(numbers docs/explain.md text); do
    block docs/explain.md text "$n" | times >"$work/block"
    holds "$work/block" "$work/plan" || bad "docs/explain.md: text block $n is not what examples/meshtf-plan prints: $(head -1 "$work/block")"
  done
fi
if [ -n "$(numbers docs/cost.md text)" ]; then
  moving() { times | sed -E 's/ *$//; s/\.hpp:[0-9]+/.hpp:LINE/g'; }   # the library's lines move
  "$beside/budget" >"$work/printed" || bad "examples/budget failed"
  moving <"$work/printed" >"$work/budget"
  for n in $(numbers docs/cost.md text); do
    block docs/cost.md text "$n" | moving >"$work/block"
    holds "$work/block" "$work/budget" || bad "docs/cost.md: text block $n is not what examples/budget prints: $(head -1 "$work/block")"
  done
fi
if [ -n "$(numbers docs/layout_search.md text)" ]; then
  ranked() { sed -E 's/ *$//; s/^ *[0-9]+\.[0-9]+ /TIME /'; }
  "$beside/search" >"$work/printed" || bad "examples/search failed"
  ranked <"$work/printed" >"$work/search"
  block docs/layout_search.md text 1 | ranked | diff - "$work/search" || bad "docs/layout_search.md: its ranking (<) is not what examples/search prints (>)"
fi
# Examples with a block of their own, each command once.
steady() { times | sed -E 's/ *$//; s/\.hpp:[0-9]+/.hpp:LINE/g; s/([0-9]\.[0-9]{3})[0-9]+/\1/g; s/^ *[0-9]+\.[0-9]+ /TIME /'; }
printed() { echo "$work/printed.${1//[^A-Za-z0-9_-]/_}"; }   # printed COMMAND: where its output is
steady <"$work/layouts" >"$(printed 'examples/layouts 4')"
[ ! -e "$work/tutorial" ] || steady <"$work/tutorial" >"$(printed 'examples/tutorial 4 FOLDER')"
while IFS=: read -r document fence; do
  command=${fence#'```text '}
  read -r name processes arguments <<<"${command#examples/}"
  output=$(printed "$command")
  if [ ! -e "$output" ]; then
    read -ra words <<<"${arguments//FOLDER/$work/folder_of_$name}"
    if [ -n "$processes" ]; then "$root/examples/processes" "$processes" "$beside/$name" "${words[@]}"; else "$beside/$name"; fi >"$work/printed" ||
      bad "$document: $command failed"
    steady <"$work/printed" >"$output"
  fi
  for n in $(numbers "$document" "text $command"); do
    block "$document" "text $command" "$n" | steady >"$work/block"
    holds "$work/block" "$output" || bad "$document: text block $n of $command is not what it prints: $(head -1 "$work/block")"
  done
done < <(grep -H '^```text examples/' "${documents[@]}" | awk '!seen[$0]++')
if grep -q '^| model | mesh ' docs/cost.md; then
  "$beside/plan_paper_models" >"$work/printed" || bad "examples/plan_paper_models failed"
  times <"$work/printed" >"$work/models"
  awk '/^\| model \| mesh / {on = 1} on && !/^\|/ {exit} on' docs/cost.md | times | diff - "$work/models" ||
    bad "docs/cost.md: its table of models (<) is not what examples/plan_paper_models prints (>)"
fi

# ---- who cites names the version that there is

version=$(sed -n 's/^project(meshtf VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
grep -qF "[Release: $version" README.md || bad "README.md: its badge does not say version $version, as CMakeLists.txt has it"
grep -qx "version: $version" CITATION.cff || bad "CITATION.cff: its version is not $version, as CMakeLists.txt has it"

# ---- files and names

python3 "$root/tests/checks/quoted_names.py" "${documents[@]}" || status=1
exit $status
