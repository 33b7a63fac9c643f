#!/bin/sh
# Hard edges that have happened to users of such programs; the numbers are those of docs/coverage.md.
. "${0%/cases/*}/lib.sh"

# T32: processes that SIGKILL does not end. A frozen v1 cgroup holds them; in v2 it does not.
"$ISORUN" run --timeout 2s --grace 0 --receipt "$base/receipt" -- ./probe_hostile deaf >"$base/ready" 2>"$base/err" &
pid=$!
wait_for_text "$base/ready"
# shellcheck disable=SC2086
members=$(find $own_cgroups -path "*isorun-$pid-*" -name cgroup.procs -exec cat {} + | sort -un)
if [ -d /sys/fs/cgroup/freezer ]; then
  freezer=/sys/fs/cgroup/freezer$(sed -n 's/^[0-9]*:freezer://p' /proc/self/cgroup)/isotest-frozen-$$
  mkdir "$freezer"
  for member in $members; do
    echo "$member" >"$freezer/cgroup.procs"
  done
  echo FROZEN >"$freezer/freezer.state"
  wait $pid
  is 'T32 unkillable processes: the wait is bounded, the status is the truth' \
    "$? $(jq -c '[.status,.elapsed_ms < 12000]' <"$base/receipt")" '124 ["timed_out",true]'
  contains 'T32 and the message says what stays' "$(cat "$base/err")" 'left behind'
  at_least 'T32 they do stay' "$(processes_left)" 1
  echo THAWED >"$freezer/freezer.state"
  tries=0
  while [ "$(processes_left)" != 0 ] && [ $tries -lt 50 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  is 'T32 thawed they end, for the kill is pending' "$(processes_left)" 0
  rmdir "$freezer"
  "$ISORUN" gc 2>/dev/null
  is 'T32 and gc removes the cgroup' "$(cgroups_left)" 0
else
  # shellcheck disable=SC2086
  find $own_cgroups -type d -name "isorun-$pid-*" -exec sh -c 'echo 1 >"$0/cgroup.freeze"' {} \;
  wait $pid
  is 'T32 frozen processes are killed all the same' \
    "$? $(jq -c '[.status,.elapsed_ms < 12000]' <"$base/receipt")" '124 ["timed_out",true]'
fi

echo '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_KILL_THREAD"}]}' \
  >"$base/kill-thread.json"
run --seccomp "$base/kill-thread.json" --timeout 1s --grace 0 -- ./probe_hostile thread
is 'T37 one thread is killed by the filter and another waits for it: the wall limit ends it' "$code $(field .status)" '124 timed_out'
run -- ./probe_hostile thread
is 'T37 without that filter it ends by itself' "$code $out" '0 announced'

run --pids 100000 --memory 48M --timeout 8s --grace 0 -- ./probe_hostile fork-bomb
contains 'T51 a fork bomb bounded by memory only ends' '"memory_limit" "timed_out"' "$(field '.status|tojson')"
at_most 'T51 in time' "$elapsed_ms" 16000
run --memory 48M --pids 4000 --nofile 4000 --timeout 20s --grace 0 -- ./probe_hostile hog-pipes
contains 'T52 kernel memory is charged and bounded' '"memory_limit" "timed_out"' "$(field '.status|tojson')"
at_most 'T52 at the limit' "$(field .usage.memory_peak_bytes)" 50331648

# T53: a parent with a lower limit than the run's own.
if [ "$(id -u)" = 0 ]; then
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    parent=${own_cgroups# }/isotest-parent
    mkdir "$parent"
    echo 48M >"$parent/memory.max"
  else
    parent=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)/isotest-parent
    mkdir "$parent"
    echo 48M >"$parent/memory.limit_in_bytes"
  fi
  sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$parent" "$ISORUN" run --timeout 20s --json -- \
    ./probe_hostile hog-alone 200 >"$base/receipt" 2>/dev/null
  receipt=$(cat "$base/receipt")
  is 'T53 F021 killed for the limit of a parent: memory_limit all the same' "$(field '[.status,.usage.oom_kills > 0]')" '["memory_limit",true]'
  contains 'F023 and the limit that was hit is named' "$(field .error)" 'a memory limit above its own: 50331648 bytes'
  # F020: a neighbour in the parent wants more than there is, and only the neighbour goes.
  sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$parent" "$ISORUN" run --json -- sh -c 'echo ready; sleep 3' >"$base/receipt" 2>/dev/null &
  innocent=$!
  sleep 0.5
  sh -c 'echo $$ >"$0/cgroup.procs"; for i in 1 2 3; do "$1" hog-alone 100; done; true' "$parent" ./probe_hostile >/dev/null 2>&1
  wait $innocent
  receipt=$(cat "$base/receipt")
  is 'F020 a run beside one that takes all is not blamed' "$(field '[.status,.usage.oom_kills]')" '["completed",0]'
  rmdir "$parent"
fi

# F083: what sockets hold is bounded as well, where the kernel counts it apart.
rm -f "$base/ready"
run_cgroup="find $own_cgroups -type d -name isorun-*"
"$ISORUN" run --memory 64M -- sh -c 'echo ready; sleep 2' >"$base/ready" &
pid=$!
wait_for_text "$base/ready"
limits=$($run_cgroup -exec sh -c 'cat "$0/memory.kmem.tcp.limit_in_bytes" 2>/dev/null' {} \;)
wait $pid
if [ -e /sys/fs/cgroup/memory/memory.kmem.tcp.limit_in_bytes ]; then
  is 'F083 the memory of sockets has the limit, too' "$limits" 67108864
fi

segments() { ipcs -m | grep -c '^0x'; }
before="$(segments) $(find /dev/shm | wc -l)"
run -- ./probe_hostile leave-shm
is 'T70 shared memory of both kinds' "$code $out" '0 left'
is 'T70 is gone with the run' "$(segments) $(find /dev/shm | wc -l)" "$before"
segment=$(ipcmk -M 4096 -p 0666 | tr -dc 0-9)
run -- ./probe_hostile attach "$segment"
is 'T171 a segment of the host is not there' "$out" 'Invalid argument'
ipcrm -m "$segment"

run -- sh -c 'stat -c "%a %n" /tmp /dev/shm /run /dev /proc / ; ls /proc/self/fd | wc -l'
is 'T106 modes of what is mounted' "$(echo "$out" | tr '\n' ' ')" '1777 /tmp 1777 /dev/shm 755 /run 755 /dev 555 /proc 755 / 4 '
run -- cat /proc/self/limits
is 'T183 no core dump, also none through a pipe' "$(echo "$out" | grep core | tr -s ' ')" 'Max core file size 1 1 bytes '

# T108: so many entries that careless code runs out of arguments, time or memory. Set-up may take 30 seconds, of
# which an emulated kernel beside others needs most for 20,000 mounts.
[ "$KERNEL" = vm ] && entries=4000 || entries=20000
mkdir many
(cd many && seq 1 "$entries" | xargs touch)
# shellcheck disable=SC2046
run --timeout 60s $(seq -f '--protect=many/%.0f' 1 "$entries") -- sh -c "echo x >many/$entries; echo \$?; : >many/new && echo free"
contains 'T108 thousands of protected paths hold, and nothing else is' "$out" 'free'
is 'T108 none of them was written' "$(cat "many/$entries") $code" ' 0'
at_most 'T108 in bounded time' "$elapsed_ms" 60000
rm -rf many

# T137, T141: a workspace in which another run changes everything all the time.
"$ISORUN" run --timeout 60s -- ./probe_hostile churn 6000 &
churner=$!
codes=
for _ in 1 2 3 4 5 6 7 8 9 10; do
  run -- sh -c ': >mine'
  codes="$codes $code $(field .status)"
  rm -f mine
done
is 'T137 T141 runs beside another one in the same workspace' "$(echo "$codes" | tr ' ' '\n' | sort | uniq -c | tr -s ' \n' ' ')" \
  ' 1 10 0 10 completed '
wait $churner
is 'T141 and the other is not disturbed' "$?" 0

# T132: a million files, in memory where the kernel can map ids there.
if [ "$KERNEL" = native ]; then
  mkdir "$base/million"
  mount -t tmpfs -o size=4G,nr_inodes=2M tmpfs "$base/million"
  cd "$base/million" || exit 1
  "$PROBES/probe_tree" make 1000000
  run --ro "$PROBES" -- "$PROBES/probe_tree" change
  if [ "$(field .status)" = launch_failed ]; then
    skip 'T132 a million files' 'this kernel cannot id-map tmpfs'
  else
    is 'T132 a run that changes a few of a million files: exactly these' \
      "$code $(field '.workspace|[.files,.incomplete,(.created|length),(.modified|length),(.deleted|length)]')" \
      '0 [1010001,false,3,5,3]'
  fi
  cd "$workspace" || exit 1
  umount "$base/million"
fi

finish
