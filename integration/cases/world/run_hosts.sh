#!/bin/sh
# Hosts that lack something: each is made here, with namespaces, a system call filter or a mount, and
# both `run` (the exact step) and `doctor` (the remedy) have to say what it is.
. "${0%/cases/*}/lib.sh"

[ "$(id -u)" = 0 ] || {
  skip 'odd hosts' 'only root can make them'
  finish
  exit
}
for_user "$ISORUN"
refuse="$PROBES/probe_refuse"

# doctor COMMAND…: what `isorun doctor --json` says there; sets report, code.
doctor() {
  "$@" "$base/tools/isorun" doctor --json >"$base/report" 2>"$base/err"
  code=$?
  if [ -n "${RECEIPTS:-}" ]; then
    cp "$base/report" "$RECEIPTS/doctor-$count.json"
  fi
}
# finding NAME: "ok", or what is missing and the remedy.
finding() {
  jq -r --arg name "$1" '.checks[] | select(.name == $name) |
    if .ok then "ok" else .detail + " -> " + (.remedy // "") end' <"$base/report"
}
# there COMMAND…: run `echo RAN` on that host; sets code, out, err.
there() {
  timeout 60 "$@" >"$base/out" 2>"$base/err"
  code=$?
  out=$(cat "$base/out")
  err=$(cat "$base/err")
}
# refused NAME TEXT: nothing ran, and the message holds TEXT.
refused() {
  is "$1: refused, nothing ran" "$code $out" '125 '
  contains "$1: the step is named" "$err" "$2"
}

# Kernels and container filters without the newer calls (ENOSYS) or against them (EPERM).
while read -r call text; do
  for error in ENOSYS EPERM; do
    there "$refuse" $error "$call" -- "$ISORUN" run -- echo RAN
    refused "$call answers $error" "$(echo "$text" | sed 's/_/ /g')"
    doctor "$refuse" $error "$call" --
    is "$call answers $error: doctor says that it does not work" "$code $(jq .usable <"$base/report")" '125 false'
    contains "$call answers $error: and which call it is" "$(finding 'system calls')" "$call is"
  done
done <<'EOF'
clone3 create_a_user_namespace
openat2 bind_"/usr"
close_range arrange_the_descriptors
mount_setattr id-map
open_tree id-map
fsopen mount_the_root_file_system
fsmount mount_the_root_file_system
move_mount mount_the_root_file_system
pidfd_open open_a_pidfd
unshare unshare_the_cgroup_namespace
memfd_create create_an_executable_memfd
execveat execute_the_init
pivot_root change_the_root
EOF
there "$refuse" EPERM seccomp -- "$ISORUN" run -- echo RAN
refused 'seccomp is refused' 'load the seccomp filter'
there "$refuse" EPERM mount:3=0x44000 -- "$ISORUN" run -- echo RAN
refused 'T04 making / private is denied' 'make the mount tree private: Operation not permitted'
contains 'T04 and the remedy' "$err" 'outside the container'
there "$refuse" EPERM socket:0=16 -- "$ISORUN" run -- echo RAN
refused 'T05 the loopback cannot be brought up' 'bring up the loopback interface: Operation not permitted'
there "$refuse" EPERM sethostname pivot_root -- "$ISORUN" run -- echo RAN
refused 'T13 of two failures the first is told' 'set the host name "isorun": Operation not permitted'
there "$refuse" EAFNOSUPPORT socket:0=10 -- "$ISORUN" run -- echo RAN
is 'no IPv6: it runs' "$code $out$err" '0 RAN'
for error in ENOSYS EPERM; do
  there "$refuse" $error pidfd_send_signal -- "$ISORUN" run --timeout 500ms --grace 100ms -- sh -c 'echo RAN; sleep 60'
  is "pidfd_send_signal answers $error: it runs, and the limit holds" "$code $out" '124 RAN'
  there "$refuse" $error landlock_create_ruleset -- "$ISORUN" run --json -- echo RAN
  is "no Landlock ($error): it runs, and the receipt says without" \
    "$code $(jq -c '[.isolation.landlock_abi,.stdout.text]' <"$base/out")" '0 [null,"RAN\n"]'
done
doctor "$refuse" ENOSYS landlock_create_ruleset --
is 'no Landlock: doctor says without, and usable' "$code $(jq .usable <"$base/report")" '0 true'
contains 'no Landlock: and the remedy' "$(finding landlock)" 'lsm='

# Ordinary users whose id map is refused, as by Ubuntu's AppArmor restriction (EPERM at the first write).
as="setpriv --reuid $user --regid $user --clear-groups"
chmod 777 "$workspace"
# shellcheck disable=SC2086
there $as "$refuse" EPERM write:2=4 -- "$base/tools/isorun" run --cgroup optional -- echo RAN
refused 'T01 T10 the id map is refused' "map the caller's ids into the user namespace: Operation not permitted"
contains 'T01 and the remedy' "$err" 'kernel.apparmor_restrict_unprivileged_userns'

# in_mounts SCRIPT COMMAND…: in a mount namespace of our own that SCRIPT has changed.
cat >"$base/in_mounts" <<'EOF'
#!/bin/sh
script=$1
shift
exec unshare --mount --propagation private sh -c "$script"' && exec "$@"' sh "$@"
EOF
chmod +x "$base/in_mounts"

# A container's /proc, partly covered: the kernel allows ordinary users no fresh one.
covered='mount --bind /dev/null /proc/cpuinfo'
# shellcheck disable=SC2086
there "$base/in_mounts" "$covered" $as "$base/tools/isorun" run --cgroup optional -- echo RAN
refused 'T02 masked /proc' 'proc "/proc": Operation not permitted'
contains 'T02 and the remedy' "$err" 'unmasked /proc'
# shellcheck disable=SC2086
doctor "$base/in_mounts" "$covered" $as
contains 'T02 doctor says so' "$(finding proc)" 'unmasked /proc'
there "$base/in_mounts" "$covered" "$ISORUN" run -- echo RAN
is 'T02 root can mount a fresh one there' "$code $out$err" '0 RAN'

nothing='mount -t tmpfs tmpfs /proc'
there "$base/in_mounts" "$nothing" "$ISORUN" run -- echo RAN
case $ISORUN in
  */asan/*) ;; # which itself does not start there
  *) is 'no /proc at all: refused, nothing ran' "$code $out" '125 ' ;;
esac
doctor "$base/in_mounts" "$nothing"
contains 'no /proc at all: doctor names the remedy' "$(finding proc)" 'mount -t proc proc /proc'

# A cgroup file system that may be read only. The binds are of this mount namespace alone.
readonly_cgroups='mount --rbind /sys/fs/cgroup /sys/fs/cgroup &&
  for place in $(sed -n "s/^[^ ]* [^ ]* [^ ]* [^ ]* \(\/sys\/fs\/cgroup[^ ]*\) .*/\1/p" /proc/self/mountinfo | sort -u); do
    mount -o remount,bind,ro "$place" || exit 1; done'
there "$base/in_mounts" "$readonly_cgroups" "$ISORUN" run -- echo RAN
refused 'read-only cgroup file system' 'Read-only file system'
doctor "$base/in_mounts" "$readonly_cgroups"
contains 'read-only cgroup file system: doctor says so' "$(finding cgroups)" 'Read-only file system'
there "$base/in_mounts" "$readonly_cgroups" "$ISORUN" run --cgroup optional --json -- echo RAN
is 'read-only cgroup file system, --cgroup optional: the receipt says none' \
  "$code $(jq -r .isolation.cgroup <"$base/out")" '0 none'

no_shm='mount -t tmpfs tmpfs /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/zero c 1 5 &&
  mknod -m 666 /dev/full c 1 7 && mknod -m 666 /dev/random c 1 8 && mknod -m 666 /dev/urandom c 1 9 &&
  mknod -m 666 /dev/tty c 5 0'
there "$base/in_mounts" "$no_shm" "$ISORUN" run -- sh -c 'echo RAN >/dev/shm/x && cat /dev/shm/x'
is 'host without /dev/shm: it runs and has one of its own' "$code $out$err" '0 RAN'

# Mounts hidden under others, stacked ones, one that refuses everybody: all of /usr stays read-only.
odd='mount -t tmpfs tmpfs /usr/share && mkdir /usr/share/under && mount -t tmpfs tmpfs /usr/share/under &&
  mount -t tmpfs -o mode=755 tmpfs /usr/share && mkdir /usr/share/top && mount -t tmpfs -o mode=0 tmpfs /usr/share/top &&
  mount -t tmpfs tmpfs /usr/share/top && mount -t ramfs ramfs /usr/share/top'
there "$base/in_mounts" "$odd" "$ISORUN" run -- sh -c 'echo RAN; ls /usr/share; for at in "" share/ share/top/; do
  touch "/usr/${at}written" 2>/dev/null && echo "wrote below $at"; done; :'
is 'T07 odd mount tables: it runs, and nothing of them is writable' "$code $(echo "$out" | tr '\n' ' ')" '0 RAN top '

# User namespaces used up, and a root that is root in name only.
there unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh \
  "$base/tools/isorun" run --cgroup optional -- echo RAN
refused 'user namespaces are off' 'clone into new namespaces: No space left on device'
contains 'user namespaces are off: doctor is named' "$err" 'isorun doctor'
doctor unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh
contains 'user namespaces are off: and knows the setting' "$(finding 'user namespaces')" 'sysctl user.max_user_namespaces='
there setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$ISORUN" run --json -- echo RAN
is 'T03 root without CAP_SYS_ADMIN: it runs as an ordinary user would' \
  "$code $(jq -c '[.isolation.identity,.isolation.host_uid,.stdout.text]' <"$base/out")" '0 ["caller",0,"RAN\n"]'
doctor setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin
is 'T03 doctor: usable' "$code $(jq .usable <"$base/report")" '0 true'
there unshare --user --map-root-user "$base/tools/isorun" run --cgroup optional --json -- echo RAN
is 'root of a user namespace: it runs as an ordinary user would' \
  "$code $(jq -r .isolation.identity <"$base/out")" '0 caller'

# isorun in isorun: its own filter forbids it, and it says so.
there "$ISORUN" run --ro "$base/tools/isorun" -- "$base/tools/isorun" run --cgroup optional -- echo RAN
is 'isorun in isorun: refused, nothing ran' "$code $out" '125 '
contains 'isorun in isorun: and says why' "$err" 'clone into new namespaces'

finish
