#!/bin/sh
# isorun killed, and refused, at every system call it makes: after SIGKILL nothing of it is left that gc
# does not remove; after an error there is a truthful message, nothing is left and nothing hangs.
# TORTURE=full tries every call of every name (minutes); otherwise every STEP-th (seconds).
. "$(dirname "$0")/lib.sh"

command -v strace >/dev/null || {
  [ "$KERNEL" = vm ] || skip 'torture' 'there is no strace'
  finish
  exit
}
step=${STEP:-7}
[ "${TORTURE:-}" = full ] && step=1

# The calls of one whole run: their names with how often each is made.
strace -qq -o "$base/trace" "$ISORUN" run --receipt "$base/receipt" --audit "$base/log" -- sh -c 'echo ran; echo x >made' >/dev/null
sed -n 's/^\([a-z0-9_]*\)(.*/\1/p' "$base/trace" | grep -vx -e exit_group -e execve | sort | uniq -c |
  while read -r count name; do
    i=1
    while [ $i -le "$count" ]; do
      echo "$name $i"
      i=$((i + 1))
    done
  done >"$base/all"
awk -v step="$step" 'NR % step == 1 || step == 1' "$base/all" >"$base/chosen"
at_least 'a run makes many calls' "$(wc -l <"$base/all")" 200

# --- SIGKILL at each of them

alive=0 tried=0
while read -r name number; do
  rm -f made
  timeout 60 strace -qq -o /dev/null -e "inject=$name:signal=KILL:when=$number" "$ISORUN" run --receipt "$base/receipt" \
    --audit "$base/log" -- sh -c 'echo ran; echo x >made; sleep 0.1; sleep 60 &' >/dev/null 2>&1 </dev/null
  tries=0
  while [ "$(processes_left)" != 0 ] && [ $tries -lt 500 ]; do # whoever adopts them may reap late
    sleep 0.02
    tries=$((tries + 1))
  done
  [ "$(processes_left)" = 0 ] || {
    alive=$((alive + 1))
    echo "# alive after SIGKILL at $name $number"
  }
  tried=$((tried + 1))
done <"$base/chosen"
is "escapes-4 T33 SIGKILL at $tried system calls: no process is left" "$alive" 0
sleep 2.2
"$ISORUN" gc 2>/dev/null
is 'escapes-4 gc removes the cgroups' "$(cgroups_left)" 0
is 'escapes-4 no mount is left' "$(wc -l </proc/self/mountinfo)" "$mounts_before"
is 'escapes-4 DIFF-6 nothing is left in the workspace' "$(find . -mindepth 1 ! -name 'probe_*' ! -name made | wc -l)" 0
"$ISORUN" run --audit "$base/log" -- true
"$ISORUN" audit verify "$base/log" >/dev/null
is 'escapes-4 AUD-4 the audit log verifies' "$?" 0

# --- errors at each of them

lies=0 hangs=0 tried=0
while read -r name number; do
  for error in EINTR ENOMEM EMFILE ENOSPC EPERM EAGAIN; do
    case $name:$error in
      # Never interrupted, or answers that mean "not yet" there and nothing else.
      close:* | munmap:* | exit*:* | rt_sig*:* | poll:EAGAIN | futex:*) continue ;;
    esac
    rm -f made "$base/receipt"
    timeout 60 strace -qq -o /dev/null -e "inject=$name:error=$error:when=$number" "$ISORUN" run --receipt "$base/receipt" \
      --timeout 20s -- sh -c 'echo ran; echo x >made' >"$base/out" 2>"$base/err" </dev/null
    code=$?
    tried=$((tried + 1))
    if [ $code = 124 ]; then
      hangs=$((hangs + 1))
      echo "# hang: $name $number $error"
    elif [ $code = 0 ]; then # it did without: then the command has run, and said so
      [ "$(cat "$base/out")$(cat made 2>/dev/null)" = ranx ] || {
        lies=$((lies + 1))
        echo "# success without a run: $name $number $error"
      }
    elif [ ! -s "$base/err" ] && [ ! -s "$base/receipt" ]; then
      lies=$((lies + 1))
      echo "# exit $code without a word: $name $number $error"
    fi
  done
done <"$base/chosen"
is "fault injection: $tried errors: success means that it ran, failure says why" "$lies" 0
is 'fault injection: nothing hangs' "$hangs" 0
sleep 2.2
"$ISORUN" gc 2>/dev/null
is 'fault injection: nothing is left' "$(cgroups_left) $(processes_left)" '0 0'

finish
