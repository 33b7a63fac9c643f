#!/bin/sh
# Who the payload is: on the host, on disk, and when an ordinary user starts it.
. "${0%/cases/*}/lib.sh"

[ "$(id -u)" = 0 ] || {
  skip 'identities' 'only root can make the test users'
  finish
  exit
}

run -- sh -c 'echo x >made; mkdir made.d; cat /proc/self/uid_map | tr -s " "'
is 'as root: files made by the payload belong to root on disk' "$(stat -c %u:%g made made.d | tr '\n' ' ')" '0:0 0:0 '
is 'F012 as root: the payload has a block of host ids, of the range that nobody hands out' \
  "$(field "[.isolation.identity, .isolation.host_uid >= 1879048192, .isolation.host_uid < 2147352576,
    (.stdout.text == \" 0 \\(.isolation.host_uid - 1000) 65536\n\")]")" '["mapped",true,true,true]'
start "$base/ready" "$ISORUN" run -- sh -c 'echo ready; sleep 5'
init=$(own_inits $pid)
# shellcheck disable=SC2046
set -- $(sed -n 's/^Uid://p' "/proc/$init/status")
is 'as root: so does the host' "$(($1 >= 1879048192)) $(($1 == $2 && $2 == $3 && $3 == $4))" '1 1'
kill -TERM $pid
wait $pid

mkdir "$base/theirs"
echo secret >"$base/theirs/root-file" && chmod 600 "$base/theirs/root-file"
chown $user:$user "$base/theirs"
cd "$base/theirs" || exit 1
run -- sh -c 'echo x >made; cat root-file; echo y >>root-file'
is "a workspace of another user keeps its owner" "$(stat -c %u:%g made)" $user:$user
is "a file of a third party in it is not the payload's" "$(cat root-file) $out" 'secret '
cd "$workspace" || exit 1

# A file system that cannot be id-mapped: tmpfs before Linux 6.3, otherwise ramfs (never).
mkdir "$base/plain"
mount -t ramfs ramfs "$base/plain"
mkdir "$base/plain/root" "$base/plain/user"
chown $user:$user "$base/plain/user"
run --workspace "$base/plain/root" -- touch made
is 'no id-mapping there, workspace of root: refused' "$code $(field .status)" '125 launch_failed'
contains 'and the message says what to do' "$err" '--workspace-mode ro'
run --workspace "$base/plain/root" --workspace-mode ro -- sh -c 'ls; touch made'
contains 'no id-mapping there, read-only: runs' "$err" 'Read-only file system'
run --workspace "$base/plain/user" -- touch made
is "no id-mapping there, workspace of a user: runs as that user, and says so" \
  "$code $(field '[.isolation.identity,.isolation.host_uid]') $(stat -c %u "$base/plain/user/made")" \
  "0 [\"workspace-owner\",$user] $user"
umount "$base/plain"

mkdir "$base/home"
cp "$PROBES"/probe_* "$base/home"
chown -R $user:$user "$base/home"
chmod 755 "$base/home"
for_user "$ISORUN" "$PROBES/probe_tree" "$PROBES/probe_pty"
cd "$base/home" || exit 1

as_user "$base/tools/isorun" run --json -- sh -c 'id -u; touch made; ./probe_world' >"$base/receipt" 2>"$base/err"
code=$?
receipt=$(cat "$base/receipt")
is 'as an ordinary user in a delegated cgroup: runs' "$code $(cat "$base/err")" '0 '
is 'as an ordinary user: the receipt says who' "$(field '[.isolation.identity,.isolation.host_uid]')" "[\"caller\",$user]"
is 'as an ordinary user: files are its own' "$(stat -c %u made)" $user
world=$(field .stdout.text)
contains 'as an ordinary user: no capability in any set' "$world" 'CapInh: 0000000000000000
CapPrm: 0000000000000000
CapEff: 0000000000000000
CapBnd: 0000000000000000
CapAmb: 0000000000000000
NoNewPrivs: 1
Seccomp: 2'
contains 'as an ordinary user: only the three descriptors' "$world" 'fds 0 1 2
'
contains 'as an ordinary user: init cannot be looked into' "$world" 'open /proc/1/mem EACCES'
contains 'as an ordinary user: /dev is closed' "$world" 'open /dev/isorun-was-here EROFS'
as_user "$base/tools/isorun" run --json --memory 64M -- ./probe_hostile hog-alone 300 >"$base/receipt" 2>/dev/null
receipt=$(cat "$base/receipt")
is 'as an ordinary user: the memory limit holds' "$(field .status)" memory_limit
as_user "$base/tools/isorun" run --json --pids 16 --timeout "${BOMB_MS}ms" --grace 0 -- ./probe_hostile fork-bomb >"$base/receipt" 2>/dev/null
receipt=$(cat "$base/receipt")
is 'as an ordinary user: the process limit holds' "$(field '[.status,.usage.pids_limit_hits > 0]')" '["timed_out",true]'
as_user "$base/tools/isorun" run -- ./probe_syscalls >"$base/out"
contains 'as an ordinary user: the system call table' "$(cat "$base/out")" 'unshare user EPERM'

mkdir tree
(cd tree && "$PROBES/probe_tree" make 5000)
chown -R $user:$user tree
cd tree || exit 1
as_user "$base/tools/isorun" run --json --ro "$base/tools" -- "$base/tools/probe_tree" change >"$base/receipt" 2>/dev/null
receipt=$(cat "$base/receipt")
is 'as an ordinary user: the diff names exactly what changed' \
  "$(field '.workspace|[(.created|length),.modified,(.deleted|length)]')" \
  '[3,["d0000/link","d0004/f04","d0005/f05","d0006/f06","d0009/f10"],3]'
# What a payload locks away is a gap in the diff: no deletions are made up, and the rest of the receipt stands.
as_user "$base/tools/isorun" run --json -- sh -c 'chmod 0 d0001; chmod 444 d0002; echo x >d0003/new' >"$base/receipt"
chmod 755 d0001 d0002
receipt=$(cat "$base/receipt")
is 'as an ordinary user: directories that are locked meanwhile' \
  "$(field '.status,(.workspace|[.created,.modified,.deleted,.incomplete])' | tr '\n' ' ')" \
  'completed [["d0003/new"],["d0001","d0002"],[],true] '
as_user "$base/tools/isorun" run --json -- sh -c 'echo x >d0004/new; chmod 0 .' >"$base/receipt"
chmod 755 .
receipt=$(cat "$base/receipt")
is 'as an ordinary user: a workspace that is locked meanwhile' \
  "$(field '.status,(.workspace|[.deleted,.incomplete])' | tr '\n' ' ')" 'completed [[],true] '
cd "$base/home" || exit 1
echo '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO"}]}' >"$base/profile.json"
as_user "$base/tools/isorun" run --seccomp "$base/profile.json" -- mkdir refused 2>"$base/err"
contains 'as an ordinary user: a custom filter' "$(cat "$base/err")" 'Operation not permitted'
as_user timeout 60 "$base/tools/probe_pty" 30 90 '$ ' 'stty size\n' '30 90' 'exit 4\n' -- \
  "$base/tools/isorun" run --cgroup optional --tty -- sh >"$base/out"
is 'as an ordinary user: --tty' "$(grep -c '^30 90' "$base/out") $(tail -1 "$base/out")" '1 exit 4, settings as before'
if [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
  as_user "$base/tools/isorun" run --cpus 1 -- touch ran 2>"$base/err"
  is 'T58 a controller that is not delegated: refused, nothing ran' "$? $(ls ran 2>/dev/null)" '125 '
  contains 'T58 and it is named' "$(cat "$base/err")" 'cpu'
fi

setpriv --reuid $user --regid $user --clear-groups "$base/tools/isorun" run -- touch ran 2>"$base/err"
is 'RUN-2 an ordinary user without delegation: refused, nothing ran' "$? $(ls ran 2>/dev/null)" '125 '
contains 'RUN-2 and the remedy is named' "$(cat "$base/err")" 'Delegate=yes'
setpriv --reuid $user --regid $user --clear-groups "$base/tools/isorun" run --cgroup optional --json -- \
  sh -c 'sleep 100 & echo ran' >"$base/receipt" 2>"$base/err"
code=$?
receipt=$(cat "$base/receipt")
is '--cgroup optional: runs, and the receipt says without' \
  "$code $(field '[.isolation.cgroup,.limits.pids.effective,.usage.memory_peak_bytes]')" '0 ["none",null,null]'
setpriv --reuid $user --regid $user --clear-groups "$base/tools/isorun" doctor >"$base/out"
is 'doctor says that it would not work' "$?" 125
contains 'doctor names the remedy' "$(cat "$base/out")" 'Delegate=yes'

finish
