#!/bin/bash
# Fuzzes what reads files and command lines, each of its kinds for SECONDS: run.sh SECONDS FOLDER
#
# libFuzzer with the address and undefined behaviour sanitizers, in FOLDER; it begins with the files of tests/fuzz/corpus. What is found stays in
# FOLDER/KIND.found, and the status is 70. What reaches new code is in FOLDER/KIND; FOLDER/KIND.least is a smallest set of it, for the corpus.
set -u
seconds=$1 folder=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$folder" || exit 69
read -ra flags <<<"$(mpicxx --showme:compile) $(mpicxx --showme:link)"
clang++-19 -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -DMESHTF_LIBFUZZER -DMESHTF_WITH_JANSSON=1 -DMESHTF_WITH_ZLIB=1 \
  -DMESHTF_WITH_XXHASH=1 -DOMPI_SKIP_MPICXX -I"$root/include" "${flags[@]}" "$root/tests/fuzz/readers.cpp" -o "$folder/fuzz_safetensors" -lboost_mpi -lboost_serialization -ljansson -lz -lxxhash || exit 70
failed=0
for kind in safetensors idx text pieces options manifest index; do
  [ $kind = safetensors ] || ln -sf fuzz_safetensors "$folder/fuzz_$kind"
  mkdir -p "$folder/$kind" "$folder/$kind.found"
  # four times the file, and what a library takes for itself
  if ! "$folder/fuzz_$kind" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=64 -print_final_stats=1 \
    -artifact_prefix="$folder/$kind.found/" "$folder/$kind" "$root/tests/fuzz/corpus/$kind" >"$folder/$kind.log" 2>&1; then
    failed=70
    echo "meshtf: expected $kind to accept or refuse any bytes, got an end: $folder/$kind.log"
  fi
  rm -rf "$folder/$kind.least"
  mkdir "$folder/$kind.least"
  "$folder/fuzz_$kind" -merge=1 -max_len=4096 "$folder/$kind.least" "$folder/$kind" "$root/tests/fuzz/corpus/$kind" >/dev/null 2>&1
  sed -n "s/^stat::number_of_executed_units: */$kind: inputs: /p" "$folder/$kind.log"
done
exit $failed
