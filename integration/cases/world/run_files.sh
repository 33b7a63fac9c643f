#!/bin/sh
# Mounts: what is bound, what is hidden, and that the host is left as it was.
. "${0%/cases/*}/lib.sh"

mkdir "$base/ro" "$base/rw" "$base/other"
echo content >"$base/ro/file"

run -- sh -c 'mkdir d; echo x >d/f; rm -r d; echo kept >f'
is 'RUN-1 the workspace is written through' "$(cat f)" kept
run --workspace-mode ro -- sh -c 'cat f; echo no >f'
is '--workspace-mode ro' "$out $(cat f)" 'kept kept'
contains '--workspace-mode ro: as an error' "$err" 'Read-only file system'

run --ro "$base/ro" -- sh -c "cat $base/ro/file; echo x >$base/ro/file"
is '--ro PATH: readable, not writable' "$out $(cat "$base/ro/file")" 'content content'
run --ro "$base/ro:/opt/there" -- cat /opt/there/file
is '--ro PATH:DEST' "$out" content
run --ro "$base/ro/file:/etc/motd" -- cat /etc/motd
is '--ro of a file' "$out" content
run --rw "$base/rw" -- sh -c "echo made >$base/rw/new"
is '--rw PATH: writable, with the owner kept' "$(cat "$base/rw/new") $(stat -c %u "$base/rw/new")" 'made 0'
run --tmpfs /srv/scratch:1M -- sh -c 'echo x >/srv/scratch/f && head -c 2M /dev/zero >/srv/scratch/g; df -k /srv/scratch | tail -1 | tr -s " " | cut -d" " -f2'
is '--tmpfs DEST:SIZE' "$out" 1024
run --hide /usr/share --hide "$workspace/f" -- sh -c 'ls /usr/share; cat f'
contains '--hide PATH: a directory' "$err" "cannot open directory '/usr/share'"
contains '--hide PATH: a file' "$err" 'f: Permission denied'

run --hide "$base" -- true
is 'T107 hiding a parent of the workspace is refused' "$code" 125
run --ro "$base/ro:/" -- true
is 'a mount over the root is refused' "$code" 125
run --ro "$base/ro:/proc/x" -- true
is 'a mount in /proc is refused' "$code" 125
run --ro "$base/ro:/opt/../etc" -- true
is 'a target with .. is refused' "$code" 125

# T101: nothing is created on the host for a missing target below a bind.
run --ro "$base/ro:$workspace/missing" -- true
is 'T101 a target that is missing in the workspace: refused' "$code $(field .status)" '125 launch_failed'
contains 'T101 and the message says which mount' "$err" "$workspace/missing"
is 'T101 DIFF-6 no stub is left' "$(ls missing 2>/dev/null)" ''
run --ro "$base/ro:/usr/isorun-missing" -- true
is 'T101 a target that is missing in a system directory: refused' "$code $(ls /usr/isorun-missing 2>/dev/null)" '125 '

# T102: a target that is a link, planted by an earlier payload
ln -s "$base/other" link
run --ro "$base/ro:$workspace/link" -- true
is 'T102 a target that is a link is refused, not followed' "$code" 125
mkdir real
ln -s real way
run --ro "$base/ro:$workspace/way/x" -- true
is 'T102 a link on the way to a target is refused' "$code" 125

# T08: the workspace below /tmp, which is private
run -- sh -c 'pwd; ls -d /tmp/*'
is 'T08 a workspace below /tmp keeps its place, and only that shows' "$(echo "$out" | tr '\n' ' ')" \
  "$workspace $base "

# A workspace reached by a link is its canonical self.
ln -s "$workspace" "$base/alias"
run --workspace "$base/alias" -- pwd
is 'a workspace named by a link' "$out" "$workspace"

# A given root: a static program, its own /etc, and traps where our places are.
mkdir -p "$base/root/bin" "$base/root/etc" "$base/root/$base" "$base/root/empty"
cp "$PROBES/probe_world" "$PROBES/probe_hostile" "$base/root/bin"
echo 'their:x:0:0::/:/bin/sh' >"$base/root/etc/passwd"
ln -s "$base/other" "$base/root/dev"
ln -s "$base/other" "$base/root/tmp"
run --rootfs "$base/root" -- /bin/probe_world
is '--rootfs DIR: runs' "$code$err" 0
contains '--rootfs DIR: is read-only' "$out" 'open /etc/isorun-was-here EROFS'
contains '--rootfs DIR: has our /dev, not what a link points at' "$out" 'open /dev/null ok'
is '--rootfs DIR: nothing was made through its links' "$(ls -A "$base/other")" ''
is '--rootfs DIR: nothing was made in it' "$(find "$base/root" | wc -l)" \
  "$(printf '%s\n' . bin bin/a bin/b etc etc/passwd empty dev tmp "$base" | wc -l | awk -v p="$base" '{ n = split(p, x, "/"); print $1 + n - 2 }')"
run --rootfs /no/such/root -- true
is '--rootfs: missing is refused' "$code $(field .status)" '125 invalid'

# A file system with a mount below it: recursive read-only (T103)
if [ "$(id -u)" = 0 ]; then
  mkdir "$base/ro/below"
  mount -t tmpfs tmpfs "$base/ro/below"
  run --ro "$base/ro" -- sh -c "touch $base/ro/below/x"
  contains 'T103 a mount below a read-only bind is read-only too' "$err" 'Read-only file system'
  umount "$base/ro/below"
fi

# Links in the workspace, which an earlier command can have left where the operator expects a directory.
mkdir "$base/elsewhere" inside inside/deeper
echo "{}" >"$base/elsewhere/profile"
ln -s "$base/elsewhere" planted
ln -s inside linked
for options in '--rw ./planted:/srv/there' "--ro $workspace/planted:/srv/there" '--ro inside/../planted:/srv/there' \
  '--rootfs planted' '--receipt planted/receipt' '--audit planted/log' '--seccomp planted/profile'; do
  # shellcheck disable=SC2086
  "$ISORUN" run $options -- touch /srv/there/made 2>"$base/err"
  is "escapes-3 T134 $options, a link out of the workspace, is refused" \
    "$? $(grep -c 'a link there is absolute or leads out\|it lies in the workspace' "$base/err") $(ls "$base/elsewhere")" '125 1 profile'
done
run --rw ./linked:/srv/there --ro "../elsewhere:/srv/outside" --ro "./../$(basename "$workspace")/inside:/srv/inside" \
  -- touch /srv/there/made
is 'a link that stays in the workspace, and paths that lead out by their words, are taken' "$code$err $(ls inside)" '0 deeper
made'
rm -r planted linked inside

# A workspace that is replaced between plan and mount cannot be tested without a race; what can is
# that a deleted one is refused.
mkdir "$base/gone"
(cd "$base/gone" && rmdir "$base/gone" && "$ISORUN" run -- true 2>"$base/err")
is 'a deleted current directory is refused' "$?" 125

is 'plan: prints what would run, and nothing runs' \
  "$("$ISORUN" plan --memory 64M --timeout 5s -- touch ran | jq -c '[.schema,.command.argv,.world.limits.memory_bytes,.command.limits.wall_ms]') $(ls ran 2>/dev/null)" \
  '["isorun.plan/2",["touch","ran"],67108864,5000] '
# digest EXPRESSION [OPTION…]: what a plan says, or the SHA-256 of a part of it.
digest() {
  expression=$1
  shift
  "$ISORUN" plan "$@" -- true | command jq -r -c -j "$expression" | case $expression in
    *_sha256) cat ;;
    *) sha256sum | cut -d' ' -f1 ;;
  esac
}
for part in world command; do
  is "plan: the digest of the $part is that of its text" "$(digest ".${part}_sha256")" "$(digest ".$part")"
done
is 'plan: another limit of time is another command in the same world' \
  "$([ "$(digest .world_sha256)" = "$(digest .world_sha256 --timeout 5s)" ] && echo same) $([ "$(digest .command_sha256)" = "$(digest .command_sha256 --timeout 5s)" ] || echo other)" 'same other'
is 'plan: another limit of memory is the same command in another world' \
  "$([ "$(digest .command_sha256)" = "$(digest .command_sha256 --memory 64M)" ] && echo same) $([ "$(digest .world_sha256)" = "$(digest .world_sha256 --memory 64M)" ] || echo other)" 'same other'
run -- true
is 'the receipt names the digest of that plan' "$(field .plan_sha256)" \
  "$("$ISORUN" plan -- true | tr -d '\n' | sha256sum | cut -d' ' -f1)"

"$ISORUN" doctor >"$base/out"
is 'doctor says that it works here' "$?" 0
"$ISORUN" doctor --json >"$base/out"
is 'doctor --json' "$? $(jq -c '[.schema,.usable,(.checks|length)]' <"$base/out")" '0 ["isorun.doctor/1",true,11]'
contains 'help lists every option' "$("$ISORUN" help run)" '--workspace-mode rw|ro'
for command in run plan exec bash explain authority audit doctor gc completion help; do
  is "$command --help is help $command" "$("$ISORUN" $command --help 2>&1)" "$("$ISORUN" help $command)"
done
"$ISORUN" completion bash >"$base/completion"
# offers WORD…: what bash would offer for the last one
offers() {
  bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _isorun; echo "${COMPREPLY[@]}"' "$base/completion" "$@"
}
is 'completion: commands' "$(offers isorun d)" doctor
is 'completion: options' "$(offers isorun run --workspace-)" '--workspace-mode'
is 'completion: choices' "$(offers isorun run --detached '')" 'kill wait'
contains 'completion: the command after --' "$(offers isorun run -- prin)" printf
"$ISORUN" completion tcsh 2>/dev/null
is 'completion: an unknown shell' "$?" 125
contains '--version' "$("$ISORUN" --version)" 'isorun 0.'
"$ISORUN" frobnicate 2>"$base/err"
is 'an unknown command' "$? $(head -1 "$base/err")" '125 isorun: there is no command "frobnicate"'

finish
