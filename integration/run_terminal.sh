#!/bin/sh
# --tty, driven by a typist at a real pseudo-terminal.
. "$(dirname "$0")/lib.sh"

pty() { timeout 60 "$PROBES/probe_pty" "$@" >"$base/shown"; }

pty 33 77 '$ ' 'tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo three\n' \
  three 'exit 7\n' -- "$ISORUN" run --tty -- sh
contains '--tty: a terminal of its own, of the size of ours' "$(cat "$base/shown")" '/dev/pts/0
33 77
three'
is '--tty: the exit code arrives, our terminal is as before' "$(tail -1 "$base/shown")" 'exit 7, settings as before'

# What is typed is echoed, so what is waited for is written differently there.
pty 24 80 '$ ' 'echo run""ning; sleep 50\n' running '\003' '$ ' 'echo rc=$?\n' 'rc=130' 'exit\n' -- "$ISORUN" run --tty -- sh
is 'T35 ^C reaches the program in there and not isorun' \
  "$(grep -c 'rc=130' "$base/shown") $(tail -1 "$base/shown")" '1 exit 0, settings as before'

pty 24 80 '$ ' 'sh -c "echo run\"\"ning; sleep 50"\n' running '\032' 'Stopped' 'kill %1; exit\n' '$ ' 'exit 3\n' -- "$ISORUN" run --tty -- bash --norc
is 'job control works: ^Z stops the job' "$(grep -c Stopped "$base/shown" | sed 's/^[1-9].*/some/') $(tail -1 "$base/shown" | cut -d, -f2)" \
  'some  settings as before'

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

finish
