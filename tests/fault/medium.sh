#!/bin/bash
# Passes if a training whose checkpoints are on a medium that fails ends as its policy says: medium.sh KIND FOLDER COMMAND [ARGUMENT...]
#
# KIND is what the medium of FOLDER does between two checkpoints: full or gone; or read_only, from the start of a job. It is a file system of 256 KiB of
# memory in a namespace of its own. Status 77 where mounting is refused.
set -u
here=$(cd "$(dirname "$0")" && pwd)
kind=$1 folder=$2
shift 2
if [ "${IN_NAMESPACE:-}" != yes ]; then
  mkdir -p "$folder"
  if ! unshare --mount mount -t tmpfs -o size=256k tmpfs "$folder" 2>/dev/null; then
    echo "skipped: mounting is refused here"
    exit 77
  fi
  IN_NAMESPACE=yes exec unshare --mount "$0" "$kind" "$folder" "$@"
fi
mount -t tmpfs -o size=256k tmpfs "$folder" || exit 1
run=$folder/a/run
fails() { echo "expected $1, got:"; cat "$folder.said"; exit 1; }
runs() {   # POLICY WORDS: the job ends with 0 and says the words
  mkdir -p "$folder/a"
  "${command[@]}" "$run" "$1" "$breaks" "$mends" >"$folder.said" 2>&1 </dev/null || fails "status 0"
  grep -q "^$2\$" "$folder.said" || fails "$2"
}
command=("$@")
breaks=true mends=true
case $kind in
  read_only)   # a file that is open keeps a medium from becoming so in the middle
    words="got: Read-only file system"
    runs goes_on "3 steps, 3 saved"
    mount -o remount,ro "$folder" || exit 1
    "$here/expect.sh" 69 "$words" 30 "${command[@]}" "$run" ends true || exit 1
    runs goes_on "3 steps, 0 saved"
    [ -e "$run/step-00000003/manifest.json" ] || fails "step 3"
    exit 0;;
  full)
    words="got: No space left on device: make room"
    breaks="head -c 1M /dev/zero >$folder/fill 2>/dev/null; true" mends="rm $folder/fill";;
  gone)
    words="expected to make the folder $run, got: No such file or directory"
    breaks="mv $folder/a $folder/b" mends="mv $folder/b $folder/a";;
esac
mkdir "$folder/a"
"$here/expect.sh" 69 "$words" 30 "${command[@]}" "$run" ends "$breaks" || exit 1
[ -e "$folder"/[ab]/run/step-00000001/manifest.json ] || fails "step 1"
find "$folder" -mindepth 1 -delete
runs heals "3 steps, 2 saved"
grep -q "^meshtf: .*$words" "$folder.said" || fails "$words"
[ -e "$run/step-00000003/manifest.json" ] || fails "step 3"
