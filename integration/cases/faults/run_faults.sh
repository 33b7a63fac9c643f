#!/bin/sh
# isorun refused everything it asks for, one thing at a time: each system call that it and what it starts
# make, with six errors each, and each allocation. Success must mean that the command ran and that what it
# said arrived; a failure says why; nothing hangs, crashes or is left.
# FAULTS=all tries every call and every allocation (minutes); otherwise every STEP-th (seconds).
. "${0%/cases/*}/lib.sh"

step=${STEP:-23}
[ "${FAULTS:-}" = all ] && step=1
receipt_file=$base/receipt
work='echo ran && echo x >made'

policy=$base/policy.json
echo "{\"root\": \"$workspace\", \"permissions\": [\"READ\", \"WRITE\", \"EXECUTE\"]}" >"$policy"
mkdir "$base/more" "$base/own" kept
chmod 777 "$base" "$base/own"
chown "$user:$user" "$base/own"

# --- what is tried: each scene is a whole command behind a prefix, and how to see that it did its work

plain() { "$@" "$program" run --receipt "$receipt_file" --audit "$base/log" --timeout 20s -- sh -c "$work"; }
plain_worked() { [ "$(cat "$base/out")$(cat made)" = ranx ]; }

captured() { "$@" "$program" run --json --diff --timeout 20s -- sh -c "$work"; }
captured_worked() { # or says that it could not see everything
  jq -e '.stdout.text == "ran\n" and (.workspace | .created == ["made"] or .incomplete)' <"$base/out" >/dev/null
}

terminal() { "$@" "$program" run --tty --timeout 20s -- sh -c "$work"; }
terminal_worked() { [ "$(tr -d '\r' <"$base/out")$(cat made)" = ranx ]; }

furnished() {
  "$@" "$program" run --ro "$base/more" --rw "$base/more:/srv/more" --tmpfs /scratch --hide /usr/share \
    --protect kept --memory 256M --pids 50 --cpus 1 --timeout 20s -- sh -c "$work && ! touch kept/x 2>&-"
}
furnished_worked() { plain_worked; }

written() {
  "$@" "$program" exec --policy "$policy" --audit "$base/log" --tool filesystem.write --args '{"path": "made", "text": "x"}'
}
written_worked() { [ "$(cat made)" = x ]; }

# Four runs of one engine, the last two of which share mounts.
series() { printf '%s\n' "$work" "$work" "$work" "$work" | "$@" "$HOSTS/host_series"; }
series_worked() { [ "$(uniq -c <"$base/out" | tr -d ' ')$(cat made)" = 4ranx ]; }

# An ordinary user, in a workspace of its own.
for_user "$ISORUN" "$(dirname "$ISORUN")/isorun-starved"
by_user() {
  (cd "$base/own" && setpriv --reuid $user --regid $user --clear-groups "$@" "$base/tools/${program##*/}" \
    run --cgroup optional --timeout 20s -- sh -c "$work")
}
by_user_worked() { [ "$(cat "$base/out")$(cat "$base/own/made")" = ranx ]; }

# --- the verdict

# try SCENE PREFIX…: run it once and say on a line what was wrong with that, if anything was.
try() {
  scene=$1
  shift
  rm -f made "$base/own/made" "$receipt_file"
  "$scene" timeout -k 1 40 "$@" >"$base/out" 2>"$base/err" </dev/null
  code=$?
  if [ $code = 124 ] || [ $code = 137 ]; then
    echo 'hangs'
  elif [ $code -ge 128 ]; then
    echo "crashes with $code"
  elif [ $code = 0 ]; then
    "${scene}_worked" 2>/dev/null || echo 'success without its work'
  elif ! [ -s "$base/err" ] && ! [ -s "$receipt_file" ] && ! jq -e .error <"$base/out" >/dev/null 2>&1; then
    echo "exit $code without a word"
  fi
}

# judge NAME: the lines of wrongs in $base/wrong, $tried of them tried.
judge() {
  is "$1: $tried faults, each ends in the truth" "$(cat "$base/wrong")" ''
  sleep 2.2
  "$ISORUN" gc 2>/dev/null
  is "$1: nothing is left" "$(cgroups_left) $(processes_left) $(wc -l </proc/self/mountinfo)" "0 0 $mounts_before"
}

# --- system calls

errors='EINTR ENOMEM EMFILE ENOSPC EPERM EAGAIN'

# Errors that a call cannot have, or that mean nothing but "again" there, and the start of the C library, which
# is not isorun's.
meaningless() {
  case $1:$2 in
    arch_prctl:* | close:* | munmap:* | exit*:* | rt_sig*:* | poll:EAGAIN | futex:*) true ;;
    *) false ;;
  esac
}

# calls_of_isorun, calls_of_others: "NAME NUMBER" of every call in $base/trace. What the payload itself calls
# after its exec is not isorun's, and the same names are left out for the others.
calls_of_isorun() { sed -n "s/^$1 *//p" "$base/trace" | calls_made; }
calls_of_others() {
  awk -v main="$1" '$1 != main && match($2, /^[a-z0-9_]+\(/) {
      name = substr($2, 1, RLENGTH - 1)
      if (payload[$1]) theirs[name] = 1
      else if (name !~ /^(exit|exit_group|execve|wait4|close)$/) ours[name] = ours[name] < ++made[$1, name] ? made[$1, name] : ours[name]
      if (name == "execve") payload[$1] = 1
    }
    END { for (name in ours) if (!theirs[name]) for (i = 1; i <= ours[name]; i++) print name, i }' "$base/trace" | sort
}

# refuse NAME SCENE WHOSE STRACE-OPTION…: an error at every chosen call.
refuse() {
  name=$1 scene=$2 whose=$3
  shift 3
  rm -f made "$base/own/made"
  "$scene" strace -f -qq -o "$base/trace" >/dev/null 2>&1 </dev/null
  main=$(awk '{ print $1; exit }' "$base/trace")
  "calls_of_$whose" "$main" >"$base/calls"
  at_least "$name: there are calls to refuse" "$(wc -l <"$base/calls")" 5
  : >"$base/wrong"
  tried=0
  every_nth "$step" <"$base/calls" >"$base/chosen"
  while read -r call number; do
    for error in $errors; do
      meaningless "$call" "$error" && continue
      tried=$((tried + 1))
      wrong=$(try "$scene" strace "$@" -qq -o /dev/null -e "inject=$call:error=$error:when=$number")
      [ -z "$wrong" ] || echo "$call $number $error: $wrong" >>"$base/wrong"
    done
  done <"$base/chosen"
  judge "$name"
}

program=$ISORUN
if command -v strace >/dev/null; then
  refuse 'RUN-2 a run' plain isorun
  refuse 'RUN-2 what is between isorun and the payload' plain others -f
  refuse 'RUN-2 a captured run with a diff' captured isorun
  refuse 'RUN-2 a run at a terminal' terminal isorun
  refuse 'RUN-2 a terminal, between isorun and the payload' terminal others -f
  refuse 'RUN-2 a run with mounts and limits' furnished isorun
  refuse "RUN-2 a user's run" by_user isorun
  refuse "RUN-2 a user's run, between isorun and the payload" by_user others -f
  refuse 'RUN-2 runs that share mounts' series others -f
  refuse 'TOOL-1 a file written by a tool' written isorun
elif [ "$KERNEL" != vm ]; then
  skip 'system calls' 'there is no strace'
fi

# --- allocations

# starve NAME SCENE: each chosen allocation fails, alone, and with all that come after it.
starve() {
  name=$1 scene=$2
  rm -f made "$base/own/made"
  "$scene" env ISORUN_STARVE=0 >/dev/null 2>"$base/err" </dev/null
  total=$(sed -n 's/^allocations: //p' "$base/err")
  at_least "$name: there are allocations to refuse" "${total:-0}" 20
  : >"$base/wrong"
  tried=0
  for number in $(seq "${total:-0}" | every_nth "$step"); do
    for orders in "$number" "$number+"; do
      tried=$((tried + 1))
      wrong=$(try "$scene" env ISORUN_STARVE="$orders")
      [ -z "$wrong" ] || echo "allocation $orders: $wrong" >>"$base/wrong"
    done
  done
  judge "$name"
}

program=$(dirname "$ISORUN")/isorun-starved
for scene in plain captured terminal furnished by_user written; do
  starve "RUN-2 without memory: $scene" $scene
done

finish
