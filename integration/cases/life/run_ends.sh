#!/bin/sh
# Every way a run can end, and that exit code, message and receipt say why.
. "${0%/cases/*}/lib.sh"

run -- true
is 'RUN-8 exit 0: code' "$code" 0
is 'RUN-8 exit 0: receipt' "$(field '[.status,.ok,.exit_code,.signal,.error]')" '["completed",true,0,null,null]'
is 'RUN-8 exit 0: silent' "$out$err" ''

run -- sh -c 'exit 3'
is 'RUN-8 exit 3: code' "$code" 3
is 'RUN-8 exit 3: receipt' "$(field '[.status,.ok,.exit_code,.error]')" \
  '["failed",false,3,"CommandFailed: Command exited 3"]'

run -- sh -c 'kill -SEGV $$'
is 'RUN-8 SIGSEGV: code' "$code" 139
is 'RUN-8 SIGSEGV: receipt' "$(field '[.status,.exit_code,.signal,.error]')" \
  '["signaled",null,"SIGSEGV","CommandSignaled: Command killed by SIGSEGV"]'
is 'RUN-8 SIGSEGV: message' "$err" 'isorun: Command killed by SIGSEGV'

# T27: the payload is not PID 1, so default actions work
run -- sh -c 'kill -TERM $$'
is 'T27 a signal with its default action ends the payload' "$code $(field .signal)" '143 SIGTERM'

run --timeout 1s --grace 300ms -- sh -c './probe_hostile deaf & sleep 100'
is 'RUN-7 T26 T36 timeout with an orphan that ignores TERM: code' "$code" 124
is 'RUN-7 timeout: status' "$(field .status)" timed_out
is 'RUN-7 timeout: message' "$err" 'isorun: Command exceeded its wall limit of 1000 ms'
at_least 'RUN-7 timeout: not early' "$elapsed_ms" 1000
at_most 'RUN-7 timeout: bounded by the grace' "$elapsed_ms" 2300

run --timeout 500ms --grace 300ms -- ./probe_hostile deaf
is 'T36 a payload that ignores TERM is killed after the grace' "$code $(field .status)" '124 timed_out'

run --timeout 500ms --grace 5s -- sh -c 'trap "echo cleaned; exit 9" TERM; sleep 100 & wait'
is 'RUN-7 the grace lets a payload clean up' "$out $code" 'cleaned 124'
at_most 'RUN-7 a payload that obeys TERM ends the grace' "$elapsed_ms" 3000

run --timeout 1s --grace 300ms -- ./probe_hostile stop-all
is 'T29 stopped processes are killed at the deadline' "$code $(field .status)" '124 timed_out'
at_most 'T29 bounded' "$elapsed_ms" 2300

run --memory 64M -- ./probe_hostile hog-alone 300
is 'RUN-8 memory limit, one process: code' "$code" 137
is 'RUN-8 memory limit: receipt' "$(field '[.status,.ok]')" '["memory_limit",false]'
is 'RUN-8 memory limit: message' "$err" 'isorun: Command exceeded its memory limit of 67108864 bytes'
at_most 'RUN-8 memory limit: the peak is below it' "$(field .usage.memory_peak_bytes)" 67108864
is 'T14 the limit in force is the one asked for' "$(field .limits.memory_bytes.effective)" 67108864

run --memory 64M --timeout 60s -- ./probe_hostile hog-family 300
is 'T55 memory limit, many children: all die together' "$code $(field .status)" '137 memory_limit'

run --memory 64M -- ./probe_hostile hog-tmpfs 300
is 'RUN-8 memory limit, tmpfs is charged too' "$code $(field .status)" '137 memory_limit'

run --memory 64M -- ./probe_hostile hog-alone 16
is 'T56 limits and counters start afresh' "$(field '[.status,.usage.oom_kills]')" '["completed",0]'

run --pids 32 --timeout "${BOMB_MS}ms" --grace 0 -- ./probe_hostile fork-bomb
is 'T50 fork bomb: ends at the deadline' "$code" 124
at_least 'T50 fork bomb: the limit was hit, and counted' "$(field .usage.pids_limit_hits)" 1
at_most 'T50 fork bomb: never more than 32' "$(field '.usage.pids_peak // 32')" 32
is 'T50 the limit in force is the one asked for' "$(field '[.limits.pids.requested,.limits.pids.effective]')" '[32,32]'

run --pids 4 -- sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 1 & done; exit 4'
contains 'RUN-8 a failure tells of the process limit' "$(field .error)" 'the limit of 4 processes was hit'

run --pids 1 -- true
is 'RUN-8 a limit of one process is enough for one' "$code" 0

run -- no-such-program
is 'RUN-8 missing program: code' "$code" 127
is 'RUN-8 missing program: receipt' "$(field '[.status,.error]')" \
  '["launch_failed","CommandNotFound: execute \"no-such-program\": No such file or directory"]'

run -- /etc/passwd
is 'RUN-8 not executable: code' "$code" 126
is 'RUN-8 not executable: receipt' "$(field '[.status,.error]')" \
  '["launch_failed","CommandNotExecutable: execute \"/etc/passwd\": Permission denied"]'

printf 'not a program\n' >garbage && chmod 755 garbage
run -- ./garbage
is 'RUN-8 not a program: code' "$code" 126
contains 'RUN-8 not a program: reason' "$err" 'Exec format error'

run --workspace /no/such/place -- true
is 'RUN-9 missing workspace: code' "$code" 125
is 'RUN-9 missing workspace: receipt' "$(field '[.status,.error]')" \
  '["invalid","Invalid: open the workspace \"/no/such/place\": No such file or directory"]'

run --workspace /etc/passwd -- true
contains 'RUN-9 a workspace that is no directory' "$err" 'Not a directory'
for place in / /usr /tmp /proc /proc/self /dev /etc /run; do
  run --workspace $place -- true
  is "RUN-9 $place is no workspace" "$code $(field .status)" '125 invalid'
done

run --workdir "$workspace/missing" -- true
is 'RUN-9 missing working directory' "$code $(field .status)" '125 invalid'
run --workdir /etc -- true
is 'RUN-9 working directory outside' "$code $(field .status)" '125 invalid'
mkdir sub
run --workdir sub -- pwd
is 'RUN-9 a relative working directory is taken from the current one' "$out" "$workspace/sub"

run -- ''
is 'RUN-9 empty command' "$code $(field .status)" '125 invalid'
run -- '  '
is 'RUN-9 blank command' "$code $(field .status)" '125 invalid'
run --
is 'RUN-9 no command' "$code $(field .status)" '125 invalid'

for option in '--bogus' '--memory=0' '--memory=-1' '--memory=1e999' '--memory=512 M' '--memory=0.5' \
  '--memory=99999999999999999999' '--memory=18446744073709551615G' '--pids=0' '--pids=x' '--cpus=0' \
  '--cpus=nan' '--timeout=0' '--timeout=inf' '--timeout=-1' '--timeout=1d' '--grace=x' \
  '--detached=maybe' '--workspace-mode=rx' '--uid=4294967295' '--gid=-1' '--network=host' \
  '--stdin=/no/such/file' '--keep=middle' '--output-limit=0' '--env=NOVALUE' '--root=1' \
  '--ro=/no/such/path' '--tmpfs=relative' '--rw=:x' '--hide=/' '--nofile=1' '--seccomp=/x' \
  '--hostname=a b'; do
  run "$option" -- true
  is "T67 refused: $option" "$code $(field .status)" '125 invalid'
done
run --memory
is 'T67 refused: an option without its value' "$code $(field .status)" '125 invalid'

run -- ./probe_syscalls
contains 'RUN-8 entry through another architecture is a seccomp kill' "$out" "i386 entry $(i386_entry)"

# signalled SIGNAL SCRIPT: isorun gets SIGNAL once the script has said something; sets code and receipt, "$base/out". A shell
# starts its background jobs with INT ignored, which isorun would respect.
signalled() {
  rm -f "$base/out"
  "$PROBES/probe_start" default-signals "$ISORUN" run --receipt "$base/receipt" -- sh -c "$2" >"$base/out" 2>"$base/err" </dev/null &
  pid=$!
  wait_for_text "$base/out"
  kill -"$1" $pid
  wait $pid
  code=$?
  receipt=$(cat "$base/receipt")
}

while read -r signal expected; do
  signalled "$signal" "trap 'echo got $signal' $signal; echo ready; sleep 30 & wait; exec sleep 30"
  is "RUN-3 T35 cancelled by $signal: code and status" "$code $(field .status)" "$expected cancelled"
  contains "RUN-3 the payload received $signal" "$(cat "$base/out")" "got $signal"
done <<'EOF'
INT 130
TERM 143
HUP 129
QUIT 131
EOF

# F032: no signal that isorun can help ends it without a receipt.
for signal in 14 26 27 24 29 30 16 34 64; do # ALRM VTALRM PROF XCPU IO PWR STKFLT, the first and the last of real time
  signalled "$signal" "trap 'echo got TERM; exit 3' TERM; echo ready; sleep 30 & wait"
  is "F032 signal $signal is a cancel, which the payload gets as TERM" "$code $(field .status) $(tail -1 "$base/out")" \
    "$((128 + signal)) cancelled got TERM"
done
for signal in USR1 USR2; do
  signalled $signal "trap 'echo got $signal; exit 5' $signal; echo ready; sleep 30 & wait"
  is "F032 $signal is for the payload" "$code $(field .status) $(tail -1 "$base/out")" "5 failed got $signal"
done

# slow CALL MS SCRIPT: start isorun with every such call so much later. cancel: TERM it, and wait; sets code.
# LeakSanitizer cannot run in a process that is traced, and would end it with 1; leaks are sought without strace.
slow() {
  rm -f "$base/out"
  ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o /dev/null -e trace="$1" -e inject="$1:delay_enter=${2}000" "$ISORUN" run -- sh -c "$3" \
    >"$base/out" 2>"$base/err" </dev/null &
  tracer=$!
}
cancel() {
  read -r pid <"/proc/$tracer/task/$tracer/children"
  kill -TERM "$pid"
  wait $tracer
  code=$?
}
if command -v strace >/dev/null; then
  # A payload that speaks before its init has said that it runs gets its signal, too.
  slow sendto 500 "trap 'echo got TERM; exit' TERM; echo ready; sleep 30 & wait"
  wait_for_text "$base/out"
  cancel
  is 'RUN-3 a payload that has just started receives the signal' "$code $(sed 1d "$base/out")" '143 got TERM'
  slow sethostname 2000 'touch started'
  sleep 1
  cancel
  is 'RUN-3 cancelled while it is set up: nothing runs' "$code $(ls started 2>&-)" '143 '
elif [ "$KERNEL" != vm ]; then
  skip 'RUN-3 cancelled at the start' 'there is no strace'
fi

run -- sh -c 'sleep 1000 & exit 0'
is 'T24 a background child does not delay the return' "$code $(field .usage.survivors_killed)" '0 1'
at_most 'T24 at once' "$elapsed_ms" 1500

run -- ./probe_hostile orphan
is 'RUN-3 T25 an orphan that holds the pipes: complete output, killed, counted' \
  "$out $code $(field .usage.survivors_killed)" 'left 0 1'
at_most 'T25 at once' "$elapsed_ms" 1500

run --detached wait -- sh -c '(sleep 1; echo late) & exit 0'
is 'RUN-7 detached wait: the run lasts until descendants end' "$out $code $(field .status)" 'late 0 completed'

run --detached wait --timeout 3s --grace 200ms -- sh -c './probe_hostile deaf >/tmp/ready & until [ -s /tmp/ready ]; do sleep 0.05; done; exit 0'
is 'RUN-7 detached wait: at the deadline it is timed out, never completed' \
  "$code $(field '[.status,.usage.survivors_killed]')" '124 ["timed_out",1]'

run --quiet --timeout 200ms --grace 0 -- sleep 10
is 'quiet: no message about the end' "$err" ''

finish
