#!/bin/sh
# --tty, driven by a typist at a real pseudo-terminal.
. "${0%/cases/*}/lib.sh"

pty() { timeout 60 "$PROBES/probe_pty" "$@" >"$base/shown"; }

# What is typed is echoed, so what is waited for is written differently there.
pty 33 77 '$ ' 'tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo th""ree\n' \
  three 'exit 7\n' -- "$ISORUN" run --tty -- sh
contains '--tty: a terminal of its own, of the size of ours' "$(cat "$base/shown")" '/dev/pts/0
33 77
three'
is '--tty: the exit code arrives, our terminal is as before' "$(tail -1 "$base/shown")" 'exit 7, settings as before'

# What says that it runs is already in the foreground, where ^C goes.
pty 24 80 '$ ' 'sh -c "echo run\"\"ning; exec sleep 50"\n' running '\003' '$ ' 'echo rc=$?\n' 'rc=130' 'exit\n' -- "$ISORUN" run --tty -- sh
is 'T35 ^C reaches the program in there and not isorun' \
  "$(grep -c 'rc=130' "$base/shown") $(tail -1 "$base/shown")" '1 exit 0, settings as before'

# Without exec a shell that waits in vfork(2) for its child's exec would not stop if the child has.
pty 24 80 '$ ' 'sh -c "echo run\"\"ning; exec sleep 50"\n' running '\032' 'Stopped' 'kill %1; exit\n' '$ ' 'exit 3\n' -- "$ISORUN" run --tty -- bash --norc
contains 'job control works: ^Z stops the job' "$(cat "$base/shown")" Stopped
contains 'job control works: our terminal is as before' "$(tail -1 "$base/shown")" 'settings as before'

pty 24 80 ready 'resize 50 132' '' 'go\n' -- "$ISORUN" run --tty -- \
  sh -c 'echo ready; read x; sleep 0.5; stty size'
contains 'T88 a new window size arrives' "$(cat "$base/shown")" '50 132'

pty 24 80 ready 'term' -- "$ISORUN" run --tty -- sh -c 'echo ready; sleep 100'
is 'after TERM to isorun our terminal is as before' "$(tail -1 "$base/shown")" 'exit 143, settings as before'

pty 24 80 '' '' -- "$ISORUN" run --tty -- no-such-program
is 'after a failed launch our terminal is as before' "$(tail -1 "$base/shown")" 'exit 127, settings as before'
pty 24 80 '' '' -- "$ISORUN" run --tty --timeout 500ms --grace 0 -- sleep 100
is 'after a timeout our terminal is as before' "$(tail -1 "$base/shown")" 'exit 124, settings as before'

pty 24 80 '' '' -- "$ISORUN" run --tty -- ./probe_syscalls
contains 'T87 with a terminal nothing can be typed into it' "$(cat "$base/shown")" 'ioctl TIOCSTI EPERM'
pty 24 80 '' '' -- "$ISORUN" run -- sh -c 'tty; (exec 3</dev/tty) 2>&1'
contains 'without --tty there is no terminal' "$(cat "$base/shown")" 'not a tty'

out=$(echo hello | "$ISORUN" run --tty -- cat | tr -d '\r' | tail -1)
is 'input that is no terminal ends with its end' "$out" hello
run --tty --stdin null -- sh -c 'echo x'
is '--tty: the receipt has the output' "$(field .stdout.text | tr -d '\r')" x
run --tty --json -- true
is '--tty and --json exclude each other' "$code" 125
out=$(TERM=xterm-test "$ISORUN" run --tty --stdin null -- sh -c 'echo $TERM' | tr -d '\r')
is '--tty: the payload knows which terminal it is' "$out" xterm-test

# The status line: drawn at the start of a line only, taken away before output and at the end.
pty 24 80 '' '' -- "$ISORUN" run -- sh -c 'sleep 2; echo one; printf two; sleep 2; echo; sleep 1.5; exit 3'
line='isorun: 0:0[0-9], [0-9.]+ MiB, [0-9]+ process(es)?'
erase="$(printf '\033')\\[K"
at_least 'the status line is shown in a long run' "$(grep -cE "$line" "$base/shown")" 1
is 'what remains when it has been taken away is the output' \
  "$(sed -E "s/$line$erase//g" "$base/shown" | head -2 | tr '\n' ' ')" 'one two '
is 'nothing is drawn beside a line that is not complete' "$(grep -cE "two.*isorun: 0" "$base/shown")" 0
is 'the status line vanishes at the end' \
  "$(sed -E "s/$line$erase//g" "$base/shown" | tail -2 | tr '\n' ' ')" ' exit 3, settings as before '
pty 24 20 '' '' -- "$ISORUN" run -- sleep 1.5
is 'on a narrow terminal the status line is cut' "$(grep -oE 'isorun: [^[:cntrl:]]*' "$base/shown" | head -1 | wc -c)" 20
pty 24 80 '' '' -- "$ISORUN" run --quiet -- sleep 1.5
is 'with --quiet there is no status line' "$(grep -c 'isorun:' "$base/shown")" 0
"$ISORUN" run -- sleep 1.5 2>"$base/err"
is 'where standard error is no terminal there is none' "$(wc -c <"$base/err")" 0
pty 24 80 '0:01' '\023' '' 'pause 5000' '' '\021' -- \
  "$ISORUN" run --timeout 3s --grace 0 --receipt "$base/receipt" -- sleep 20
receipt=$(cat "$base/receipt")
is 'T82 a terminal stopped with ^S does not stop the deadline' \
  "$(tail -1 "$base/shown" | cut -d, -f1) $(field '.elapsed_ms < 4500')" 'exit 124 true'

finish
