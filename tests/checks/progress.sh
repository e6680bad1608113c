#!/bin/bash
# A loop says where it stands in some lines, and draws its bar on a terminal only: progress.sh PROCESSES PROGRAM
set -u
mpirun=$1 program=$2
erased=$'\r\033['K
bad=0
expect() { [ "$2" = "$3" ] || { echo "$1: expected '$2', got '$3'"; bad=1; }; }
steps() { sed -n 's/^\(.*K\|\)step *\([0-9]*\) .* s left\r*$/\2/p' <<<"$1" | tr '\n' ' '; }   # of the lines that stay
bars() { sed 's/\x1b\[[0-9]*m//g' <<<"$1" | grep -o '\[=* *\] step[^'$'\r]*'; }
coloured() { grep -c $'\033\[36m=*\033\[0m *\] step' <<<"$1"; }
unset MESHTF_TERMINAL NO_COLOR

said=$("$mpirun" 1 "$program" </dev/null)
expect "lines in a pipe" "1 2 4 6 8 10 12 14 16 18 20 22 24 " "$(steps "$said")"
expect "bars in a pipe" "" "$(bars "$said")"

said=$("$mpirun" 1 "$program" 10 </dev/null)
expect "lines in a pipe that were asked for" "10 20 24 " "$(steps "$said")"

command -v script >/dev/null || { echo "no terminal can be made here: script is missing"; exit $((bad ? 1 : 77)); }
script -qec true /dev/null </dev/null >/dev/null 2>&1 || { echo "no terminal can be made here: script says so"; exit $((bad ? 1 : 77)); }
said=$(script -qec "stty cols 60; ${mpirun@Q} 1 ${program@Q}" /dev/null </dev/null)
expect "lines on a terminal" "1 2 4 6 8 10 12 14 16 18 20 22 24 " "$(steps "$said")"
bar=$(bars "$said" | grep 'step  *7 ')   # 0.2 s after the one before
expect "the bar after a long step" "[=====               ] step      7  loss 0.14286" "${bar:0:48}"
expect "the columns of a bar on a terminal of 60" 59 ${#bar}
expect "bars that are erased" "$(bars "$said" | wc -l)" "$(grep -oF "$erased" <<<"$said" | wc -l)"
[ "$(coloured "$said")" -gt 0 ] || { echo "expected a colour on a terminal, got none"; bad=1; }
said=$(NO_COLOR=1 script -qec "stty cols 60; ${mpirun@Q} 1 ${program@Q}" /dev/null </dev/null)
expect "colours where NO_COLOR is set" 0 "$(coloured "$said")"
bar=$(bars "$said" | grep 'step  *7 ')
expect "the bar without colours" "[=====               ] step      7  loss 0.14286" "${bar:0:48}"
said=$(script -qec "stty cols 60; ${mpirun@Q} 1 ${program@Q} 0 --plain" /dev/null </dev/null)
expect "plain lines on a terminal" "1 2 4 6 8 10 12 14 16 18 20 22 24 " "$(steps "$said")"
expect "bars where plain lines were asked for" "" "$(bars "$said")"
exit $bad
