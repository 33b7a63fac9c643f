#!/bin/sh
# Policies: loaded, refused, compiled into plans, narrowed by options.
. "${0%/cases/*}/lib.sh"

file=$base/policy.json
policy() {
  printf '{"root": "%s"%s}\n' "$workspace" "${1:+, $1}" >"$file"
}
# refused NAME TEXT: `isorun run --policy` runs nothing and says TEXT.
refused() {
  "$ISORUN" run --policy "$file" --receipt "$base/receipt" -- touch ran 2>"$base/err"
  code=$?
  receipt=$(cat "$base/receipt")
  is "$1: nothing runs" "$code $(ls ran 2>/dev/null)" '125 '
  contains "$1: and why" "$(cat "$base/err")" "$2"
}
# plan EXPRESSION [OPTION…]: a part of the plan under the policy.
plan() {
  expression=$1
  shift
  "$ISORUN" plan --policy "$file" "$@" -- true 2>"$base/err" |
    jq -c ".world + .command + {limits: (.world.limits + .command.limits)} | $expression"
}

policy '"permissions": ["EXECUTE"]'
mv "$file" "$workspace/policy.json"
file=$workspace/policy.json
refused 'POL-1 a policy in its own workspace' 'lies in the workspace'
mkdir "$base/outer"
ln -s "$workspace/policy.json" "$base/outer/link"
file=$base/outer/link
refused 'POL-1 nor through a link' 'lies in the workspace'
rm "$workspace/policy.json" "$base/outer/link"
file=$base/policy.json
policy '"permissions": ["EXECUTE"]'
ln -s "$file" "$workspace/named"
file=$workspace/named
refused 'POL-1 nor is a link there followed to one that lies elsewhere' 'lies in the workspace'
rm "$workspace/named"
file=$base/policy.json
rm "$file"
refused 'POL-1 a policy that is not there' 'open the policy'
mkfifo "$base/fifo"
file=$base/fifo
refused 'POL-1 a FIFO is not waited for' 'no regular file'
file=$base/policy.json
printf '{"root": "/no/such/directory", "permissions": ["EXECUTE"]}' >"$file"
refused 'POL-2 a root that is not there' 'No such file or directory'
printf '{"root": "%s/probe_world", "permissions": ["EXECUTE"]}' "$workspace" >"$file"
refused 'POL-2 a root that is no directory' 'Not a directory'
policy '"permissions": ["EXECUTE"], "timeout_seconds": 0'
refused 'POL-4 a limit of zero' '$.timeout_seconds: a positive number of seconds is needed'
policy '"permissions": ["EXECUTE"], "allow_host_execution": true'
refused 'POL-6 the old field' 'isorun never executes on the host'
policy '"permissions": ["EXECUTE"], "surprise": 1'
refused 'POL-5 an unknown key' '$.surprise: nothing of this name is known'
{ printf '{"root": "%s", "private_names": ["' "$workspace"; head -c 1100000 /dev/zero | tr '\0' x; printf '"]}'; } >"$file"
refused 'POL-5 a file over 1 MiB' 'File too large'
policy '"permissions": ["READ", "WRITE"]'
refused 'TOOL-1 run without EXECUTE' 'Required permission is disabled'
policy '"permissions": ["EXECUTE"], "capabilities": ["no_such_capability"]'
refused 'POL-7 a capability that is not known' '$.capabilities[0]: no capability "no_such_capability"'

# Every sandbox field is seen in the plan.
mkdir "$base/sdk" "$base/data"
echo '{"defaultAction": "SCMP_ACT_ALLOW"}' >"$base/seccomp.json"
policy "\"permissions\": [\"EXECUTE\", \"WRITE\", \"PRIVILEGED\"], \"timeout_seconds\": 7,
  \"limits\": {\"memory\": \"64M\", \"pids\": 12, \"nofile\": 100, \"fsize\": \"1M\", \"tmp\": \"2M\"},
  \"mounts\": [{\"source\": \"$base/sdk\", \"target\": \"/sdk\"}, {\"source\": \"$base/data\", \"mode\": \"rw\"}],
  \"environment\": {\"pass\": [\"ISOTEST\"], \"set\": {\"CI\": \"yes\"}}, \"protected_paths\": [\"probe_world\"],
  \"seccomp\": \"$base/seccomp.json\", \"capabilities\": [\"net_raw\"]"
export ISOTEST=passed
is 'POL-7 the limits' "$(plan '.limits|[.memory_bytes,.pids,.nofile_soft,.fsize_bytes,.wall_ms]')" '[67108864,12,100,1048576,7000]'
is 'POL-7 the mounts' "$(plan '[.filesystem[]|select(.target=="/sdk" or .target=="'"$base/data"'")|select(.op=="bind")|[.op,.target,.writable]]')" \
  "[[\"bind\",\"/sdk\",null],[\"bind\",\"$base/data\",true]]"
is 'POL-7 the environment' "$(plan '[.environment[]|select(startswith("CI=") or startswith("ISOTEST="))]')" '["ISOTEST=passed","CI=yes"]'
is 'POL-7 the protections' "$(plan '[.filesystem[]|select(.op=="protect")|.target|select(startswith("/proc")|not)]')" "[\"$workspace/probe_world\"]"
is 'POL-7 /tmp' "$(plan '[.filesystem[]|select(.target=="/tmp" and .op=="tmpfs")|.size_bytes]')" '[2097152]'
is 'POL-7 POL-9 the filter and the capabilities' "$(plan '[.seccomp,.capabilities,.workspace.mode]')" '["default and custom",["cap_net_raw"],"rw"]'

# Options narrow, and never widen.
is 'an option that is smaller counts' "$(plan .limits.pids --pids 5)" 5
is 'one that is larger does not' "$(plan .limits.pids --pids 50) $(plan .limits.memory_bytes --memory 1G) $(plan .limits.wall_ms --timeout 1h)" '12 67108864 7000'
is 'the workspace may be a part of the root' "$(mkdir -p part; plan .workspace.path --workspace part)" "\"$workspace/part\""
mkdir -p part/kept/below
policy '"permissions": ["EXECUTE", "WRITE"], "protected_paths": ["part/kept", "./part//new", "elsewhere"]'
within() { "$ISORUN" run --policy "$file" --workspace "$1" --json -- sh -c "$2" 2>/dev/null | jq -c '.workspace|[.mode,.created,.sensitive]'; }
is 'protected paths are below the root, and hold in a part of it' \
  "$(within part 'touch kept/below/x ok; touch new')" '["rw",["new","ok"],[{"path":"new","why":"it is protected"}]]'
is 'a workspace that lies in a protected path is read-only' "$(within part/kept/below 'touch x')" '["ro",null,null]'
is 'and so is one that is the protected path' "$(within part/kept 'touch x')" '["ro",null,null]'
ln -s kept part/turned
policy '"permissions": ["EXECUTE", "WRITE"], "protected_paths": ["part/turned/below"]'
"$ISORUN" run --policy "$file" --workspace part -- touch ran 2>"$base/err"
is 'a link on the way to a protected path: refused' "$? $(grep -c 'protect \"part/turned/below\"' "$base/err")" '125 1'
rm part/turned
is 'nothing was written' "$(cd part && find . -type f | sort | tr '\n' ' ')" './new ./ok '
policy "\"permissions\": [\"EXECUTE\", \"WRITE\", \"PRIVILEGED\"], \"timeout_seconds\": 7, \"limits\": {\"pids\": 12},
  \"seccomp\": \"$base/seccomp.json\", \"capabilities\": [\"net_raw\"]"
is 'variables are added' "$(plan '[.environment[]|select(startswith("X="))]' --env X=1)" '["X=1"]'
for option in "--workspace $base" '--ro /etc' '--rw /etc' "--rootfs $base" '--cgroup optional' '--pass-env HOME' \
  "--seccomp $base/seccomp.json" '--cap sys_admin'; do
  # shellcheck disable=SC2086
  "$ISORUN" run --policy "$file" $option --receipt "$base/receipt" -- touch ran 2>"$base/err"
  is "POL-9 $option would widen the policy: denied" "$? $(jq -r .status <"$base/receipt") $(ls ran 2>/dev/null)" '125 denied '
done
"$ISORUN" run --policy "$file" --cap net_raw --json -- ./probe_hostile network >"$base/receipt" 2>/dev/null
contains 'POL-9 what the policy grants may be asked for' "$(jq -r .stdout.text <"$base/receipt")" 'raw ok'
policy '"permissions": ["EXECUTE"]'
standard=$(plan '[.limits.memory_bytes,.limits.pids]')
is 'POL-9 where the policy is silent, the default is what an option narrows' \
  "$(plan '[.limits.memory_bytes,.limits.pids]' --memory 4096G --pids 5000)" "$standard"
policy '"permissions": ["EXECUTE"], "capabilities": ["net_raw"]'
"$ISORUN" exec --policy "$file" --tool host.bash --args '{"command": "touch ran"}' >"$base/receipt"
is 'POL-9 capabilities without PRIVILEGED: denied, not weakened' \
  "$? $(jq -r .error <"$base/receipt") $(ls ran 2>/dev/null)" \
  '125 Denied: Required permission is disabled: PRIVILEGED, for the capabilities '

# explain, and the sentence it gives is that of the receipt.
policy '"permissions": ["READ", "EXECUTE"], "commands": {"hi": ["echo", "hi"]}'
"$ISORUN" explain --policy "$file" --tool shell.exec --args '{"command": "ho"}' >"$base/out"
is 'POL-8 explain: denied, by which rule' "$? $(sed -n 2,3p "$base/out" | tr '\n' ' ')" \
  '125 rule: TOOL-7 because: Command is not configured by the owner '
"$ISORUN" explain --policy "$file" --tool shell.exec --args '{"command": "hi"}' >"$base/out"
is 'POL-8 explain: allowed, with what is granted' "$? $(grep -c -e 'wall limit: 30000 ms' -e 'workspace: read-only' "$base/out")" '0 2'
"$ISORUN" explain --policy "$file" --tool shell.exec --args '{}' >/dev/null 2>"$base/err"
is 'POL-8 explain: a call that is wrong' "$? $(grep -c 'it is required' "$base/err")" '125 1'

# The example policies that are installed, with a root that is here.
for example in "$DOCS"/policies/*.json; do
  jq --arg root "$workspace" '.root = $root' "$example" >"$file"
  "$ISORUN" exec --policy "$file" --audit "$base/log" --list >"$base/out" 2>"$base/err"
  is "POL-2 the example $(basename "$example") loads" "$? $(cat "$base/err")" '0 '
done

# NET-2: no way out, whatever the policy says.
policy '"permissions": ["EXECUTE", "NETWORK"], "network": {"allow": ["example.org"]}'
"$ISORUN" run --policy "$file" -- ./probe_world >"$base/out"
contains 'NET-2 the network is a loopback of its own' "$(cat "$base/out")" 'interfaces lo lo is up'
policy '"permissions": ["EXECUTE", "NETWORK"], "network": {"allow": []}'
"$ISORUN" bash --policy "$file" 'curl https://example.org' >"$base/receipt"
is 'NET-1 an empty list means nothing' "$(jq -r .error <"$base/receipt")" 'Denied: domain example.org is outside the egress allowlist'

finish
