#!/bin/bash
# Passes if tests/run hands its options on: what cmake and ctest would be called with is said by scripts in their places. long.sh ROOT
set -u
there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT
root=$there/tree   # where it may make folders
mkdir -p "$root/tests" "$root/examples"
cp "$1/tests/run" "$root/tests"
cp "$1/examples/prepare" "$root/examples"
for name in cmake ctest; do
  printf '#!/bin/bash\nprintf "%%s " %s "$@" >>"%s/said"\necho >>"%s/said"\n' "$name" "$there" "$there" >"$there/$name"
  chmod +x "$there/$name"
done

# says WORDS OPTION...: with these options the configuration of every folder has these words
says() {
  local words=$1 line some=0
  shift
  : >"$there/said"
  PATH=$there:$PATH bash "$root/tests/run" "$@" >"$there/output" 2>&1 || { cat "$there/output"; echo "tests/run $* fails"; exit 1; }
  while IFS= read -r line; do
    some=1
    [[ $line == *"$words"* ]] || { echo "tests/run $*: expected $words, got $line"; exit 1; }
  done < <(grep -e '^cmake --preset' "$there/said")
  [ $some = 1 ] || { echo "tests/run $*: nothing is configured"; exit 1; }
}
says "-DMESHTF_LONG_TESTS=OFF -DMESHTF_FUZZ_PROGRAMS=60 -DMESHTF_FUZZ_SEED=1 "
says "-DMESHTF_LONG_TESTS=ON -DMESHTF_FUZZ_PROGRAMS=1000 -DMESHTF_FUZZ_SEED=1;2;3;4;5 " --long
says "-DMESHTF_LONG_TESTS=ON -DMESHTF_FUZZ_PROGRAMS=40 -DMESHTF_FUZZ_SEED=7;9 " --long --seed 7 --programs 40 --seed 9

refuses() {
  local words=$1
  shift
  if PATH=$there:$PATH bash "$root/tests/run" "$@" >"$there/output" 2>&1; then echo "tests/run $* is expected to fail"; exit 1; fi
  grep -qF -e "$words" "$there/output" || { cat "$there/output"; echo "tests/run $*: expected the words: $words"; exit 1; }
}
refuses "got 'many'" --programs many
refuses "after --seed, got nothing" --seed
bash "$root/tests/run" --help | grep -q -e '--long ' || { echo "tests/run --help does not mention --long"; exit 1; }
