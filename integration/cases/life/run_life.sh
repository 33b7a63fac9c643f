#!/bin/sh
# Unfriendly starts, unfriendly ends, and that nothing outlives a run.
. "${0%/cases/*}/lib.sh"

start="$PROBES/probe_start"

"$start" closed-0 "$ISORUN" run -- sh -c 'cat; echo alive' >"$base/out" 2>&1
is 'T90 started with closed standard input' "$? $(cat "$base/out")" '0 alive'
"$start" closed-012 "$ISORUN" run --receipt "$base/receipt" -- ./probe_world
is 'T90 started with closed standard streams' "$? $(jq -r .status <"$base/receipt")" '0 completed'
contains 'T90 and the payload has its own three' "$(jq -r .stdout.text <"$base/receipt")" 'fds 0 1 2
'
"$start" ignore-chld "$ISORUN" run -- sh -c 'sleep 0.1 & wait $!; echo $?' >"$base/out" 2>&1
is 'T22 started with SIGCHLD ignored' "$? $(cat "$base/out")" '0 0'
"$start" block-all "$ISORUN" run -- ./probe_hostile signals >"$base/out" 2>&1
is 'T22 ignored and blocked signals are reset in the payload' "$? $(cat "$base/out")" '0 ignored blocked'
"$start" leak-fds "$ISORUN" run -- sh -c 'ls /proc/self/fd | wc -l' >"$base/out" 2>&1
is 'descriptors of the caller are not handed down' "$? $(cat "$base/out")" '0 4'
"$start" files-40 "$ISORUN" run -- echo few >"$base/out" 2>&1
is 'started with few descriptors: it works' "$? $(cat "$base/out")" '0 few'
"$start" files-12 "$ISORUN" run -- echo few >"$base/out" 2>&1
is 'started with too few descriptors: it says so' "$?" 125
is 'and why, in the words of either libc' \
  "$(grep -cE 'Too many open files|No file descriptors available' "$base/out")" 1
contains 'and what to do' "$(cat "$base/out")" 'ulimit -n 64'
"$start" files-20 "$ISORUN" run -- echo few >"$base/out" 2>&1
is 'started with 20 descriptors, and no more to be had: it says so' \
  "$? $(grep -c 'ulimit -n 64' "$base/out")" '125 1'
"$start" files-soft-12 "$ISORUN" run -- sh -c 'echo few; ulimit -Sn' >"$base/out" 2>&1
is 'a soft limit of descriptors is raised, and the payload has its own' "$? $(tr '\n' ' ' <"$base/out")" '0 few 1024 '
leaves_nothing 'too few descriptors'

run --pids 64 --timeout 60s -- ./probe_hostile breed 2000
is 'T20 the init reaps 2000 orphans under a limit of 64 processes' "$code $out" '0 bred'

# T33: SIGKILL of isorun, at once and later. The kernel ends the rest; only the empty cgroup stays. Killed early
# enough, what ends is not the init yet but a process that was about to become it: only the cgroup knows that one.
# shellcheck disable=SC2086
members() { find $own_cgroups -path '*isorun-*' -name cgroup.procs -exec cat {} + 2>/dev/null; }
for delay in 0 0.001 0.002 0.003 0.005 0.008 0.02 0.3; do
  "$ISORUN" run -- ./probe_hostile deaf >/dev/null 2>&1 &
  pid=$!
  sleep $delay
  kill -KILL $pid
  wait $pid 2>/dev/null
  tries=0
  while [ "$(processes_left)$(members)" != 0 ] && [ $tries -lt 30 ]; do sleep 0.1; tries=$((tries + 1)); done
  is "T33 kill -9 of isorun after $delay s: no process is left" "$(processes_left)" 0
  is "T33 kill -9 after $delay s: the cgroup is empty" "$(members)" ''
done
at_least 'T62 killed runs leave cgroups' "$(cgroups_left)" 1
"$ISORUN" run -- sleep 4 &
living=$!
sleep 2.2 # younger ones might still be about to be locked
"$ISORUN" gc 2>"$base/err"
is 'T62 gc removes them' "$?" 0
contains 'T62 and says so' "$(cat "$base/err")" 'killed runs had left'
wait $living
is 'T62 a living run is left alone' "$?" 0
is 'T62 nothing is left then' "$(cgroups_left)" 0

"$ISORUN" run -- ./probe_hostile deaf >/dev/null 2>&1 &
pid=$!
sleep 0.3
kill -KILL $pid
wait $pid 2>/dev/null
sleep 2.2
"$ISORUN" run -- true
is 'T62 the next run removes what a killed one left' "$(cgroups_left)" 0
# F031: somebody has made cgroups below the run's. F095: and others cannot open it, so not lock it either.
: >"$base/locked"
for killed in no yes; do
  start "$base/ready" "$ISORUN" run -- sh -c 'echo ready; sleep 2'
  # shellcheck disable=SC2086
  find $own_cgroups -type d -name "isorun-$pid-*" | while read -r dir; do
    mkdir -p "$dir/below/deeper" "$dir/beside"
    setpriv --reuid $user --clear-groups flock -n "$dir" true 2>/dev/null && echo "$dir can be locked" >>"$base/locked"
  done
  if [ $killed = yes ]; then
    kill -KILL $pid
    wait $pid 2>/dev/null
    sleep 2.2
    "$ISORUN" gc >/dev/null 2>&1
  else
    wait $pid
  fi
  is "F031 F095 cgroups below a run's go with it (isorun killed: $killed)" "$? $(cgroups_left) $(cat "$base/locked")" '0 0 '
done
"$ISORUN" gc extra 2>/dev/null
is 'gc takes no arguments' "$?" 125

# The init of a run is killed from outside: an error of isorun's, not a success.
start "$base/ready" "$ISORUN" run --receipt "$base/receipt" -- sh -c 'echo ready; sleep 30'
kill -KILL "$(own_inits $pid)"
wait $pid
code=$?
receipt=$(cat "$base/receipt")
is 'an init that is killed from outside is reported' "$code $(field .status)" '125 internal_error'

# Two runs at once share nothing.
"$ISORUN" run -- sh -c 'echo mine >/tmp/file; echo shm >/dev/shm/file; sleep 1; cat /tmp/file' >"$base/one" &
one=$!
sleep 0.3
"$ISORUN" run -- sh -c 'ls -A /tmp /dev/shm; pgrep -c . || ls -d /proc/[0-9]* | wc -l' >"$base/two"
wait $one
is 'T170 two runs at once: private /tmp and /dev/shm' "$(cat "$base/one") $(grep -c file "$base/two")" 'mine 0'

# Eight at once, then all is gone.
for i in 1 2 3 4 5 6 7 8; do
  "$ISORUN" run -- sh -c "exit $i" &
  eval "pid_$i=$!"
done
codes=
for i in 1 2 3 4 5 6 7 8; do
  eval "wait \$pid_$i"
  codes="$codes $?"
done
is 'eight runs at once keep their exit codes' "$codes" ' 1 2 3 4 5 6 7 8'

# nohup: an ignored signal stays ignored in isorun
sh -c 'trap "" HUP; exec "$0" run -- sh -c "sleep 1; echo done"' "$ISORUN" >"$base/out" &
pid=$!
sleep 0.3
kill -HUP $pid
wait $pid
is 'nohup is respected' "$? $(cat "$base/out")" '0 done'

finish
