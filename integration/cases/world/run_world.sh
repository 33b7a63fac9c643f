#!/bin/sh
# What a payload sees, compared with the exact expected set.
. "${0%/cases/*}/lib.sh"

"$PROBES/probe_start" leak-fds "$ISORUN" run -- ./probe_world >"$base/world"
cat >"$base/expected" <<'EOF'
fds 0 1 2
Groups: 
CapInh: 0000000000000000
CapPrm: 0000000000000000
CapEff: 0000000000000000
CapBnd: 0000000000000000
CapAmb: 0000000000000000
NoNewPrivs: 1
Seccomp: 2
uid 1000 1000 gid 1000 1000
hostname isorun
umask 022
processes 2 pid 2 ppid 1 leads its session yes
interfaces lo lo is up
open /proc/1/environ EACCES
open /proc/1/mem EACCES
open /proc/1/fd/3 EACCES
open /proc/1/exe EACCES
open /proc/1/root/etc EACCES
open /proc/kcore ENOENT
open /proc/keys EACCES
open /proc/sysrq-trigger ENOENT
open /proc/sys/kernel/core_pattern EACCES
open /proc/sys/kernel/hostname EACCES
open /proc/self/comm ok
open /etc/shadow ENOENT
open /sys/kernel ENOENT
open /dev/mem ENOENT
open /dev/null ok
open /dev/stdout ok
open /root ENOENT
open /home ENOENT
open /usr/isorun-was-here EROFS
open /isorun-was-here EROFS
open /dev/isorun-was-here EROFS
open /etc/isorun-was-here EROFS
open /tmp/isorun-was-here ok
open /run/isorun-was-here ok
open /dev/shm/isorun-was-here ok
EOF
# Which of the masked entries a kernel has differs; masked or absent is all the same to a payload.
normalise() {
  sed -E 's/^(open \/proc\/(kcore|keys|sysrq-trigger)) (EACCES|ENOENT)$/\1 denied/' "$1"
}
is 'escapes-1 RUN-1 descriptors, capabilities, ids, processes, devices: exactly these' \
  "$(normalise "$base/world")" "$(normalise "$base/expected")"

cat >"$base/expected" <<'EOF'
/ ro,nosuid,nodev tmpfs
/dev ro,nosuid,noexec tmpfs
/dev/pts rw,nosuid,noexec devpts
/dev/shm rw,nosuid,nodev,noexec tmpfs
/proc rw,nosuid,nodev,noexec proc
/run rw,nosuid,nodev,noexec tmpfs
/tmp rw,nosuid,nodev tmpfs
EOF
run -- cat /proc/self/mountinfo
printf '%s\n' "$out" >"$base/mountinfo"
mounts() { # TARGET-REGEX: targets with flags and type, without the flags that depend on the host
  awk -v pattern="$1" '$5 ~ pattern { type = $0; sub(/.* - /, "", type); sub(/ .*/, "", type)
    print $5, $6, type }' "$base/mountinfo" |
    sed -E 's/,(relatime|noatime|idmapped|nodiratime)//g' | sort
}
is 'T110 mount flags of our own file systems' \
  "$(mounts '^/(|dev|dev/pts|dev/shm|proc|run|tmp)$')" "$(cat "$base/expected")"
is 'T103 every system bind is read-only, nosuid and nodev' \
  "$(mounts '^/(usr|bin|sbin|lib[^/]*|etc)(/|$)' | grep -v ' ro,nosuid,nodev ')" ''
is 'RUN-1 the workspace is writable, nosuid and nodev' \
  "$(mounts "^$workspace\$" | cut -d' ' -f2)" 'rw,nosuid,nodev'
is 'RUN-1 nothing else of the host is mounted' \
  "$(mounts . | cut -d' ' -f1 | grep -vE "^(/|/(usr|bin|sbin|lib[^/]*)|/etc/.*|/dev|/dev/(pts|shm)|/proc|/proc/(acpi|asound|interrupts|kcore|keys|latency_stats|scsi|sched_debug|sysrq-trigger|timer_list|timer_stats|bus|fs|irq|sys)|/tmp|/run|$workspace)\$")" ''
is 'T105 what is mounted inside does not appear outside, where the host shares its mounts' \
  "$(grep -c ' / / .*shared:' /proc/self/mountinfo) $(touch kept; run --protect kept --hide /usr/share --tmpfs "$workspace/on-top" -- true
    mkdir -p on-top; run --protect kept --tmpfs "$workspace/on-top" -- true; echo "$code"; wc -l </proc/self/mountinfo)" "1 0
$mounts_before"
rmdir on-top
is 'T105 mounts are private: nothing propagates' "$(grep -cE 'shared:|master:' "$base/mountinfo")" 0
is 'T170 /tmp, /dev/shm and /run are empty and private' \
  "$("$ISORUN" run -- sh -c 'ls -A /dev/shm /run' | tr -d '\n')" '/dev/shm:/run:'

run -- env
is 'RUN-6 the environment is exactly this' "$(printf '%s\n' "$out" | sort | grep -v '^_=')" \
  "$(printf '%s\n' HOME=/tmp LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "PWD=$workspace" \
    TERM=dumb TMPDIR=/tmp | grep -v '^PWD=' )"
SECRET=x PASSED=y "$ISORUN" run --env A=b --env 'E=' --pass-env PASSED --pass-env UNSET -- env | sort |
  grep -E '^(A|E|SECRET|PASSED|UNSET)=' >"$base/env"
is 'RUN-6 variables come in by name only' "$(tr '\n' ' ' <"$base/env")" 'A=b E= PASSED=y '

is 'T181 arguments arrive exactly' \
  "$("$ISORUN" run -- printf '[%s]' 'a b' '' '-x' '$(id)' "$(printf 'new\nline')" '*')" \
  "$(printf '[%s]' 'a b' '' '-x' '$(id)' "$(printf 'new\nline')" '*')"

run -- sh -c 'id -u; id -un; id -gn; cat /etc/hostname'
is 'the payload has a name' "$(echo "$out" | tr '\n' ' ')" '1000 isorun isorun isorun '
run --root -- sh -c 'id -u; id -un; cat /proc/sys/kernel/hostname; touch /etc/x'
contains '--root only looks like root' "$out$err" 'Read-only file system'
run --root -- ./probe_world
contains '--root has no capabilities' "$out" 'CapEff: 0000000000000000'
run --uid 7 --gid 8 --hostname box -- sh -c 'id -u; id -g; cat /proc/sys/kernel/hostname'
is '--uid, --gid, --hostname' "$(echo "$out" | tr '\n' ' ')" '7 8 box '

run -- sh -c 'echo x >/dev/stderr; echo y >/dev/stdout; echo z >/dev/fd/2'
is 'T91 /dev/stdout and /dev/stderr can be opened' "$code $out" '0 y'

cat >"$base/expected" <<EOF
keyctl EPERM
add_key EPERM
request_key EPERM
bpf EPERM
userfaultfd EPERM
perf_event_open EPERM
io_uring_setup EPERM
unshare user EPERM
unshare mount EPERM
unshare files ok
clone user EPERM
clone net EPERM
clone plain ok
clone3 user ENOSYS
setns EPERM
mount EPERM
umount2 EPERM
open_tree EPERM
move_mount EPERM
fsopen EPERM
mount_setattr EPERM
pivot_root EPERM
chroot EPERM
mknod device EPERM
open_by_handle_at EPERM
init_module EPERM
finit_module EPERM
kexec_load EPERM
reboot EPERM
swapon EPERM
syslog EPERM
settimeofday EPERM
clock_settime EPERM
sethostname EPERM
quotactl EPERM
acct EPERM
iopl EPERM
modify_ldt EPERM
personality query ok
personality read-implies-exec EPERM
ptrace init EPERM
ptrace me ok
process_vm_writev init EPERM
kill init ok
socket unix ok
socket inet ok
socket inet6 ok
socket netlink ok
socket netlink uevent EPROTONOSUPPORT
socket mptcp EPROTONOSUPPORT
socket packet EAFNOSUPPORT
socket vsock EAFNOSUPPORT
socket alg EAFNOSUPPORT
socket 64-bit family EAFNOSUPPORT
ioctl TIOCSTI EPERM
ioctl TIOCSTI 64-bit EPERM
ioctl TIOCLINUX EPERM
ioctl TIOCSETD EPERM
creat set-id EPERM
creat ok
chmod set-id EPERM
fchmodat set-group-id EPERM
openat set-id EPERM
openat tmpfile set-id EPERM
openat2 ENOSYS
mknod set-id EPERM
mkdir set-group-id ok
io_setup ENOSYS
prlimit init EPERM
setpriority init EPERM
sched_setaffinity init EPERM
kcmp EPERM
unknown call ENOSYS
getpid ok
i386 entry $(i386_entry)
x32 entry SIGSYS
EOF
run -- ./probe_syscalls
# Landlock, where the kernel has it, refuses device nodes first, with an errno of its own.
second_wall=EPERM
[ "$(field .isolation.landlock_abi)" = null ] || second_wall=EACCES
sed -i "s/^mknod device EPERM$/mknod device $second_wall/" "$base/expected"
is 'escapes-2 T157 T175 T176 F010 F043 F084 F088 F097 the system call table' "$out" "$(cat "$base/expected")"
# F010: nothing that runs with its owner's rights is left, whatever makes it; what only inherits a group works.
rm -rf bits && mkdir bits
chmod 2755 bits
printf '#!/bin/sh\n' >bits/program
run -- sh -c 'cd bits; cp program a; chmod 4755 a; cp program b; chmod u+s b; install -m 4755 program c; install -m 2755 program d
  (umask 0; cp -p program e; tar c program | tar x --transform s/program/f/ --mode=u+s); mkdir inherits; cp program inherits/g; true'
is 'F010 no set-id file is left' "$code $(find bits -type f -perm /6000)" '0 '
is 'F010 a directory still inherits its group bit' "$(stat -c %A bits/inherits | cut -c7)" s
run --cap fsetid -- true
is 'F010 who may is for a policy to say' "$code" 125
printf '{"root": "%s", "permissions": ["EXECUTE", "WRITE", "PRIVILEGED"], "capabilities": ["fsetid"]}' "$workspace" >"$base/set-id.json"
"$ISORUN" run --policy "$base/set-id.json" --cap fsetid --receipt "$base/receipt" -- sh -c 'cp bits/program bits/h; chmod 4755 bits/h'
receipt=$(cat "$base/receipt")
is 'F010 a policy with CAP_FSETID allows it, and the diff says so' "$(stat -c %a bits/h) $(field '[.workspace.sensitive[]|.path,.why]')" \
  '4755 ["bits/h","it runs with the rights of its owner or group"]'
rm -rf bits
run --root -- ./probe_syscalls
is 'escapes-2 the same table as root inside' "$out" "$(cat "$base/expected")"
is 'T11 Landlock is in force exactly when the kernel has it' "$(field .isolation.landlock_abi)" \
  "$("$ISORUN" doctor --json | jq '.checks[] | select(.name == "landlock") | if .ok then (.detail | ltrimstr("ABI ") | tonumber) else null end')"
run -- sh -c 'mkdir a b; : >a/f; mv a/f b/f; ln b/f a/f; mkfifo /tmp/f; ln -s x /tmp/l; : >/dev/shm/s; echo x >/proc/self/comm; : >/dev/null'
is 'Landlock is in nobodys way: renames, links, FIFOs, own places' "$code$err" 0

run -- sh -c 'ulimit -c; ulimit -n; ulimit -Hn >/dev/null; kill -QUIT $$'
is 'core dumps are off, also for a piped core_pattern; open files are limited' \
  "$(echo "$out" | tr '\n' ' ')$(field .signal)" '0 1024 SIGQUIT'
run --nofile 64 --fsize 1M -- sh -c 'ulimit -n; head -c 2M /dev/zero >/tmp/big; echo $?'
is '--nofile, --fsize' "$(echo "$out" | tr '\n' ' ')" '64 153 '

finish
