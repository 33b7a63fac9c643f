#!/bin/sh
# The drain: nothing lost, nothing unbounded, nobody able to hold up the deadline.
. "${0%/cases/*}/lib.sh"

run -- sh -c 'echo out; echo err >&2'
is 'RUN-4 both streams pass through' "$out|$err" 'out|err'
is 'RUN-4 both are in the receipt' "$(field '[.stdout.text,.stderr.text]')" '["out\n","err\n"]'

"$ISORUN" run -- sh -c 'echo first; sleep 3; echo second' >"$base/live" &
pid=$!
wait_for_text "$base/live"
is 'RUN-4 output streams as it comes' "$(cat "$base/live")" first
wait $pid

# The flood: both streams at once, with the supervisor's memory watched.
bytes=$((FLOOD_MIB * 1048576))
"$ISORUN" run --json --timeout 300s -- ./probe_hostile flood "$FLOOD_MIB" >"$base/receipt" &
pid=$!
peak=0
while kill -0 $pid 2>/dev/null; do
  now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status" 2>/dev/null)
  [ -n "$now" ] && peak=$now
  sleep 0.2
done
wait $pid
code=$?
receipt=$(cat "$base/receipt")
is "T80 T81 flood of $FLOOD_MIB MiB on both streams: completes" "$code $(field .status)" '0 completed'
is 'T80 every byte is counted' "$(field '[.stdout.bytes_total,.stderr.bytes_total]')" "[$bytes,$bytes]"
is 'T80 only the limit is kept' "$(field '[.stdout.bytes_retained,.stdout.truncated]')" '[16000,true]'
is 'RUN-4 the digest is of the whole stream' "$(field .stdout.sha256)" \
  "$(head -c $bytes /dev/zero | tr '\0' o | sha256sum | cut -d' ' -f1)"
[ "$FLOOD_MIB" -lt 1024 ] || # a short flood may be over before it was looked at
  at_least 'T80 the memory of isorun was watched (KiB)' "$peak" 200
most=4096
case $ISORUN in */asan/* | */ubsan/* | */coverage/*) most=65536 ;; esac # whose own memory counts
at_most 'T80 the memory of isorun does not grow (KiB)' "$peak" $most

run --output-limit 10 -- printf '0123456789abc'
is 'RUN-5 keep the head' "$(field '[.stdout.text,.stdout.bytes_total,.stdout.bytes_retained,.stdout.truncated]')" \
  '["0123456789",13,10,true]'
run --output-limit 10 --keep tail -- printf '0123456789abc'
is 'RUN-5 keep the tail' "$(field '[.stdout.text,.stdout.keep]')" '["3456789abc","tail"]'
run --output-limit 13 -- printf '0123456789abc'
is 'T85 exactly the limit is not truncated' "$(field '[.stdout.bytes_retained,.stdout.truncated]')" '[13,false]'

run --output-limit 4 -- printf 'abc\303\244'
is 'T84 a cut at the end never splits a character' "$(field '[.stdout.text,.stdout.encoding,.stdout.bytes_retained]')" \
  '["abc","utf-8",3]'
run --output-limit 4 --keep tail -- printf '\303\244abc'
is 'T84 a cut at the start never splits a character' "$(field '[.stdout.text,.stdout.encoding]')" '["abc","utf-8"]'
run -- printf 'a\000b\377\355\240\200\033[0m'
is 'T84 bytes that are no text: replaced, and had raw' \
  "$(field '.stdout.encoding') $(field .stdout.base64 | base64 -d | od -An -tx1 | tr -d ' \n')" \
  'utf-8-replaced 610062ffeda0801b5b306d'

# A reader that stops reading slows the payload, but not the deadline, and not the receipt.
mkfifo "$base/slow"
# shellcheck disable=SC2217
sleep 30 <"$base/slow" &
reader=$!
started=$(date +%s%3N)
"$ISORUN" run --receipt "$base/receipt" --timeout 1s --grace 200ms -- yes >"$base/slow" 2>/dev/null
code=$?
elapsed_ms=$(($(date +%s%3N) - started))
kill $reader
wait $reader 2>/dev/null
receipt=$(cat "$base/receipt")
is 'T82 RUN-4 a stalled reader never defeats the deadline' "$code $(field .status)" '124 timed_out'
at_most 'T82 bounded' "$elapsed_ms" 3500

# A reader that leaves: the payload sees it as any pipe's writer would.
"$ISORUN" run --receipt "$base/receipt" -- yes 2>"$base/err" | head -2 >"$base/out"
receipt=$(cat "$base/receipt")
is 'RUN-4 a reader that leaves' "$(tr '\n' ' ' <"$base/out")$(field .signal)" 'y y SIGPIPE'

# The caller's descriptor keeps its flags: it is shared with others.
"$ISORUN" run -- true 3>&1 >/dev/null | cat
(
  "$ISORUN" run -- echo hello
  sed -n 's/^flags:[^0-9]*//p' /proc/self/fdinfo/1 >"$base/flags"
) | cat >/dev/null
is 'RUN-4 the O_NONBLOCK flag of our standard output is left alone' \
  "$(($(cat "$base/flags") & 04000))" 0

if [ -e /dev/full ]; then
  "$ISORUN" run --receipt "$base/receipt" -- echo lost >/dev/full 2>"$base/err"
  code=$?
  is 'output that could not be passed through is an error' "$code" 125
  contains 'and the message says which' "$(cat "$base/err")" 'No space left on device'
fi

echo input >"$base/input"
run --stdin "$base/input" -- cat
is '--stdin FILE' "$out" input
run -- cat
is 'RUN-4 stdin is empty unless given' "$out$code" 0
out=$(echo piped | "$ISORUN" run --stdin inherit -- cat)
is '--stdin inherit' "$out" piped

"$ISORUN" run --receipt fd:7 -- true 7>"$base/receipt"
receipt=$(cat "$base/receipt")
is '--receipt fd:N' "$(field .status)" completed
"$ISORUN" run --receipt fd:9 -- true 2>"$base/err"
is '--receipt to a closed descriptor is refused' "$?" 125
"$ISORUN" run --receipt /no/such/dir/receipt -- touch ran 2>"$base/err"
is '--receipt to a missing directory is refused, and nothing runs' "$? $(ls ran 2>/dev/null)" '125 '

# A payload cannot make isorun write through what it plants where the receipt goes.
echo precious >"$base/precious"
"$ISORUN" run --receipt "$workspace/receipt" -- ln -s "$base/precious" receipt
is 'T134 a planted link is replaced by the receipt, not written through' \
  "$(cat "$base/precious") $(jq -r .status <receipt)" 'precious completed'
rm -f receipt
is 'no temporary file of a receipt is left' "$(find . -name '.isorun*')" ''

out=$("$ISORUN" run --json -- sh -c 'echo hidden; exit 5')
code=$?
receipt=$out
is '--json prints the receipt in place of the stream' "$code $(field '[.stdout.text,.exit_code]')" '5 ["hidden\n",5]'

finish
