#!/bin/sh
# The operator's own system call filter, and capabilities.
. "${0%/cases/*}/lib.sh"

cat >"$base/profile.json" <<'EOF'
{
  "defaultAction": "SCMP_ACT_ALLOW",
  "architectures": ["SCMP_ARCH_X86_64"],
  "syscalls": [
    {"names": ["socket"], "action": "SCMP_ACT_ERRNO", "errnoRet": 97},
    {"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_KILL_PROCESS"},
    {"names": ["mount"], "action": "SCMP_ACT_ALLOW"}
  ]
}
EOF
run --seccomp "$base/profile.json" -- ./probe_hostile network
contains '--seccomp: what it refuses is refused' "$out" 'raw Address family not supported by protocol'
is '--seccomp: the receipt says so' "$(field .isolation.seccomp)" 'default and custom'
run --seccomp "$base/profile.json" -- mkdir made
is '--seccomp: what it kills is killed, and said' "$code $(field .status) $(ls -d made 2>/dev/null)" '159 signaled '
grep -v mkdir "$base/profile.json" >"$base/allows.json" # which the probe calls, too
run --seccomp "$base/allows.json" -- ./probe_syscalls
contains '--seccomp: what it allows stays refused by the default filter' "$out" 'mount EPERM'
run --seccomp default -- ./probe_hostile network
is '--seccomp default is the default' "$out $(field .isolation.seccomp)" 'raw Operation not permitted, port 80 Permission denied default'

echo '{"defaultAction": "SCMP_ACT_ERRNO"}' >"$base/closed.json"
run --seccomp "$base/closed.json" -- true
is '--seccomp: one that forbids the exec is a launch that failed' "$code $(field .status)" '126 launch_failed'
echo '{"defaultAction": "SCMP_ACT_KILL_PROCESS"}' >"$base/closed.json"
run --timeout 20s --seccomp "$base/closed.json" -- true
is '--seccomp: one that kills at the exec does not hang' "$code $(field .status)" '159 signaled'
echo '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["sokcet"], "action": "SCMP_ACT_ERRNO"}]}' >"$base/wrong.json"
run --seccomp "$base/wrong.json" -- touch ran
is '--seccomp: a misspelt call is refused and nothing runs' "$code $(field .status) $(ls ran 2>/dev/null)" '125 invalid '
contains '--seccomp: and its place is named' "$err" '$.syscalls[0].names[0]: no system call "sokcet" is known'
cp "$base/profile.json" own.json
run --seccomp own.json -- true
is 'POL-1 --seccomp: a file in the workspace is refused' "$code $(field .status)" '125 invalid'
mkfifo "$base/fifo"
run --seccomp "$base/fifo" -- true
is '--seccomp: a FIFO is refused and not waited for' "$code" 125
run --seccomp "$base/missing.json" -- true
is '--seccomp: a missing file is refused' "$code" 125

run --cap net_raw -- touch ran
is 'POL-9 --cap without a policy that grants PRIVILEGED: denied, nothing runs' \
  "$code $(field .status) $(ls ran 2>/dev/null)" '125 denied '
run --cap no_such -- true
is '--cap: an unknown name is refused' "$code $(field .status)" '125 invalid'

# What the command line refuses, a host program on the library may ask for.
receipt=$("$HOSTS/host_request" +10 +13 -- sh -c 'grep Cap /proc/self/status; ./probe_hostile network')
is 'capabilities: exactly those, in every set' "$(field .stdout.text)" 'CapInh:	0000000000002400
CapPrm:	0000000000002400
CapEff:	0000000000002400
CapBnd:	0000000000002400
CapAmb:	0000000000002400
raw ok, port 80 ok'
is 'capabilities: the receipt names them' "$(field .isolation.capabilities)" '["cap_net_bind_service","cap_net_raw"]'
receipt=$("$HOSTS/host_request" +12 +21 -- ./probe_syscalls)
contains 'capabilities: the default filter stays in force' "$(field .stdout.text)" 'mount EPERM'
receipt=$("$HOSTS/host_request" +12 -- ./probe_world)
contains 'capabilities: the loopback of its own network is up' "$(field .stdout.text)" 'interfaces lo lo is up'
receipt=$("$HOSTS/host_request" +63 -- true)
is 'capabilities: one that the kernel does not have is a launch that failed' "$(field .status)" launch_failed

finish
