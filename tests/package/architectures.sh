#!/bin/bash
# The whole compiled library for two architectures, in a project that uses it, and a program that trains with each of them.
# architectures.sh FOLDER MPIRUN CMAKE OPTION...
set -u
folder=$1 mpirun=$2 cmake=$3
shift 3
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the architectures are those of x86-64"; exit 77; }
grep -q avx512vl /proc/cpuinfo || { echo "skipped: this processor has no AVX-512"; exit 77; }
{ "$cmake" -S "$(dirname "${BASH_SOURCE[0]}")/architectures" -B "$folder" '-DMESHTF_ARCHITECTURES=avx2;avx512' -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_FLAGS_DEBUG=-O1 "$@" && "$cmake" --build "$folder"; } >"$folder.log" 2>&1 || { tail -n 40 "$folder.log"; exit 70; }
failed=0
fail() { echo "$1"; failed=1; }

# The linker may keep nothing of an architecture for sources of another: all that is seen from outside is kernels, and their names say which.
for name in avx2 avx512; do
  nm --defined-only --extern-only "$folder/meshtf_compiled/$name.o" >"$folder.symbols" || exit 70
  [ "$(grep -c " T .*\.$name\$\| W .*\.$name\$" "$folder.symbols")" -gt 1000 ] || fail "expected more than a thousand kernels of $name"
  others=$(grep -v "\.$name\$" "$folder.symbols") && fail "expected only names that end in .$name in the object of $name, got $others"
  ! readelf -SW "$folder/meshtf_compiled/$name.o" | grep -q '\.init_array' || fail "expected nothing in the object of $name that runs at start"
done

# The notice that the processor has more than the kernels use is not said: no -march was given, and none is needed.
runs() {   # WORDS [VARIABLE=VALUE]: the program says this alone
  local words=$1 said got
  shift
  said=$(env "$@" "$mpirun" 2 "$folder/consumer" 2>&1)
  got=$?
  said=$(grep -v 'OpenBLAS does not know this CPU' <<<"$said")   # which is another notice, on some processors
  { [ $got = 0 ] && [ "$said" = "$words" ]; } || fail "expected status 0 and '$words' with '$*', got $got and '$said'"
}
runs avx512
runs avx2 MESHTF_ARCHITECTURES=avx2
exit $failed
