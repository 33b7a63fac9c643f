#!/bin/sh
# File systems that do not answer, answer late or lie, and trees that are too deep or too wide: isorun itself comes
# back, obeys signals, and says what it waited for. Bounds in time stand far above what is expected: what hangs, hangs
# for ever.
. "${0%/cases/*}/lib.sh"

for_user "$ISORUN"
isorun_of_user=$base/tools/$(basename "$ISORUN")

# --- F081: deeper than any path can name. (Landlock walks up from every name that is made, so for 16,000 it takes a
# payload most of a minute: here we make them.)
run --diff -- ./probe_tree deep 2000
is 'F081 2,000 nested directories do not keep the run that made them' "$code $(field '.workspace.incomplete')" '0 true'
contains 'F081 and the receipt says why the diff is not whole' "$(field .workspace.incomplete_reason)" 'deep'
rm -rf d
./probe_tree deep 16000
run --diff --timeout 5s -- true
is 'F081 nor 16,000 the next one' "$code $(field .status)" '0 completed'
contains 'F081 which says so to a person' "$err" 'deep'
at_most 'F081 in bounded time' "$elapsed_ms" 30000
rm -rf d

# --- F030: a signal during the look at a large tree acts at once
mkdir wide
(cd wide && "$PROBES/probe_tree" make 30000)
"$PROBES/probe_start" default-signals "$ISORUN" run --receipt "$base/receipt" -- touch ran >/dev/null 2>"$base/err" &
pid=$!
sleep 0.03
kill -INT $pid
wait $pid
code=$?
receipt=$(cat "$base/receipt")
is 'F030 a signal while isorun looks at the workspace ends it as one during the run does' \
  "$code $(field .status)" '130 cancelled'

# --- F086: a directory with more names than are shown
mkdir wide/names
(cd wide/names && seq -w 1 60000 | xargs touch)
printf '{"root": "%s"}' "$workspace/wide" >"$base/policy.json"
peak() { # COMMAND…: the most memory that it had, in KiB
  "$@" >"$base/out" 2>/dev/null &
  peaked=$!
  most=0
  while kill -0 $peaked 2>/dev/null; do
    now=$(awk '/^VmHWM/ {print $2}' "/proc/$peaked/status" 2>/dev/null)
    [ "${now:-0}" -le "$most" ] || most=$now
  done
  wait $peaked
  echo "$most"
}
used=$(peak "$ISORUN" exec --policy "$base/policy.json" --tool filesystem.list --args '{"path": "names"}')
receipt=$(cat "$base/out")
is 'F086 the first thousand of 60,000 names' \
  "$(field .output | jq -c '[length,first,last]') $(field .truncated)" '[1000,"00001","01000"] true'
at_most 'F086 in as much memory as these take, KiB' "$used" 12288
rm -rf wide

# --- F030: file systems that do not answer
if [ ! -e /dev/fuse ] || [ "$(id -u)" != 0 ]; then
  # Everything up to here needs nobody else.
  finish
  exit
fi

# mounted BEHAVIOUR PLACE: a FUSE server; its pid is in $server. unmounted: it ends, and with it all that waits for it.
mounted() {
  mkdir -p "$2"
  start "$base/server" "$HOSTS/fuse_server" "$1" "$2"
  server=$pid
}
unmounted() {
  kill -TERM $server
  wait $server 2>/dev/null
}
# as_owner ARGUMENT…: `isorun run` by the workspace's ordinary user, who needs no mapped ids; sets what run() does.
as_owner() {
  rm -f "$base/u/receipt"
  started=$(date +%s%3N)
  timeout -s KILL 120 setpriv --reuid $user --regid $user --clear-groups "$isorun_of_user" run --cgroup optional \
    --receipt "$base/u/receipt" "$@" >"$base/out" 2>"$base/err"
  code=$?
  elapsed_ms=$(($(date +%s%3N) - started))
  out=$(cat "$base/out")
  err=$(cat "$base/err")
  receipt=$(cat "$base/u/receipt")
}
mkdir -p "$base/u/ws/at"
chown -R $user:$user "$base/u"
cd "$base/u/ws" || exit 1
base_real=$(realpath "$base")

for behaviour in silent dead; do
  mounted $behaviour "$base/u/ws/at"
  as_owner --timeout 3s --diff -- true
  is "F030 a mount that never answers below the workspace ($behaviour): the look goes on without it" \
    "$code $(field '.workspace.incomplete')" '0 true'
  contains "F030 and says so ($behaviour)" "$err" 'incomplete'
  as_owner --timeout 1s --grace 0 -- ls at
  is "F030 a payload that hangs in it ($behaviour): the limit holds, and isorun comes back" "$code $(field .status)" '124 timed_out'
  contains "F030 the message names the mount ($behaviour)" "$err" "$base_real/u/ws/at"
  at_most "F030 in bounded time ($behaviour)" "$elapsed_ms" 30000
  run --workspace "$workspace" --timeout 1s --grace 0 --ro "$base/u/ws" -- ls "$base/u/ws/at"
  is "F030 the same under a cgroup ($behaviour)" "$code $(field .status)" '124 timed_out'
  contains "F030 which is named ($behaviour)" "$err" 'left behind in cgroup'
  run --workspace "$workspace" -- echo next
  is "F030 what is stuck does not disturb the next run ($behaviour)" "$code $out" '0 next'
  # What it would cost per run, were it waited for, is five seconds: so thirty runs tell.
  started=$(date +%s)
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    "$ISORUN" run --workspace "$workspace" -- true
  done
  at_most "F030 and costs it nothing ($behaviour), s" $(($(date +%s) - started)) 60
  run --workspace "$workspace" --timeout 3s --ro "$base/u/ws/at/x" -- true
  is "F030 a mount source on it ($behaviour): refused" "$code $(field .status)" '125 invalid'
  contains "F030 with the reason ($behaviour)" "$err" 'does not answer'
  as_owner --workspace "$base/u/ws/at" --timeout 3s -- true
  is "F030 a workspace on it ($behaviour): told" "$code" 125
  printf '{"root": "%s", "timeout_seconds": 1}' "$base/u/ws" >"$base/policy.json"
  "$ISORUN" exec --policy "$base/policy.json" --tool filesystem.list --args '{"path": "at"}' >"$base/receipt" 2>/dev/null
  code=$?
  receipt=$(cat "$base/receipt")
  is "F030 the file tools, too ($behaviour)" "$code $(field .status)" '125 failed'
  "$ISORUN" exec --policy "$base/policy.json" --tool filesystem.list --args '{"path": "."}' >"$base/receipt" 2>/dev/null
  receipt=$(cat "$base/receipt")
  contains "F030 and they still do what needs no answer ($behaviour)" "$(field .status)" ed
  # A signal while isorun waits for an answer.
  setpriv --reuid $user --regid $user --clear-groups "$PROBES/probe_start" default-signals "$isorun_of_user" run \
    --cgroup optional --ro "$base/u/ws/at/x" --receipt "$base/u/receipt" -- true 2>/dev/null &
  pid=$!
  sleep 0.5
  kill -TERM $pid
  wait $pid
  is "F030 SIGTERM while it waits ($behaviour)" "$?" 143
  unmounted
  "$ISORUN" gc >/dev/null 2>&1
done

mounted slow "$base/u/ws/at"
as_owner --timeout 60s -- sh -c 'ls -d at/file'
is 'F030 one that answers after ten seconds is waited for by its payload' "$code $out" '0 at/file'
as_owner --diff -- true
is 'F030 and not by the look' "$code $(field '.workspace.incomplete')" '0 true'
unmounted

for behaviour in liar endless; do
  mounted $behaviour "$base/u/ws/at"
  as_owner --workspace "$base/u/ws/at" --timeout 5s -- true
  contains "F030 one that lies as the workspace ($behaviour): the run ends" '0 125' "$code"
  as_owner --diff -- true
  is "F030 and below it ($behaviour)" "$code" 0
  run --workspace "$workspace" --ro "$base/u/ws/at" -- true
  is "F030 and beside it ($behaviour)" "$code" 0
  printf '{"root": "%s", "timeout_seconds": 3}' "$base/u/ws" >"$base/policy.json"
  "$ISORUN" exec --policy "$base/policy.json" --tool filesystem.list --args '{"path": "at"}' >"$base/receipt" 2>/dev/null
  code=$?
  receipt=$(cat "$base/receipt")
  contains "F030 and under the file tools ($behaviour)" '0 125' "$code"
  unmounted
done
cd "$workspace" || exit 1

finish
