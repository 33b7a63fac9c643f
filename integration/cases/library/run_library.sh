#!/bin/sh
# Host programs on the library, which speak TAP themselves.
. "${0%/cases/*}/lib.sh"

# tell PROGRAM: its checks as ours.
tell() {
  "$HOSTS/$1" >"$base/host" 2>&1
  notes=$(grep '^#' "$base/host")
  while read -r line; do
    case $line in
      'ok '*) pass "$1 ${line#*- }" ;;
      'not ok '*) fail "$1 ${line#*- }" "$notes" ;;
    esac
  done <"$base/host"
  is "$1 ran to its end" "$(grep -c '^1\.\.' "$base/host")" 1
}
tell host_threads
tell host_loop

# Stations of a process that is alone in its cgroup: whoever is freed last takes the way back, and what
# was there before is there again. In v2 that means a leaf that all three share.
if [ "$(id -u)" = 0 ]; then
  for order in 012 021 102 120 201 210 threads; do
    alone=
    for own in $own_cgroups; do
      mkdir "$own/alone" && alone="$alone $own/alone"
    done
    sh -c 'for dir in $1; do echo $$ >"$dir/cgroup.procs" || exit 99; done; exec "$0" "$2"' \
      "$HOSTS/host_stations" "$alone" "$order" >"$base/out" 2>&1
    is "stations of one process: $order" "$? $(cat "$base/out")" '0 '
    # shellcheck disable=SC2086
    is "and nothing of theirs is left ($order)" "$(find $alone -mindepth 1 -type d)" ''
    for dir in $alone; do
      is "nor are controllers handed down ($order)" "$(cat "$dir/cgroup.subtree_control" 2>/dev/null)" ''
      rmdir "$dir"
    done
  done
fi

finish
