# Helpers for the integration programs, which are POSIX shell and speak TAP. Each is started by
# integration/run_all with
#   ISORUN   the program under test      PROBES, HOSTS  directories of the probes and host programs
#   KERNEL   native or vm                FLOOD_MIB, TREE_FILES  how large the flood and the tree are
#   BOMB_MS  how long fork bombs run
# and ends with `finish`. A test's name starts with the ID of the rule it proves.
# shellcheck shell=sh disable=SC2034

set -u
count=0
failures=0

# A directory of our own, outside of any workspace, and the default workspace in it.
base=$(mktemp -d /tmp/isorun-test.XXXXXX)
workspace=$base/ws
mkdir "$workspace"
chmod 755 "$base" "$workspace"
cp "$PROBES"/probe_* "$workspace"
cd "$workspace" || exit 1

# The unprivileged user of the tests; it needs no entry in passwd.
user=12345

pass() {
  count=$((count + 1))
  echo "ok $count - $1"
}

fail() {
  count=$((count + 1))
  failures=$((failures + 1))
  echo "not ok $count - $1"
  shift
  for line in "$@"; do
    printf '%s\n' "$line" | sed 's/^/#   /'
  done
}

# skip NAME REASON: fails where everything must work.
skip() {
  if [ "${ISORUN_MUST_WORK:-0}" = 1 ]; then
    fail "$1" "would be skipped: $2"
  else
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
  fi
}

# is NAME GOT EXPECTED
is() {
  if [ "$2" = "$3" ]; then
    pass "$1"
  else
    fail "$1" "got:      $2" "expected: $3"
  fi
}

# at_most NAME NUMBER LIMIT, at_least NAME NUMBER LIMIT (whole numbers)
at_most() {
  if [ "$2" -le "$3" ] 2>/dev/null; then pass "$1"; else fail "$1" "got $2, at most $3 expected"; fi
}
at_least() {
  if [ "$2" -ge "$3" ] 2>/dev/null; then pass "$1"; else fail "$1" "got $2, at least $3 expected"; fi
}

# contains NAME TEXT PART
contains() {
  case $2 in
    *"$3"*) pass "$1" ;;
    *) fail "$1" "got:          $2" "should hold:  $3" ;;
  esac
}

# run ARGUMENT…: `isorun run` with a receipt; sets code, out, err, receipt, elapsed_ms.
run() {
  rm -f "$base/receipt"
  started=$(date +%s%3N)
  "$ISORUN" run --receipt "$base/receipt" "$@" >"$base/out" 2>"$base/err"
  code=$?
  elapsed_ms=$(($(date +%s%3N) - started))
  out=$(cat "$base/out")
  err=$(cat "$base/err")
  receipt=$(cat "$base/receipt" 2>/dev/null)
  if [ -n "${RECEIPTS:-}" ]; then # where every receipt is kept, to be held against the schema
    cp "$base/receipt" "$RECEIPTS/$(basename "$0" .sh)-$count.json" 2>/dev/null
  fi
}

# field PATH: a value of the last receipt, as compact JSON, strings without quotes.
field() {
  printf '%s' "$receipt" | jq -r -c "$1" 2>&1
}

# wait_for_text FILE: until something stands in it, at most 20 s.
wait_for_text() {
  tries=0
  while ! [ -s "$1" ] && [ $tries -lt 200 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
}

# calls_made: of strace's lines on standard input "NAME NUMBER" for every call, counted by name: what its inject
# option takes. every_nth N: the first of every N lines.
calls_made() {
  sed -n 's/^\([a-z0-9_]*\)(.*/\1/p' | grep -vx -e exit_group -e execve | sort | uniq -c |
    awk '{ for (i = 1; i <= $1; i++) print $2, i }'
}
every_nth() { awk -v step="$1" 'step == 1 || NR % step == 1'; }

# What a run must not leave: cgroups, processes, mounts.
cgroups_left() {
  find /sys/fs/cgroup -name 'isorun-*' 2>/dev/null | wc -l
}
processes_left() {
  # Its end the kernel makes the end of all others; as a zombie it only waits for who adopted it.
  ps -C isorun-init -o stat= | awk '!/^Z/ { living++ } END { print living + 0 }'
}
mounts_before=$(wc -l </proc/self/mountinfo)

leaves_nothing() {
  is "$1: no cgroup is left" "$(cgroups_left)" 0
  is "$1: no process is left" "$(processes_left)" 0
  is "$1: no mount is left" "$(wc -l </proc/self/mountinfo)" "$mounts_before"
}

# as_user COMMAND…: run as the unprivileged user in a cgroup delegated to it, alone in there.
as_user() {
  dirs=
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    echo '+memory +pids +cpu' >/sys/fs/cgroup/cgroup.subtree_control
    dirs=/sys/fs/cgroup/isotest-$user
  else
    memory=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
    pids=/sys/fs/cgroup/pids$(sed -n 's/^[0-9]*:pids://p' /proc/self/cgroup)
    dirs="/sys/fs/cgroup/unified/isotest-$user $memory/isotest-$user $pids/isotest-$user"
  fi
  for dir in $dirs; do
    mkdir "$dir" && chown -R "$user:$user" "$dir"
  done
  sh -c 'for dir in $1; do echo $$ >"$dir/cgroup.procs" || exit 99; done; shift
         exec setpriv --reuid "$0" --regid "$0" --clear-groups "$@"' "$user" "$dirs" "$@"
  status=$?
  for dir in $dirs; do
    rmdir "$dir"
  done
  return $status
}

finish() {
  leaves_nothing "$(basename "$0" .sh)"
  cd /
  rm -rf "$base"
  echo "1..$count"
  [ "$failures" -eq 0 ]
}
