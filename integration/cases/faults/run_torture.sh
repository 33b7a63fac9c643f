#!/bin/sh
# isorun under attack: names in the workspace change their meaning while it works on them, and it is killed
# at every system call it makes.
# TORTURE=full swaps for two minutes and kills at every call (minutes); otherwise five seconds and every
# STEP-th call.
. "${0%/cases/*}/lib.sh"

# --- a name that is by turns a file, a directory, a FIFO, a link to a secret (which the host's root could
# follow, and isorun runs as that), nothing

mkdir -m 700 "$base/secret" # so that only through isorun anything of it can be had
echo canary >"$base/secret/canary"
watched() {
  stat -c '%n %i %X %Y %Z %a %u %g %s' "$base/secret" "$base/secret/canary"
  stat -c '%n %i %Y %Z %a %u %g %s' /etc /etc/passwd
}
before=$(watched)
[ "${TORTURE:-}" = full ] && swapping_ms=120000 || swapping_ms=5000
./probe_swap target "$base/secret/canary" "$swapping_ms" &
swapper=$!
look='timeout 0.1 cat target /srv/there /srv/there/*; ls target /srv/there; touch target/x /srv/there/x; echo ran'
leaks=0 tries=0 ran=0
while kill -0 $swapper 2>/dev/null; do
  for options in '--rw ./target:/srv/there' "--ro $workspace/target:/srv/there" '--protect target' "--hide $workspace/target" \
    '--workdir ./target' '--receipt ./target/receipt' '--rootfs ./target' '--audit ./target/log' '--diff'; do
    # shellcheck disable=SC2086
    "$ISORUN" run --json --timeout 10s $options -- sh -c "$look" >"$base/out" 2>"$base/err" </dev/null
    tries=$((tries + 1))
    case $(cat "$base/out") in
      *canary* | *shadow*) leaks=$((leaks + 1)) && echo "# leaked with $options" ;;
      *'ran\n'*) ran=$((ran + 1)) ;;
    esac
  done
done
[ "$KERNEL" = native ] && fewest=50 || fewest=5
at_least 'escapes-3 the swapping attacker was tried' "$tries" "$fewest"
at_least 'escapes-3 and was there while commands ran' "$ran" $((fewest / 5))
is 'escapes-3 DIFF-5 nothing of the secret came in' "$leaks" 0
is 'escapes-3 nothing outside was changed, or even looked at' "$(watched)" "$before"
find . -mindepth 1 ! -name 'probe_*' -delete

# --- SIGKILL at every system call

command -v strace >/dev/null || {
  [ "$KERNEL" = vm ] || skip 'torture' 'there is no strace'
  finish
  exit
}
step=${STEP:-7}
[ "${TORTURE:-}" = full ] && step=1

# The calls of one whole run: their names with how often each is made.
strace -qq -o "$base/trace" "$ISORUN" run --receipt "$base/receipt" --audit "$base/log" -- sh -c 'echo ran; echo x >made' >/dev/null
calls_made <"$base/trace" >"$base/all"
every_nth "$step" <"$base/all" >"$base/chosen"
at_least 'a run makes many calls' "$(wc -l <"$base/all")" 200

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

finish
