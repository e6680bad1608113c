#!/bin/bash
# Packs meshtf by Conan and builds a project against the package, with and without the runtime: conan.sh ROOT FOLDER [compiled] (also with the compiled
# library, whose kernels take minutes)
#
# Conan comes from PyPI, into FOLDER; its libraries are the machine's. Without pip or a network the check is skipped (status 77).
set -u
root=$1 folder=$2 compiled_too=${3:-}
profile=$root/tests/package/conan_profile
export CONAN_HOME=$folder/home PIP_DISABLE_PIP_VERSION_CHECK=1
conan=$folder/venv/bin/conan
log=$folder/log
mkdir -p "$folder"
skip() { tail -n 3 "$log"; echo "skipped: $1"; exit 77; }
fail() { tail -n 25 "$log"; echo "conan.sh: $1"; exit 1; }

if ! "$conan" --version >/dev/null 2>&1; then
  rm -rf "$folder/venv"
  python3 -m venv "$folder/venv" >"$log" 2>&1 || skip "no Python with venv and pip here: apt install python3-venv"
  "$folder/venv/bin/pip" install --quiet --retries 1 --timeout 20 conan==2.34.0 >"$log" 2>&1 || skip "pip could not install Conan from PyPI"
fi

rm -rf "$CONAN_HOME"
create() { "$conan" create "$root" --profile:all "$profile" --no-remote -c tools.cmake.cmake_layout:test_folder="$folder/consumer" \
    -c tools.cmake.cmaketoolchain:generator=Ninja -c "tools.cmake.cmaketoolchain:extra_variables={'CMAKE_CXX_FLAGS_DEBUG': '-O0'}" "$@" >"$log" 2>&1; }
refuses() {   # refuses WHY OPTION...: conan create fails and says WHY
  local why=$1
  shift
  create "$@" && fail "expected Conan to refuse $*"
  grep -qF "$why" "$log" || fail "expected Conan to refuse $* in the words: $why"
}

# One package serves all, whatever is built against it: the same bytes, so the same identity and revision.
made=
for case in "core False Release" "runtime True Debug"; do
  read -r component runtime build_type <<<"$case"
  create -o "&:runtime=$runtime" -s "build_type=$build_type" || fail "expected the package to be made, and its $component to be used"
  grep -q "RUN: .*consumer" "$log" || fail "expected the project that uses $component to run"
  package=$(sed -n 's/^.*Full package reference: //p' "$log")
  [ "${made:=$package}" = "$package" ] || fail "expected one package for both, got $made and $package"
done

# With the compiled library it is another package, of one compiler and build type, and its users compile no kernels.
if [ -n "$compiled_too" ]; then
  rm -rf "$folder/consumer"
  create -o "&:compiled=True" -s build_type=Debug || fail "expected the compiled library to be packed, and to be used"
  grep -q "RUN: .*consumer" "$log" || fail "expected the project that uses the compiled library to run"
  compiled=$(sed -n 's/^.*Full package reference: //p' "$log")
  [ "$made" != "$compiled" ] || fail "expected another package for the compiled library, got $made for both"
  [ -n "$(find "$CONAN_HOME" -path '*/p/lib/libmeshtf_compiled.a')" ] || fail "expected lib/libmeshtf_compiled.a in the package"
  [ -z "$(find "$folder/consumer" -path '*meshtf_compiled*')" ] || fail "expected the project to link what was packed, it compiled the kernels"
fi
refuses "compiled library belongs to its runtime" -o "&:compiled=True" -o "&:runtime=False"

refuses "Current cppstd (17) is lower than the required C++ standard (20)" -s compiler.cppstd=17
refuses "requires gcc >= 12" -s compiler=gcc -s compiler.version=11
[ ! -e "$root/tests/package/build" ] && [ ! -e "$root/tests/package/CMakeUserPresets.json" ] || fail "expected nothing new among the sources"
