#!/bin/sh
# The audit log as the commands write and read it.
. "${0%/cases/*}/lib.sh"

log=$base/log
key=$base/key
audit() { "$ISORUN" audit "$@" >"$base/out" 2>"$base/err"; }
printf '{"root": "%s", "permissions": ["READ", "EXECUTE"], "commands": {"hi": ["echo", "hi"]}}\n' "$workspace" >"$base/policy.json"
logged="--policy $base/policy.json --audit $log --audit-key $key"

audit keygen "$key"
is 'AUD-3 keygen: the private half is for its owner only' "$? $(stat -c %a "$key" "$key.pub" | tr '\n' ' ')" '0 600 644 '
audit keygen "$key"
is 'AUD-3 keygen does not overwrite a key' "$? $(grep -c 'File exists' "$base/err")" '125 1'

# Every request ends in one line, refused ones included.
# shellcheck disable=SC2086
{
  "$ISORUN" exec $logged --tool shell.exec --args '{"command": "hi"}' >"$base/allowed.json"
  "$ISORUN" exec $logged --tool shell.exec --args '{"command": "secret-words"}' >"$base/denied.json"
  "$ISORUN" exec $logged --tool filesystem.read --args '{"path": "/etc/passwd"}' >/dev/null
  "$ISORUN" exec $logged --tool no.such --args '{"x": "secret-words"}' >/dev/null
  "$ISORUN" exec $logged --tool shell.exec --args '{"command": 5}' >/dev/null
  "$ISORUN" bash $logged 'echo secret-words' >/dev/null
  "$ISORUN" run $logged -- sh -c 'echo secret-words; exit 4' >/dev/null
  "$ISORUN" run $logged --memory 0 -- true 2>/dev/null
  "$ISORUN" run $logged --rw /usr -- true 2>/dev/null
}
is 'AUD-1 RCPT-1 one line per request, denied and failed ones included' \
  "$(jq -c '.record|[.seq,.tool,.status,.error,.exit_code]' <"$log" | tr '\n' ' ')" \
  '[1,"shell.exec","completed",null,0] [2,"shell.exec","denied","Denied",null] [3,"filesystem.read","denied","Denied",null] [4,"unknown","invalid","Invalid",null] [5,"shell.exec","invalid","Invalid",null] [6,"host.bash","completed",null,0] [7,"run","failed","CommandFailed",4] [8,"run","invalid","Invalid",null] [9,"run","denied","Denied",null] '
is 'AUD-1 no arguments and no output in it' "$(grep -c secret "$log") $(jq -r '.record|.arguments+.output' <"$log" | sort -u)" '0 [omitted][omitted]'
is 'AUD-1 the request is its SHA-256, as in the receipt' "$(jq -r .record.request_sha256 <"$log" | head -1)" "$(jq -r .request_sha256 <"$base/allowed.json")"
is 'AUD-2 the receipt says where it is' "$(jq -c '.audit|[.recorded,.seq,.hash]' <"$base/denied.json")" \
  "[true,2,$(sed -n 2p "$log" | jq .hash)]"
audit verify --key "$key.pub" "$log"
is 'AUD-3 verified with the public key alone' "$? $(head -1 "$base/out")" '0 9 records, chain intact, every line signed by this key'
audit verify "$log"
contains 'AUD-2 without a key, and it says so' "$(cat "$base/out")" 'signatures not checked'
sed 's/"seq":5/"seq":6/' "$log" >"$base/changed"
audit verify "$base/changed"
is 'AUD-2 the first bad line is named, and why' "$? $(cat "$base/err")" \
  '125 isorun: verify the audit log: line 5: its number is 6, and 5 should follow'
sed 4d "$log" >"$base/changed"
audit verify "$base/changed"
contains 'AUD-2 a line that is missing' "$(cat "$base/err")" 'line 4: its number is 5'
audit checkpoint --key "$key" --origin test-host "$log"
cp "$base/out" "$base/checkpoint"
head -7 "$log" >"$base/changed"
audit verify --key "$key.pub" --checkpoint "$base/checkpoint" "$base/changed"
contains 'AUD-2 a tail that is missing, against a checkpoint' "$(cat "$base/err")" 'the checkpoint says it had 9 lines'
audit verify --key "$key.pub" --checkpoint "$base/checkpoint" "$log"
is 'AUD-2 the checkpoint is found in the log' "$? $(grep -c 'checkpoint found' "$base/out")" '0 1'
audit show --status denied "$log"
is 'AUD-1 show: a table, filtered' "$? $(awk '{print $3, $4}' "$base/out" | tr '\n' ' ')" '0 tool status shell.exec denied filesystem.read denied run denied '
audit show "$base/policy.json"
is 'show: what is no log is said' "$?" 125
audit verify /no/such
is 'verify: a file that is not there' "$?" 125
audit frobnicate
is 'an unknown action' "$?" 125

# Rotation, while others write.
"$HOSTS/host_append" "$base/turning" 4 2000 &
writers=$!
for _ in 1 2 3 4 5; do
  sleep 0.05
  audit rotate "$base/turning"
done
wait $writers
# shellcheck disable=SC2046,SC2010,SC2012
audit verify $(ls "$base"/turning.* | sort -t. -k3 -n) "$base/turning"
is 'AUD-4 rotated under four writers: the chain holds over all files' "$? $(head -1 "$base/out" | cut -d, -f1)" '0 8005 records'

# Sixteen processes, 10,000 records each.
records=10000
[ "$KERNEL" = native ] || records=200
"$HOSTS/host_append" "$base/crowd" 16 $records
is "AUD-4 16 processes append $records records each" "$?" 0
audit verify "$base/crowd"
is 'AUD-4 and they are one chain' "$? $(head -1 "$base/out" | cut -d, -f1)" "0 $((16 * records)) records"

# kill -9 of appenders at any moment: what is there verifies, or the next append mends it.
for delay in 0.01 0.03 0.05 0.07 0.09; do
  "$HOSTS/host_append" "$base/killed" 4 100000 2>/dev/null &
  pid=$!
  sleep $delay
  pkill -KILL -P $pid
  kill -KILL $pid 2>/dev/null
  wait $pid 2>/dev/null
  sleep 0.05
done
"$HOSTS/host_append" "$base/killed" 1 1
audit verify "$base/killed"
is 'AUD-4 appenders killed at any moment: the chain holds, and goes on' "$?" 0

if [ "$(id -u)" = 0 ]; then
  # A full disk. The run is reported as not recorded; where the audit is required, nothing runs.
  mkdir "$base/small"
  mount -t tmpfs -o size=128k tmpfs "$base/small"
  "$ISORUN" run --audit "$base/small/log" -- true
  head -c 300000 /dev/zero >"$base/small/filler" 2>/dev/null
  i=0
  while "$ISORUN" run --audit "$base/small/log" --receipt "$base/receipt" -- true 2>"$base/err" && [ $i -lt 50 ]; do i=$((i + 1)); done
  receipt=$(cat "$base/receipt")
  is 'AUD-4 a full disk: the run is reported as not recorded' "$(field '[.status,.audit_recorded,.audit.recorded]')" '["completed",false,false]'
  audit verify "$base/small/log"
  is 'AUD-4 a full disk: the log still verifies' "$?" 0
  printf '{"root": "%s", "permissions": ["EXECUTE"], "audit": "required", "commands": {"made": ["touch", "/tmp/x"]}}\n' "$workspace" >"$base/required.json"
  "$ISORUN" exec --policy "$base/required.json" --audit "$base/small/log" --tool shell.exec --args '{"command": "made"}' >"$base/receipt"
  receipt=$(cat "$base/receipt")
  is 'AUD-4 audit required and a full disk: nothing runs' "$(field .status) $(field 'has("usage")')" 'denied false'
  contains 'AUD-4 and it is said' "$(field .error)" 'Audit is required and cannot be recorded; nothing was executed'
  rm "$base/small/filler"
  "$ISORUN" exec --policy "$base/required.json" --audit "$base/small/log" --tool shell.exec --args '{"command": "made"}' >"$base/receipt"
  receipt=$(cat "$base/receipt")
  is 'AUD-4 with room again it runs' "$(field '[.status,.audit_recorded]')" '["completed",true]'
  umount "$base/small"
  "$ISORUN" run --policy "$base/required.json" -- true 2>"$base/err"
  is 'AUD-4 audit required, and no log is named: nothing runs' "$? $(grep -c 'Audit is required' "$base/err")" '125 1'
  "$ISORUN" run --audit "$workspace/log" -- touch ran 2>/dev/null
  is 'POL-1 run: a log in the workspace is refused' "$? $(ls ran 2>/dev/null)" '125 '
  cp "$key" "$workspace/key"
  "$ISORUN" run --audit "$log" --audit-key "$workspace/key" -- touch ran 2>"$base/err"
  is 'POL-1 run: a key in the workspace is refused: a command could read it' \
    "$? $(ls ran 2>/dev/null) $(grep -c 'use the key .* lies in the workspace' "$base/err")" '125  1'
  "$ISORUN" exec --policy "$base/policy.json" --audit "$log" --audit-key "$workspace/key" --tool git.diff >"$base/out" 2>"$base/err"
  is 'POL-1 exec: and so does it' "$? $(grep -c 'use the key .* lies in the workspace' "$base/err")" '125 1'
  rm "$workspace/key"
fi
"$ISORUN" exec --policy "$base/policy.json" --audit "$workspace/log" --tool git.diff >"$base/out" 2>"$base/err"
is 'POL-1 a log in the workspace is refused: a command could write it' "$? $(grep -c 'lies in the workspace' "$base/err")" '125 1'

# AUD-3: a receipt as an in-toto statement, for others to verify.
audit export --key "$key" "$base/allowed.json"
cp "$base/out" "$base/envelope.json"
statement=$(jq -r .payload <"$base/envelope.json" | base64 -d)
is 'AUD-3 the statement is about the receipt' \
  "$(printf '%s' "$statement" | jq -r '.subject[0].digest.sha256 + " " + .predicateType')" \
  "$(sha256sum "$base/allowed.json" | cut -c1-64) https://slsa.dev/provenance/v1"
if command -v openssl >/dev/null; then
  size=$(printf '%s' "$statement" | wc -c)
  printf 'DSSEv1 28 application/vnd.in-toto+json %s %s' "$size" "$statement" >"$base/signed"
  jq -r '.signatures[0].sig' <"$base/envelope.json" | base64 -d >"$base/sig"
  openssl pkeyutl -verify -rawin -pubin -inkey "$key.pub" -in "$base/signed" -sigfile "$base/sig" >"$base/out" 2>&1
  is 'AUD-3 OpenSSL verifies the signature' "$?" 0
  openssl genpkey -algorithm ed25519 -out "$base/theirs" 2>/dev/null
  audit export --key "$base/theirs" "$base/allowed.json"
  is 'AUD-3 a key that OpenSSL made serves' "$?" 0
fi
verifier=$DEPS/sigstore
if [ -d "$verifier/node_modules" ]; then
  cp "$HOSTS_SOURCE/verify_envelope.js" "$verifier/"
  node "$verifier/verify_envelope.js" "$base/envelope.json" "$key.pub" >"$base/out" 2>&1
  is 'AUD-3 a third-party verifier accepts the envelope' "$? $(cat "$base/out")" '0 accepted'
  jq -c '.payload |= (explode | .[20] += 1 | implode)' <"$base/envelope.json" >"$base/tampered.json"
  node "$verifier/verify_envelope.js" "$base/tampered.json" "$key.pub" >"$base/out" 2>&1
  is 'AUD-3 and rejects one that was tampered with' "$?" 1
  audit keygen "$base/other"
  node "$verifier/verify_envelope.js" "$base/envelope.json" "$base/other.pub" >"$base/out" 2>&1
  is 'AUD-3 and one of another key' "$?" 1
else
  [ "$KERNEL" = vm ] || skip 'AUD-3 a third-party verifier' 'make deps could not fetch @sigstore/verify'
fi

finish
