#!/bin/bash
# Writes the one header, and compares its size with what docs/install.md says of it: one_header.sh ROOT OUTPUT
set -eu
root=$1 output=$2
python3 "$root/docs/packaging/one_header.py" "$output"
size=$(awk -v n="$(wc -c <"$output")" 'BEGIN { printf "%.1f MB", n / 1e6 }')
said=$(sed -n 's/.*writes meshtf_core\.hpp, \([^:]*\):.*/\1/p' "$root/docs/install.md")
[ "$said" = "$size" ] || { echo "docs/install.md says that meshtf_core.hpp has '$said', expected '$size'"; exit 1; }
