#!/bin/sh
# host.bash and its capability handshake: against the built-in authority, in process and as a process of
# its own, and against an external one in another language, also one that misbehaves.
. "${0%/cases/*}/lib.sh"


policy() {
  printf '{"root": "%s"%s}\n' "$workspace" "${1:+, $1}" >"$base/policy.json"
}
# bash_call COMMAND [OPTION…]
bash_call() {
  command=$1
  shift
  "$ISORUN" bash --policy "$base/policy.json" "$@" "$command" >"$base/receipt" 2>"$base/err"
  code=$?
  receipt=$(cat "$base/receipt")
  error=$(field .error)
  if [ -n "${RECEIPTS:-}" ]; then
    cp "$base/receipt" "$RECEIPTS/$(basename "$0" .sh)-$count.json"
  fi
}
wait_for_socket() {
  tries=0
  while ! [ -S "$1" ] && [ $tries -lt 100 ]; do
    sleep 0.05
    tries=$((tries + 1))
  done
}
policy '"permissions": ["READ", "WRITE", "EXECUTE"]'

# --- the built-in authority, in process

bash_call 'echo out; echo err >&2; echo x >made; exit 3'
is 'TOOL-9 CAP-7 a command line under bash' \
  "$code $(field '[.status,.stdout.text,.stderr.text,.workspace.created,.workdir,.audit_recorded]')" \
  "3 [\"failed\",\"out\\n\",\"err\\n\",[\"made\"],\"$workspace\",true]"
is 'TOOL-9 the shell is bash where there is one' "$(bash_call 'echo ${BASH_VERSION:+bash}'; field .stdout.text)" bash
bash_call 'i=0; while [ $i -lt 40000 ]; do printf "\303\251"; i=$((i+1)); done; printf "%09000d" 0 >&2'
is 'RUN-5 CAP-7 the last 30,000 and 8,000 characters, counted' \
  "$(field '[.stdout.characters_total,.stdout.characters_retained,.stdout.truncated,(.stdout.text|length)]') \
$(field '[.stderr.characters_total,.stderr.characters_retained,.stderr.truncated,(.stderr.text|length)]')" \
  '[40000,30000,true,30000] [9000,8000,true,8000]'
bash_call 'echo begun; sleep 60' --timeout 1s
is 'RUN-7 the timeout' "$code $(field .status) $(field .stdout.text)" '124 timed_out begun'
bash_call 'sleep 1 & echo done'
is 'RUN-7 descendants are waited for' "$(field .status) $(field '.elapsed_ms >= 1000')" 'completed true'
bash_call 'setsid sleep 60 & echo done' --timeout 1s
is 'RUN-7 and at the deadline it is timed_out, never completed' "$(field .status)" timed_out
bash_call 'ls' --timeout 0
is 'RUN-7 a timeout that is not positive' "$code" 125
bash_call 'ls' --timeout nan
is 'RUN-7 a timeout that is no number' "$code" 125
mkdir sub
bash_call 'pwd' --workdir sub
is 'RUN-9 a relative working directory' "$(field .stdout.text)" "$workspace/sub"
bash_call 'pwd' --workdir /
is 'RUN-9 one outside of the root' "$code $(field .status)" '125 denied'
contains 'RUN-9 and it is said' "$error" 'outside the allowed root'
bash_call 'pwd' --workdir missing
is 'RUN-9 one that is missing' "$code $(field .status)" '125 invalid'
bash_call ' '
is 'RUN-9 a blank command' "$code $error" '125 Denied: The command is blank'
bash_call 'rm -rf /'
is 'CAP-9 SHELL-1 the precheck comes first' "$code $error" '125 Denied: recursive removal of /'
bash_call 'curl https://evil.org'
is 'NET-1 CAP-9 so does the egress verdict' "$code $error" '125 Denied: domain evil.org is outside the egress allowlist'
policy '"permissions": ["READ"]'
bash_call 'ls'
is 'TOOL-1 without EXECUTE' "$code $error" '125 Denied: Required permission is disabled'
policy '"permissions": ["EXECUTE"]'
bash_call 'echo x >denied'
is 'without WRITE the workspace is read-only' "$(field .status) $(ls denied 2>/dev/null)" 'failed '
policy '"permissions": ["READ", "WRITE", "EXECUTE"]'

# --- as a process of its own

socket=$base/socket
"$ISORUN" authority --policy "$base/policy.json" --socket "$socket" --state "$base/state" 2>"$base/authority.err" &
authority=$!
wait_for_socket "$socket"
bash_call 'echo remote' --authority "unix:$socket"
is 'CAP-8 the built-in authority over a socket' "$code $(field .stdout.text) $(field .audit_recorded)" '0 remote true'
is 'CAP-8 its socket is for its user only' "$(stat -c %a "$socket")" 600
"$ISORUN" authority --policy "$base/policy.json" --socket "$socket" 2>"$base/err"
is 'CAP-8 a second one does not take the socket' "$? $(grep -c 'Address' "$base/err")" '125 1'

# CAP-6: one token, 64 consumers in as many processes; and after a kill -9 of the authority.
if command -v python3 >/dev/null; then
  cat >"$base/consume.py" <<'EOF'
import hashlib, json, multiprocessing, os, signal, socket, subprocess, sys, time

path, workspace, command, state, policy = sys.argv[1:6]


def ask(method, params):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        return json.loads(connection.makefile().readline())


def binding():
    return {"command": "ls", "command_sha256": hashlib.sha256(b"ls").hexdigest(), "cwd": workspace,
            "workspace": workspace, "generation": "g", "challenge": os.urandom(16).hex(), "timeout": 5}


def consume(arguments):
    gate, params = arguments
    while time.time() < gate:
        pass
    return ask("consume_bash_authorization", params)["result"]["ok"]


if command == "many":
    counts = []
    for _ in range(5):
        bound = binding()
        token = ask("authorize_bash", bound)["result"]["token"]
        with multiprocessing.Pool(64) as pool:
            gate = time.time() + 0.3
            counts.append(sum(pool.map(consume, [(gate, bound | {"token": token})] * 64, chunksize=1)))
    print(counts)
elif command == "issue":
    bound = binding()
    used, fresh = (ask("authorize_bash", bound)["result"]["token"] for _ in range(2))
    ask("consume_bash_authorization", bound | {"token": used})
    json.dump([bound, used, fresh], open(state, "w"))
elif command == "after":
    bound, used, fresh = json.load(open(state))
    other = bound | {"challenge": "another"}
    print([ask("consume_bash_authorization", bound | {"token": token})["result"]["ok"] for token in (used, fresh, fresh)],
          ask("consume_bash_authorization", bound | {"token": "x" * 43})["result"]["ok"])
elif command == "bound":
    results = []
    for name in ("command_sha256", "cwd", "workspace", "generation", "challenge"):
        bound = binding()
        token = ask("authorize_bash", bound)["result"]["token"]
        results.append(ask("consume_bash_authorization", bound | {"token": token, name: "other"})["result"]["ok"])
    print(results)
elif command == "refused":
    bad = binding() | {"command": "rm -rf /", "command_sha256": hashlib.sha256(b"rm -rf /").hexdigest()}
    print([ask("authorize_bash", bad)["result"].get("error"),
           ask("authorize_bash", binding() | {"command": "id"})["result"].get("error"),
           ask("authorize_bash", binding() | {"cwd": "/"})["result"].get("error"),
           ask("authorize_bash", binding() | {"workspace": "/"})["result"].get("error"),
           "error" in ask("authorize_bash", {}), "error" in ask("no_such", {})])
EOF
  consume() { python3 "$base/consume.py" "$socket" "$workspace" "$1" "$base/tokens" "$base/policy.json" 2>&1; }
  is 'CAP-6 of 64 consumers in as many processes exactly one gets ok' "$(consume many)" '[1, 1, 1, 1, 1]'
  is 'CAP-8 a token is bound to every field' "$(consume bound)" '[False, False, False, False, False]'
  is 'CAP-9 the authority repeats the checks' "$(consume refused)" \
    "['recursive removal of /', 'command_sha256 is not that of the command', 'cwd is outside the workspace', 'workspace is not that of the policy', True, True]"
  consume issue
  kill -KILL $authority
  wait $authority 2>/dev/null
  "$ISORUN" authority --policy "$base/policy.json" --socket "$socket" --state "$base/state" 2>"$base/authority.err" &
  authority=$!
  sleep 0.3
  is 'CAP-6 after a kill -9 and a restart: the used one stays used, the fresh one works once' \
    "$(consume after)" '[False, True, False] False'
  is 'CAP-8 what is no request does no harm' \
    "$(printf 'nonsense\n{"jsonrpc":"2.0","id":1,"method":"egress_check","params":{"command":"ls"}}\n' |
      python3 -c 'import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(sys.stdin.buffer.read()); f=s.makefile(); print("error" in f.readline(), "allowed" in f.readline())' "$socket")" \
    'True True'
fi
kill -TERM $authority
wait $authority
is 'CAP-8 it ends cleanly and takes its socket along' "$? $(ls "$socket" 2>/dev/null)" '0 '
bash_call 'touch ran' --authority "unix:$socket"
is 'CAP-2 no authority: nothing runs' "$code $error $(ls ran 2>/dev/null)" \
  '125 Denied: host authorization unavailable; command was not executed '
bash_call 'touch ran' --authority "tcp:$socket"
is 'CAP-8 another kind of address' "$code $(ls ran 2>/dev/null)" '125 '

# --- an external authority, and what it can do wrong

if command -v python3 >/dev/null; then
  # external BEHAVIOUR…: start one; then bash_call, and `stop`.
  external() {
    rm -f "$socket"
    python3 "$HOSTS_SOURCE/authority.py" "$socket" "$@" 2>"$base/authority.err" &
    authority=$!
    wait_for_socket "$socket"
  }
  stop() {
    kill -KILL $authority
    wait $authority 2>/dev/null
  }
  external
  bash_call 'echo outside' --authority "unix:$socket" --generation seven
  is 'CAP-8 an external authority' "$code $(field .stdout.text) $(field .audit_recorded)" '0 outside true'
  asked=$(jq -c .method <"$socket.log" | tr -d '"' | tr '\n' ' ')
  is 'CAP-5 CAP-7 asked in this order' "$asked" 'egress_check authorize_bash consume_bash_authorization record_bash_result '
  is 'CAP-1 what it is asked to authorise' "$(sed -n 2p "$socket.log" | jq -c '.params|[.command,.command_sha256,.cwd,.workspace,.generation,(.challenge|length),.timeout]')" \
    "[\"echo outside\",\"$(printf 'echo outside' | sha256sum | cut -c1-64)\",\"$workspace\",\"$workspace\",\"seven\",32,120]"
  is 'CAP-7 what it is told' "$(sed -n 4p "$socket.log" | jq -c '.params|[.status,.exit_code,.stdout.text,.stdout.characters_seen,.stdout.truncated,(.duration_ms>0),.workspace_diff]')" \
    '["completed",0,"outside\n",8,false,true,{"created":[],"deleted":[],"modified":[]}]'
  bash_call 'sleep 60' --authority "unix:$socket" --timeout 1s
  is 'CAP-7 a timeout is recorded, too' "$(tail -1 "$socket.log" | jq -c '.params|[.status,.exit_code]') $code" '["timed_out",-1] 124'
  stop

  while IFS='|' read -r behaviour message; do
    external "$behaviour"
    bash_call 'touch ran' --authority "unix:$socket"
    is "CAP-2 CAP-3 CAP-4 an authority with $behaviour: nothing runs" "$code $error $(ls ran 2>/dev/null)" "125 Denied: $message "
    stop
  done <<'EOF'
garbage|host authorization unavailable; command was not executed
hangup|host authorization unavailable; command was not executed
old|host authorization unavailable; command was not executed
wrong-id|host authorization unavailable; command was not executed
refuse|host authorization refused: not today
missing=token|host capability is missing token
missing=allowed_root|host capability is missing allowed_root
version=2|host capability version is not known
token="short"|host capability token is malformed
command_sha256="0"|host capability does not match: command_sha256
cwd="/"|host capability does not match: cwd
workspace="/"|host capability does not match: workspace
generation="other"|host capability does not match: generation
challenge="other"|host capability does not match: challenge
allowed_root="relative"|host capability allowed_root is no canonical directory
allowed_root="/usr"|host capability cwd is outside allowed_root
issued_at_ms=1|host capability lifetime exceeds 60 s
issued_at_ms=NOW000|host capability expires before it is issued
expires_at_ms=1|host capability expires before it is issued
expires_at_ms="soon"|host capability times are malformed
no-consume|host capability was not consumed; command was not executed: somebody was faster
egress=not there|not there
EOF
  external silent
  started=$(date +%s)
  bash_call 'touch ran' --authority "unix:$socket"
  is 'CAP-2 an authority that never answers: nothing runs, and not for ever' \
    "$code $error $(ls ran 2>/dev/null) $(($(date +%s) - started < 20))" \
    '125 Denied: host authorization unavailable; command was not executed  1'
  stop
  external no-record
  bash_call 'echo ran' --authority "unix:$socket"
  is 'CAP-7 a record that fails does not undo the run, and is said' "$code $(field .stdout.text) $(field .audit_recorded)" '0 ran false'
  stop
  external reuse
  receipt=$("$HOSTS/host_session" "$base/policy.json" "unix:$socket" 'echo once' 2>&1)
  is 'CAP-5 a token that the authority gives twice is used once' "$(printf '%s\n' "$receipt" | jq -r '.status + " " + (.error // "")' | tr '\n' ' ')" \
    'completed  denied Denied: host capability token replayed '
  stop
fi

finish
