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

# A mount namespace and cgroups of our own: what is counted there only we can have made, however busy the
# machine is, and whatever other isoruns do on it.
if [ "$(id -u)" = 0 ] && [ -z "${OWN_MOUNTS:-}" ]; then
  export OWN_MOUNTS=1
  exec unshare --mount --propagation private "$0" "$@"
fi
[ -z "${OWN_MOUNTS:-}" ] || mount --make-rshared / # as a host's are

# hierarchies: where we are in every hierarchy that isorun uses; in v2 the nearest place above that hands its
# controllers down.
hierarchies() {
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    place=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
    while [ "${place%/}" != /sys/fs/cgroup ] && ! grep -qw memory "$place/cgroup.subtree_control"; do
      place=${place%/*}
    done
    echo "$place"
  else
    echo "/sys/fs/cgroup/unified$(sed -n 's/^0:://p' /proc/self/cgroup)"
    for controller in memory pids cpu; do
      echo "/sys/fs/cgroup/$controller$(sed -n "s/^[0-9]*:\([^:]*,\)*$controller\(,[^:]*\)*://p" /proc/self/cgroup)"
    done
  fi | sed 's,/$,,'
}

# move_to DIRECTORY: this shell. In a v2 cgroup with controllers nobody may be, so it has a leaf.
move_to() {
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    mkdir -p "$1/shell" && echo $$ >"$1/shell/cgroup.procs" || return 1
    for controller in memory pids cpu; do # cpu is not handed down everywhere, and not needed
      ! grep -qw $controller "$1/cgroup.controllers" || echo "+$controller" >"$1/cgroup.subtree_control" || return 1
    done
  else
    echo $$ >"$1/cgroup.procs"
  fi
}

came_from=$(cat /proc/self/cgroup)
home_cgroups=$(hierarchies)
own_cgroups=
for home in $home_cgroups; do
  [ "$(id -u)" = 0 ] || break
  [ "$home" != /sys/fs/cgroup ] || echo '+memory +pids +cpu' >"$home/cgroup.subtree_control"
  mkdir "$home/isotest-$$" || exit 1
  own_cgroups="$own_cgroups $home/isotest-$$"
  move_to "$home/isotest-$$" || exit 1
done

# Back to where we came from, and nothing of ours stays.
leave_cgroups() {
  while read -r line; do
    [ -n "$own_cgroups" ] || break
    case $line in
      0::*) [ -e /sys/fs/cgroup/cgroup.controllers ] && root=/sys/fs/cgroup || root=/sys/fs/cgroup/unified ;;
      *) root=/sys/fs/cgroup/$(echo "$line" | cut -d: -f2) ;;
    esac
    [ ! -d "$root" ] || echo $$ >"$root${line#*:*:}/cgroup.procs"
  done <<END
$came_from
END
  for own in $own_cgroups; do
    find "$own" -depth -type d -exec rmdir {} +
  done
}
trap leave_cgroups EXIT

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

# jq in Go starts ten times faster, which under emulation was a third of what the tests took. It sorts the members of
# objects: where their order counts, it is `command jq`.
jq() {
  gojq "$@"
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

# start OUT COMMAND…: in the background, until it has said something in OUT; its complaints go to OUT.err, its pid to $pid.
start() {
  said=$1
  shift
  rm -f "$said" # what an earlier one said is not this one's
  "$@" >"$said" 2>"$said.err" &
  pid=$!
  wait_for_text "$said"
}

# i386_entry: what a system call through the i386 entry ends in under seccomp: a kernel without that entry is not asked.
i386_entry() {
  "$PROBES/probe_syscalls" i386 | grep -o SIGSEGV || echo SIGSYS
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
  # shellcheck disable=SC2086
  find $own_cgroups -name 'isorun-*' | wc -l
}
# own_inits [PID]: the inits of our runs, or of the isorun PID. As a zombie one only waits for who adopted it: its
# end the kernel makes the end of all others.
# shellcheck disable=SC2120
own_inits() {
  # shellcheck disable=SC2086
  find $own_cgroups -name cgroup.procs -exec cat {} + 2>/dev/null | sort -un | while read -r member; do
    awk -v parent="${1:-}" '$2 == "(isorun-init)" && $3 != "Z" && (parent == "" || $4 == parent) { print $1 }' \
      "/proc/$member/stat" 2>/dev/null
  done
}
processes_left() {
  # shellcheck disable=SC2119
  own_inits | wc -l
}
mounts_before=$(wc -l </proc/self/mountinfo)

leaves_nothing() {
  is "$1: no cgroup is left" "$(cgroups_left)" 0
  is "$1: no process is left" "$(processes_left)" 0
  is "$1: no mount is left" "$(wc -l </proc/self/mountinfo)" "$mounts_before"
}

# for_user FILE…: copies of programs in "$base/tools", where an ordinary user finds them: what was built may lie
# below a directory that only its owner can enter.
for_user() {
  mkdir -p "$base/tools"
  cp "$@" "$base/tools"
  chmod 755 "$base/tools" "$base/tools"/*
}

# as_user COMMAND…: run as the unprivileged user in a cgroup delegated to it, alone in there.
as_user() {
  dirs=
  for own in $own_cgroups; do
    case $own in */cpu/*) ;; *) dirs="$dirs $own/isotest-$user" ;; esac
  done
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
