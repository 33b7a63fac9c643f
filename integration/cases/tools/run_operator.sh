#!/bin/sh
# Files that the operator names, and what stands there when they are opened or written. Nothing of his is destroyed, and
# nothing that a payload has put there is obeyed.
. "${0%/cases/*}/lib.sh"

operator=$base/operator
mkdir "$operator"

# receipt_to NAME: a run whose receipt goes there.
receipt_to() {
  "$ISORUN" run --receipt "$1" -- touch ran 2>"$base/err"
}

# --- F001: what exists and is no regular file is written into, or refused
if [ "$(id -u)" = 0 ]; then
  mknod "$operator/null" c 1 3
  mknod "$operator/disk" b 7 99
  receipt_to "$operator/null"
  is 'F001 a receipt to a device is written into it' "$? $(stat -c %F "$operator/null")" '0 character special file'
  rm -f ran
  receipt_to "$operator/disk"
  is 'F001 a disk is no place for one, and nothing runs' "$? $(stat -c %F "$operator/disk") $(ls ran 2>/dev/null)" '125 block special file '
fi
"$ISORUN" run --receipt /dev/stdout -- true >"$base/out"
is 'F001 /dev/stdout that is a file' "$(jq -r .status <"$base/out")" completed
is 'F001 /dev/stdout that is a pipe' "$("$ISORUN" run --receipt /dev/stdout -- echo said | sed -n 1p)" said
{ echo before; "$ISORUN" run --receipt /dev/stdout -- true; } >"$base/out"
is 'F001 and what was written before stays' "$(sed -n 1p "$base/out")$(sed -n '$p' "$base/out" | jq -r .status)" 'beforecompleted'
is 'F001 /dev/stderr' "$("$ISORUN" run --receipt /dev/stderr -- true 2>&1 >/dev/null | jq -r .status)" completed
is 'F001 /dev/fd/N' "$("$ISORUN" run --receipt /dev/fd/5 -- true 5>&1 >/dev/null | jq -r .status)" completed
mkfifo "$operator/fifo"
rm -f ran
receipt_to "$operator/fifo"
is 'F001 a FIFO that nobody reads is refused, and nothing runs' "$? $(ls ran 2>/dev/null)" '125 '
contains 'F001 and says so' "$(cat "$base/err")" 'nobody reads this FIFO'
cat "$operator/fifo" >"$base/out" &
reader=$!
receipt_to "$operator/fifo"
code=$?
wait $reader
is 'F001 one that is read gets it' "$code $(jq -r .status <"$base/out") $(stat -c %F "$operator/fifo")" '0 completed fifo'
echo old >"$operator/target"
ln -s target "$operator/link"
ln -s nowhere "$operator/dangling"
receipt_to "$operator/link"
is 'F001 a link keeps leading to its file' "$? $(readlink "$operator/link") $(jq -r .status <"$operator/target")" '0 target completed'
receipt_to "$operator/dangling"
is 'F001 a link that leads nowhere is refused' "$? $(readlink "$operator/dangling")" '125 nowhere'
receipt_to "$operator"
is 'F001 a directory is refused' "$? $(stat -c %F "$operator")" '125 directory'
mkfifo fifo
ln -s "$operator/target" planted
for name in fifo planted; do
  kind=$(stat -c %F $name)
  rm -f ran
  receipt_to $name
  is "F001 in the workspace a $kind may be a payload's: refused" "$? $(stat -c %F $name) $(ls ran 2>/dev/null)" "125 $kind "
done
"$ISORUN" run --receipt own -- mkfifo own
is 'F001 what a payload puts there meanwhile is replaced' "$? $(jq -r .status <own)" '0 completed'
rm -f fifo planted own
"$ISORUN" run --receipt fd:3 --stdin /dev/null -- true 3>&- 2>"$base/err"
is 'F001 a number that only isorun itself has open is no descriptor' "$? $(grep -c 'no open descriptor' "$base/err")" '125 1'

# --- F003: a limit on the size of files
# limited BLOCKS COMMAND…: under a limit of so many KiB.
limited() {
  sh -c 'ulimit -f "$(($1 * 2))"; shift; exec "$@"' sh "$@" # dash counts blocks of 512 bytes
}
limited 4 "$ISORUN" run -- true 2>"$base/err"
is 'F003 a limit that leaves no room for isorun itself: an exit code and a message' "$? $(grep -c 'File too large' "$base/err")" '125 1'
contains 'F003 and the remedy' "$(cat "$base/err")" 'ulimit -f'
rm -f "$operator/receipt"
limited 100 "$ISORUN" run --receipt "$operator/receipt" --output-limit 1M -- head -c 200000 /dev/zero >/dev/null 2>"$base/err"
is 'F003 a receipt that is too large: told, and nothing half-written' "$? $(grep -c 'File too large' "$base/err") $(find "$operator" -name "*receipt*" | wc -l)" '125 1 0'
"$ISORUN" run --audit "$operator/log" -- true
seq=1
while [ "$(wc -c <"$operator/log")" -lt 101000 ]; do
  "$ISORUN" run --audit "$operator/log" -- true || break
  seq=$((seq + 1))
  [ $seq -lt 400 ] || break
done
printf '{"root": "%s", "permissions": ["READ"]}' "$workspace" >"$base/readers.json"
size=$(wc -c <"$operator/log")
limited $((size / 1024)) "$ISORUN" run --audit "$operator/log" -- true 2>"$base/err"
is 'F003 an audit log that may not grow: told, and it is as before' \
  "$? $(grep -c 'File too large' "$base/err") $(wc -c <"$operator/log") $("$ISORUN" audit verify "$operator/log" | grep -c intact)" "125 1 $size 1"
"$ISORUN" exec --policy "$base/readers.json" --tool filesystem.list --args '{"path": "."}' --audit "$operator/log" >"$base/out"
is 'F051 a tool call that is recorded' "$? $(jq -c '[.ok,.audit.recorded]' <"$base/out")" '0 [true,true]'
size=$(wc -c <"$operator/log")
limited $((size / 1024)) "$ISORUN" exec --policy "$base/readers.json" --tool filesystem.list --args '{"path": "."}' --audit "$operator/log" >"$base/out" 2>"$base/err"
is 'F051 and one that cannot be: an exit code, and the reason' \
  "$? $(jq -c '[.ok,.audit.recorded,(.audit.error|contains("File too large"))]' <"$base/out")" '125 [true,false,true]'
is 'F003 the command itself has the default action' "$(limited 100 "$ISORUN" run -- sh -c 'head -c 200000 /dev/zero >big'; echo $?)" 153
rm -f big

# --- F006: the files of file tools
printf '{"root": "%s", "permissions": ["READ", "WRITE"]}' "$workspace" >"$base/policy.json"
write() { "$ISORUN" exec --policy "$base/policy.json" --tool filesystem.write --args "$1" >"$base/out"; }
echo mine >.isorun-write-notes
echo mine >.isorun-write-00000000-1
cp .isorun-write-notes ".isorun-write-0123abcd-$(printf %x "$(stat -c %i .isorun-write-notes)")"
write '{"path": "new", "text": "x"}'
is "F006 a user's own files are not taken for ours" "$? $(cat .isorun-write-* | tr '\n' ' ')" '0 mine mine mine '
rm -f .isorun-write-*
echo left >left
ln left ".isorun-write-0123abcd-$(printf %x "$(stat -c %i left)")" && rm left
write '{"path": "newer", "text": "x"}'
is 'F006 what a killed write has left is' "$? $(find . -name ".isorun-write*" | wc -l)" '0 0'
write '{"path": "a/b/c/f", "text": "x", "expected_sha256": "0000000000000000000000000000000000000000000000000000000000000000"}'
is 'F006 a write that fails leaves no directories' "$? $(ls -d a 2>/dev/null)" '125 '
mkdir -p keep
write '{"path": "keep/b/.ssh/f", "text": "x"}'
is 'F006 nor does one that fails on its way, and what was there stays' "$? $(find keep)" '125 keep'
write '{"path": "keep/b/c/f", "text": "x"}'
is 'F006 F098 one that succeeds makes them, for the owner of the workspace' "$? $(stat -c '%a %u' keep/b keep/b/c | sort -u)" "0 755 $(stat -c %u .)"

# --- F007: what is no audit log
printf 'a note without an end' >"$operator/notes"
"$ISORUN" run --audit "$operator/notes" -- true 2>"$base/err"
is "F007 nobody's last line is cut off" "$? $(cat "$operator/notes")" '125 a note without an end'
contains 'F007 and the message says what is wrong' "$(cat "$base/err")" 'its last line is no record'
ln -s log "$operator/log-link"
"$ISORUN" run --audit "$operator/log-link" -- true 2>"$base/err"
contains 'F007 a log named by a link' "$? $(cat "$base/err")" '125 isorun: open the audit log'
contains 'F007 and that it is one' "$(cat "$base/err")" 'it is a symbolic link'

# --- F080: standard input by name
echo secret >"$base/secret"
chmod 600 "$base/secret"
ln -s "$base/secret" input
"$ISORUN" run --stdin input -- cat >"$base/out" 2>"$base/err"
is 'F080 a link that leads out of the workspace is not followed' "$? $(cat "$base/out")" '125 '
contains 'F080 and is told' "$(cat "$base/err")" 'leads out of'
rm input
mkfifo input
timeout 20 "$ISORUN" run --timeout 1s --stdin input -- cat >"$base/out" 2>"$base/err"
is 'F080 a FIFO is not waited for' "$? $(cat "$base/out")" '125 '
rm input
echo here >input
is 'F080 a file is read' "$("$ISORUN" run --stdin input -- cat)" here
is 'F080 a pipe without a name, too' "$(echo piped | "$ISORUN" run --stdin /dev/fd/0 -- cat)" piped
"$ISORUN" run --stdin . -- cat 2>"$base/err"
is 'F080 a directory is refused' "$? $(grep -c 'Is a directory' "$base/err")" '125 1'

# --- F002: what isorun obeys, or keeps its truth in, lies where no payload can write
mkdir "$base/data" "$base/data/below" "$base/elsewhere"
printf '{"root": "%s", "permissions": ["READ", "EXECUTE", "WRITE"], "mounts": [{"source": "%s", "mode": "rw"}]}' "$workspace" "$base/data" >"$base/mounts.json"
"$ISORUN" audit keygen "$base/key" >/dev/null
# refuses NAME TEXT OPTION…: `isorun exec` with these options says TEXT and does nothing.
refuses() {
  name=$1 text=$2
  shift 2
  "$ISORUN" exec --tool filesystem.list --args '{"path": "."}' "$@" >"$base/out" 2>"$base/err"
  is "F002 $name: refused" "$? $(grep -c "$text" "$base/err")" '125 1'
}
for place in "$workspace" "$base/data" "$base/data/below"; do
  cp "$base/mounts.json" "$place/policy.json"
  refuses "a policy in $(basename "$place")" 'use the policy' --policy "$place/policy.json"
  rm "$place/policy.json"
  refuses "an audit log in $(basename "$place")" 'use the audit log' --policy "$base/mounts.json" --audit "$place/log"
  is "F002 and it is not made" "$(ls "$place/log" 2>/dev/null)" ''
  refuses "a state directory in $(basename "$place")" 'use the state directory' --policy "$base/mounts.json" --state "$place/state"
  is "F002 and it is not made either" "$(ls -d "$place/state" 2>/dev/null)" ''
  refuses "an authority's socket in $(basename "$place")" "use the authority's socket" --policy "$base/mounts.json" --authority "unix:$place/socket"
  cp "$base/key" "$place/key"
  refuses "a key in $(basename "$place")" 'use the key' --policy "$base/mounts.json" --audit "$base/log2" --audit-key "$place/key"
  rm "$place/key"
done
timeout 20 "$ISORUN" authority --policy "$base/mounts.json" --socket "$base/data/socket" 2>"$base/err"
is 'F002 nor does an authority listen there' "$? $(ls "$base/data")" '125 below'
mkdir "$base/data/real"
ln -s "$base/data/real" "$base/state-link"
refuses 'a state directory behind a link' 'use the state directory' --policy "$base/mounts.json" --state "$base/state-link"
if [ "$(id -u)" = 0 ]; then
  for name in policy log key; do
    case $name in
      policy) cp "$base/mounts.json" "$base/twice" && set -- --policy "$base/twice" ;;
      log) : >"$base/twice" && set -- --policy "$base/mounts.json" --audit "$base/twice" ;;
      key) cp "$base/key" "$base/twice" && set -- --policy "$base/mounts.json" --audit "$base/log2" --audit-key "$base/twice" ;;
    esac
    ln "$base/twice" twice
    refuses "a $name with another name in the workspace" 'another name as well' "$@"
    rm "$base/twice" twice
  done
fi
"$ISORUN" run --rw "$base/data" --audit "$base/data/log" -- touch ran 2>"$base/err"
is 'F002 what --rw makes writable is such a place, too' "$? $(grep -c 'lies in a writable mount' "$base/err")" '125 1'

# --- F082: links in what an earlier run could write
ln -s "$base/elsewhere" "$base/data/out"
rm -f ran
for options in "--rw $base/data --rw $base/data/out" "--rw $base/data/out --rw $base/data" "--rw $base/data --ro $base/data/out" \
  "--rw $base/data --workspace $base/data/out" "--rw $base/data --rootfs $base/data/out" "--rw $base/data --receipt $base/data/out/receipt" \
  "--rw $base/data --stdin $base/data/out/input"; do
  # shellcheck disable=SC2086
  "$ISORUN" run $options -- touch ran 2>"$base/err"
  is "F082 $(echo "$options" | sed "s,$base/,,g"): refused" "$? $(grep -c 'leads out of' "$base/err") $(ls -A "$base/elsewhere"; ls ran 2>/dev/null)" "125 1 "
done
is 'F082 nested places without links are fine' "$("$ISORUN" run --rw "$base/data" --rw "$base/data/below" -- sh -c "touch $base/data/below/made && echo yes")" yes

finish
