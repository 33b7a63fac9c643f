#!/bin/sh
# Runs beside each other, started by root: each has host ids of its own, so that none has power over another, and what
# the kernel counts by user is counted by run. Then what those ids do to files of others.
. "${0%/cases/*}/lib.sh"

[ "$(id -u)" = 0 ] || {
  skip 'F012 neighbours' 'only root hands out host ids'
  finish
  exit
}

# An /etc and a /run/isorun of our own: which ids there are, and which are taken, only we decide.
cp -a /etc "$base/etc" 2>/dev/null
mkdir -p "$base/etc/isorun"
mkdir /run/isorun 2>/dev/null || kept=1
mount --bind "$base/etc" /etc
mount -t tmpfs -o mode=700 tmpfs /run/isorun
leave_places() {
  umount /etc /run/isorun
  [ -n "${kept:-}" ] || rmdir /run/isorun 2>/dev/null
}
ids=/etc/isorun/host-ids

# neighbour NAME COMMAND…: a run in the background that has said something; its isorun's pid is in $pid.
neighbour() {
  name=$1
  shift
  start "$base/$name" "$ISORUN" run --receipt "$base/$name.json" -- "$@"
}

# --- both sides hostile
cp "$PROBES/probe_hostile" .
neighbour one ./probe_hostile hog-inotify
one=$pid
neighbour two ./probe_hostile hog-inotify
two=$pid
is 'F012 what one run takes of a per-user limit, another one still has' \
  "$(cat "$base/two")" "$(cat "$base/one")"
at_least 'F012 and that is something' "$(cut -d' ' -f1 "$base/two")" 1
uid_of() { awk '/^Uid:/ {print $2}' "/proc/$1/status"; }
child_of() { pgrep -P "$(own_inits "$1")"; }
first=$(child_of $one) second=$(child_of $two)
is 'F012 their host uids differ' "$([ "$(uid_of "$first")" != "$(uid_of "$second")" ] && echo differ)" differ
is "F012 one's host uid cannot signal the other, even outside of its PID namespace" \
  "$(setpriv --reuid "$(uid_of "$first")" --clear-groups sh -c "kill -0 $second" 2>&1 | grep -c 'not permitted')" 1
is "F012 nor read its memory map" \
  "$(setpriv --reuid "$(uid_of "$first")" --clear-groups cat "/proc/$second/maps" 2>&1 | grep -c 'Permission denied')" 1
kill -TERM $one $two
wait $one $two

# --- a range of two
printf '# ours\n\n400000000:131072\n' >$ids
neighbour one sh -c 'echo ready; sleep 60'
one=$pid
neighbour two sh -c 'echo ready; sleep 60'
two=$pid
blocks() { for run; do uid_of "$(child_of "$run")"; done | sort | tr '\n' ' '; }
is 'F012 a configured range is what they come from' "$(blocks $one $two)" '400001000 400066536 '
rm -f ran
run -- touch ran
is 'F012 when all are taken: refused, nothing ran' "$code $(ls ran 2>/dev/null) $(field '.isolation.host_uid')" '125  null'
contains 'F012 and the message says so' "$err" 'all 2 blocks are in use'
contains 'F012 and where to name more' "$err" '/etc/isorun/host-ids'
freed=$(uid_of "$(child_of $one)")
kill -KILL $one
wait $one 2>/dev/null
tries=0
until run -- true || [ "$code" = 0 ] || [ $tries -ge 100 ]; do
  [ "$code" != 0 ] || break
  tries=$((tries + 1))
  sleep 0.1
done
is 'F012 one whose isorun was killed is free again' "$code $(field .isolation.host_uid)" "0 $freed"
kill -TERM $two
wait $two
# --- what is not ours is not taken
echo 'somebody:400000000:65536' >/etc/subuid
for _ in 1 2 3 4 5; do
  run -- true
  field .isolation.host_uid
done | sort -u >"$base/taken"
is 'F012 what /etc/subuid hands out is nobody of ours' "$(cat "$base/taken")" 400066536
: >/etc/subuid
# Somebody has that id already, without a lock.
setpriv --reuid 400001000 --clear-groups sleep 60 &
other=$!
for _ in 1 2 3 4 5; do
  run -- true
  field .isolation.host_uid
done | sort -u >"$base/taken"
is 'F012 nor one that a process has' "$(cat "$base/taken")" 400066536
kill $other
wait $other 2>/dev/null

# --- the file
for text in nonsense 1000:65536 400000000 400000000:65535 '400000000:131072
500000000:131072' 2147400000:131072 ''; do
  printf '%s\n' "$text" >$ids
  rm -f ran
  run -- touch ran
  is "F012 a range \"$(echo "$text" | tr '\n' ' ')\": refused, nothing ran" "$code $(ls ran 2>/dev/null)" '125 '
done
contains 'F012 with the rule' "$err" 'FIRST:COUNT'
echo 400000000:131072 >$ids
chmod 666 $ids
run -- true
is 'F012 a file that others can write is not obeyed' "$code" 125
contains 'F012 and the message says so' "$err" 'nobody else can write'
rm $ids
umount /run/isorun
mount -t tmpfs -o ro,mode=755 tmpfs /run/isorun
run -- true
is 'F012 a host without a place for locks: a block by chance' "$code $(field '.isolation.host_uid >= 1879048192')" '0 true'
umount /run/isorun
mount -t tmpfs -o mode=777 tmpfs /run/isorun
run -- true
is 'F012 a place for locks that others can write is not used' "$code" 125
umount /run/isorun
mount -t tmpfs -o mode=700 tmpfs /run/isorun

# --- files of others
mkdir "$base/mixed" "$base/mixed/theirs" "$base/mixed/theirs/below" "$base/mixed/big"
echo text >"$base/mixed/theirs/file"
chown -R 1000:1000 "$base/mixed/theirs"
chown 100000 "$base/mixed/big"
cd "$base/mixed" || exit 1
run -- sh -c 'rm -rf theirs; echo $?; mv theirs moved && echo moved; mv moved theirs'
is 'F045 what belongs to others cannot be removed, and the answer is an ordinary one' \
  "$(echo "$out" | tr '\n' ' ')$(echo "$err" | grep -c 'Permission denied') $(echo "$err" | grep -c 'too large')" '1 moved 2 0'
is 'F045 and is as it was' "$(cat theirs/file) $(stat -c %u:%g theirs theirs/file | tr '\n' ' ')" 'text 1000:1000 1000:1000 '
run -- stat -c %u theirs .
is 'F045 an owner of the same number as the payload is somebody else there' "$(echo "$out" | tr '\n' ' ')" '0 1000 '
run -- stat -c %u big
is 'F045 an owner beyond the block is nobody' "$out" 65534
run -- sh -c 'chown 0 made 2>/dev/null; touch made; chown 0 made'
contains 'F048 giving files away: an ordinary refusal' "$err" 'Operation not permitted'
setfacl -d -m u:1234:rwx . && mkdir acl && setfacl -m u:1000:r acl
run -- cp -a acl copy
is 'F048 a default ACL and one with an id of another user are copied' \
  "$code $err $(getfacl -cpn copy | grep -c -e '^user:1000:' -e '^default:user:1234:')" '0  2'
setfacl -b .

# A payload with capabilities has them over what has an id in its namespace: only what is the place's owner's.
echo secret >"$base/mixed/theirs/private" && chmod 600 "$base/mixed/theirs/private" && chown 1000 "$base/mixed/theirs/private"
receipt=$("$HOSTS/host_request" +0 +1 -- sh -c 'cat theirs/private; touch mine; chown 1234 mine')
is 'F012 capabilities give no power over files of others' "$(field .stdout.text) $(stat -c %u mine)" ' 0'

# --- read-only mounts
mkdir "$base/read" "$base/read/private"
echo '#!/bin/sh
echo ran' >"$base/read/script"
chmod 700 "$base/read/script" "$base/read/private"
echo key >"$base/read/private/key" && chmod 600 "$base/read/private/key"
git init -q "$base/read/repository"
cd "$workspace" || exit 1
run --ro "$base/read" -- sh -c "$base/read/script; cat $base/read/private/key; git -C $base/read/repository status --porcelain; stat -c %u $base/read; touch $base/read/new"
is "F044 root's own files are readable in a read-only mount" "$(echo "$out" | tr '\n' ' ')" 'ran key 1000 '
contains 'F044 and no more than that' "$err" 'Read-only file system'
is 'F044 git finds no dubious ownership' "$(echo "$err" | grep -c dubious)" 0
run --ro /sys/kernel:/mnt/kernel -- ls -d /mnt/kernel
is 'F044 what cannot be id-mapped is shown as it is' "$out" /mnt/kernel

leave_places
tries=0
while [ "$(cgroups_left)" != 0 ] && [ $tries -lt 100 ]; do # gc leaves those alone that are younger than 2 s
  "$ISORUN" gc >/dev/null
  tries=$((tries + 1))
  sleep 0.1
done
finish
