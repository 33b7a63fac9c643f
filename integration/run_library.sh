#!/bin/sh
# Host programs on the library.
. "$(dirname "$0")/lib.sh"

for host in "$HOSTS"/host_*; do
  [ -x "$host" ] || continue
  "$host" >"$base/host" 2>&1
  notes=$(grep '^#' "$base/host")
  while read -r line; do
    case $line in
      'ok '*) pass "$(basename "$host") ${line#*- }" ;;
      'not ok '*) fail "$(basename "$host") ${line#*- }" "$notes" ;;
    esac
  done <"$base/host"
  is "$(basename "$host") ran to its end" "$(grep -c '^1\.\.' "$base/host")" 1
done

finish
