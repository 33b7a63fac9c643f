#!/bin/sh
# The host program on the library, which speaks TAP itself.
. "${0%/cases/*}/lib.sh"

"$HOSTS/host_threads" >"$base/host" 2>&1
notes=$(grep '^#' "$base/host")
while read -r line; do
  case $line in
    'ok '*) pass "host_threads ${line#*- }" ;;
    'not ok '*) fail "host_threads ${line#*- }" "$notes" ;;
  esac
done <"$base/host"
is 'host_threads ran to its end' "$(grep -c '^1\.\.' "$base/host")" 1

finish
