#!/bin/sh
# The tools under a policy, as `isorun exec` calls them.
. "${0%/cases/*}/lib.sh"

# policy MEMBERS: write the policy file; the workspace is its root.
policy() {
  printf '{"root": "%s"%s}\n' "$workspace" "${1:+, $1}" >"$base/policy.json"
}
# call TOOL ARGUMENTS [OPTION…]: sets code, receipt, output, error.
call() {
  tool=$1 arguments=$2
  shift 2
  "$ISORUN" exec --policy "$base/policy.json" --tool "$tool" --args "$arguments" "$@" >"$base/receipt" 2>"$base/err"
  code=$?
  receipt=$(cat "$base/receipt")
  output=$(field .output)
  error=$(field .error)
  if [ -n "${RECEIPTS:-}" ]; then
    cp "$base/receipt" "$RECEIPTS/$(basename "$0" .sh)-$count.json"
  fi
}
sum() { sha256sum "$1" | cut -c1-64; }
everything='"permissions": ["READ", "WRITE", "EXECUTE"]'

# --- reading and listing

policy
printf 'text \303\251\n' >file
call filesystem.read '{"path": "file"}'
is 'TOOL-3 a text file is read' "$code $output $(field .output_sha256)" "0 text é $(sum file)"
call filesystem.read '{"path": "./sub/../file"}'
is 'PATH-2 a component that is not there is not skipped' "$code $(field .status)" '125 failed'
mkdir sub
call filesystem.read '{"path": "sub/../file"}'
is 'PATH-2 dots that stay inside are fine' "$code" 0
printf '\377\n' >binary
call filesystem.read '{"path": "binary"}'
contains 'TOOL-3 what is not UTF-8 is an error' "$error" 'is not UTF-8 text'
policy '"max_file_bytes": 10, "output_limit": 4'
printf 0123456789 >ten
printf 0123456789a >eleven
call filesystem.read '{"path": "eleven"}'
is 'TOOL-3 one byte too long' "$code $error" '125 Denied: File exceeds configured read limit'
call filesystem.read '{"path": "ten"}'
is 'TOOL-3 the receipt holds the start, and the digest of all' \
  "$output $(field .truncated) $(field .output_sha256)" "0123 true $(sum ten)"
policy
for path in /etc/passwd '' a:b C:/x; do
  call filesystem.read "{\"path\": \"$path\"}"
  is "PATH-1 \"$path\"" "$code $error" '125 Denied: Only relative workspace paths are accepted'
done
call filesystem.read '{"path": "a\u0000b"}'
is 'PATH-1 a NUL' "$code $error" '125 Denied: Only relative workspace paths are accepted'
ln -s /etc/passwd absolute-link
ln -s ../policy.json relative-link
ln -s sub dir-link
ln -s /proc/self/root magic
echo inner >sub/inner
for path in ../policy.json sub/../../policy.json absolute-link relative-link magic/etc/passwd dir-link/../../policy.json; do
  call filesystem.read "{\"path\": \"$path\"}"
  is "PATH-2 $path" "$code $error" '125 Denied: Path escapes workspace'
done
call filesystem.read '{"path": "dir-link/inner"}'
is 'PATH-2 a link that stays inside is followed' "$code $output" '0 inner'
mkdir .git private .Cache
echo secret >.git/config
echo secret >private/key
echo secret >.env.local
ln -s .git/config innocent
ln -s private other
for path in .git/config .GIT/config private/key Private/key .env.local innocent other/key; do
  call filesystem.read "{\"path\": \"$path\"}"
  is "PATH-3 $path" "$code $error" '125 Denied: Private or control path is excluded'
done
policy '"private_names": ["sub"]'
call filesystem.read '{"path": "dir-link/inner"}'
is 'PATH-3 the list can be extended, and a link does not get around it' "$code $error" '125 Denied: Private or control path is excluded'
policy
mkfifo fifo
for path in fifo sub; do
  call filesystem.read "{\"path\": \"$path\"}"
  contains "PATH-4 $path is refused and not waited for" "$error" 'Only regular files'
done
call filesystem.list '{"path": "."}'
is 'TOOL-4 sorted, directories with a slash, private names and links to the outside left out' \
  "$(printf '%s' "$output" | jq -c '[.[] | select(startswith("probe_") | not)]')" \
  '["binary","dir-link/","eleven","fifo","file","sub/","ten"]'
mkdir thousand
(cd thousand && seq -w 1 1001 | xargs touch)
policy '"output_limit": 100000'
call filesystem.list '{"path": "thousand"}'
is 'TOOL-4 at most 1000' "$(printf '%s' "$output" | jq length) $(field .truncated)" '1000 true'
rm thousand/0001
call filesystem.list '{"path": "thousand"}'
is 'TOOL-4 exactly 1000' "$(printf '%s' "$output" | jq length) $(field .truncated)" '1000 false'
rm -r thousand
touch "$(printf 'odd\nname')"
call filesystem.list '{"path": "."}'
is 'TOOL-4 any name survives' "$(printf '%s' "$output" | jq 'index("odd\nname") != null')" true
rm -f "$(printf 'odd\nname')"

# --- writing

policy "$everything, \"max_file_bytes\": 100"
call filesystem.write '{"path": "new/deep/file", "text": "one\n"}'
is 'TOOL-5 created, with its parents' "$code $(cat new/deep/file) $output" \
  "0 one {\"path\":\"new/deep/file\",\"sha256\":\"$(sum new/deep/file)\",\"bytes\":4}"
call filesystem.write '{"path": "new/deep/file", "text": "two\n"}'
is 'TOOL-5 an existing file needs its digest' "$code $error $(cat new/deep/file)" \
  '125 Invalid: Existing files require matching expected_sha256 one'
call filesystem.write "{\"path\": \"new/deep/file\", \"text\": \"two\", \"expected_sha256\": \"$(sum file)\"}"
is 'TOOL-5 the right one' "$error $(cat new/deep/file)" 'Invalid: Existing files require matching expected_sha256 one'
chmod 750 new/deep/file
call filesystem.write "{\"path\": \"new/deep/file\", \"text\": \"two\", \"expected_sha256\": \"$(sum new/deep/file)\"}"
is 'TOOL-5 replaced, with its mode' "$code $(cat new/deep/file) $(stat -c %a new/deep/file)" '0 two 750'
call filesystem.write "{\"path\": \"absent\", \"text\": \"x\", \"expected_sha256\": \"$(sum file)\"}"
is 'TOOL-5 a digest of a file that is not there' "$code $error" '125 Invalid: Expected an existing file'
call filesystem.write '{"path": "new/../../escaped", "text": "x"}'
is 'TOOL-5 PATH-2 nothing is written outside' "$error $(ls "$base/escaped" 2>/dev/null)" 'Denied: Path escapes workspace '
ln -s "$base/planted" dangling
call filesystem.write '{"path": "dangling", "text": "x"}'
is 'TOOL-5 PATH-2 nor through a dangling link' "$code $(ls "$base/planted" 2>/dev/null)" '125 '
call filesystem.write '{"path": "new/.ssh/authorized_keys", "text": "x"}'
is 'PATH-3 nor to a private name' "$error $(ls new/.ssh 2>/dev/null)" 'Denied: Private or control path is excluded '
call filesystem.write '{"path": "fifo", "text": "x"}'
contains 'PATH-4 nor to a FIFO' "$error" 'Only regular files'
call filesystem.write '{"path": "long", "text": "'"$(printf '%0101d' 0)"'"}'
is 'POL-2 nor more than max_file_bytes' "$error" 'Denied: File exceeds configured write limit'
policy "$everything"
if [ "$(id -u)" = 0 ]; then
  mkdir theirs
  chown $user:$user theirs
  policy_root=$workspace
  workspace=$workspace/theirs policy "$everything"
  call filesystem.write '{"path": "sub/file", "text": "x"}'
  is 'TOOL-5 what root writes belongs to the owner of the workspace' "$(stat -c %u theirs/sub theirs/sub/file | tr '\n' ' ')" "$user $user "
  workspace=$policy_root
  policy "$everything"
fi

# A full disk: the old file stays whole, and no other is left.
if [ "$(id -u)" = 0 ]; then
  mkdir small
  mount -t tmpfs -o size=64k tmpfs small
  printf old >small/file
  head -c 40000 /dev/zero | tr '\0' x >small/filler
  call filesystem.write "{\"path\": \"small/file\", \"expected_sha256\": \"$(sum small/file)\", \"text\": \"$(printf '%060000d' 0)\"}"
  is 'TOOL-5 a full disk' "$code $(cat small/file) $(find small -type f | sort | tr '\n' ' ')" '125 old small/file small/filler '
  contains 'TOOL-5 a full disk: and it is said' "$error" 'No space left on device'
  umount small
fi

# Eight writers, each reading, counting up and swapping: no count is lost.
printf 0 >counter
for writer in 1 2 3 4 5 6 7 8; do
  (
    done=0
    while [ $done -lt 10 ]; do
      value=$("$ISORUN" exec --policy "$base/policy.json" --tool filesystem.read --args '{"path": "counter"}' | jq -r .output)
      digest=$(printf %s "$value" | sha256sum | cut -c1-64)
      "$ISORUN" exec --policy "$base/policy.json" --tool filesystem.write --args \
        "{\"path\": \"counter\", \"text\": \"$((value + 1))\", \"expected_sha256\": \"$digest\"}" >/dev/null && done=$((done + 1))
    done
  ) &
done
wait
is 'TOOL-6 eight writers that compare and swap lose nothing' "$(cat counter)" 80
# Eight that create: one wins.
for writer in 1 2 3 4 5 6 7 8; do
  "$ISORUN" exec --policy "$base/policy.json" --tool filesystem.write --args "{\"path\": \"first\", \"text\": \"$writer\"}" \
    >"$base/first.$writer" &
done
wait
is 'TOOL-6 of eight creators exactly one succeeds' "$(cat "$base"/first.* | jq -s '[.[] | select(.ok)] | length')" 1

# An attacker who swaps the path while it is read and written.
echo canary >"$base/canary"
before=$(stat -c '%i %Y %a %u %s' "$base/canary")
./probe_swap target "$base/canary" 6000 &
swapper=$!
leaks=0 tries=0
while kill -0 $swapper 2>/dev/null; do
  call filesystem.read '{"path": "target"}'
  case $receipt in *canary* | *root:*) leaks=$((leaks + 1)) ;; esac
  call filesystem.write '{"path": "target", "text": "written"}'
  call filesystem.write '{"path": "target/below", "text": "written"}'
  call filesystem.list '{"path": "target"}'
  case $receipt in *shadow* | *passwd*) leaks=$((leaks + 1)) ;; esac
  tries=$((tries + 1))
done
[ "$KERNEL" = native ] && fewest=10 || fewest=1
at_least 'PATH-2 the swapping attacker was tried' "$tries" "$fewest"
is 'PATH-2 a swapping attacker gets nothing out' "$leaks" 0
is 'PATH-2 and nothing changed outside' "$(stat -c '%i %Y %a %u %s' "$base/canary") $(cat "$base/canary")" "$before canary"
rm -rf target .swap-made

# SIGKILL at every system call of a write: the old or the new content, never a mixture.
if command -v strace >/dev/null; then
  printf old-content >victim
  arguments="{\"path\": \"victim\", \"text\": \"new-content\", \"expected_sha256\": \"$(sum victim)\"}"
  strace -qq -o "$base/trace" "$ISORUN" exec --policy "$base/policy.json" --tool filesystem.write --args "$arguments" >/dev/null
  mixtures=0 kills=0
  calls_made <"$base/trace" >"$base/calls"
  while read -r name number; do
    printf old-content >victim
    strace -qq -o /dev/null -e "inject=$name:signal=KILL:when=$number" "$ISORUN" exec --policy "$base/policy.json" \
      --tool filesystem.write --args "$arguments" >/dev/null 2>&1
    case $(cat victim) in
      old-content | new-content) ;;
      *) mixtures=$((mixtures + 1)) ;;
    esac
    kills=$((kills + 1))
  done <"$base/calls"
  is 'TOOL-6 killed at every system call: never a mixture' "$mixtures" 0
  at_least 'TOOL-6 which were many' "$kills" 60
  call filesystem.write '{"path": "after", "text": "x"}'
  is 'TOOL-5 the next writer leaves no temporary file of a killed one' "$(find . -name '.isorun-write*' | wc -l)" 0
else
  [ "$KERNEL" = vm ] || skip 'TOOL-6 killed at every system call' 'there is no strace'
fi

# --- commands

policy '"permissions": ["EXECUTE"], "timeout_seconds": 2, "output_limit": 10, "commands": {
  "both": ["sh", "-c", "echo out; echo err >&2; exit 3"], "long": ["sh", "-c", "echo 0123456789abcdef"],
  "sleep": ["sleep", "60"], "quoted": ["printf", "%s|", "a b", "$HOME", "*", "-x"],
  "write": ["sh", "-c", "echo x >made"], "missing": ["no-such-program"], "orphan": ["sh", "-c", "sleep 60 & echo hi"]}'
call shell.exec '{"command": "both"}'
is 'TOOL-7 RUN-8 both streams as one; the exit code' "$code $(field .status) $error $(echo "$output" | tr '\n' ' ')" \
  '3 failed CommandFailed: Command exited 3 out err '
call shell.exec '{"command": "long"}'
is 'RUN-5 the first output_limit bytes' "$output $(field .truncated)" '0123456789 true'
is 'TOOL-3 and the digest of all of it' "$(field .output_sha256)" "$(echo 0123456789abcdef | sha256sum | cut -c1-64)"
call shell.exec '{"command": "quoted"}'
is 'TOOL-7 exactly that argv, without a shell' "$output" 'a b|$HOME|'
call shell.exec '{"command": "sleep"}'
is 'RUN-7 timeout_seconds is the wall limit' "$code $(field .status)" '124 timed_out'
call shell.exec '{"command": "orphan"}'
is 'RUN-7 detached descendants are killed and counted' "$(field .status) $output $(field '.usage.survivors_killed > 0')" 'completed hi true'
call shell.exec '{"command": "write"}'
is 'without WRITE the workspace is read-only' "$code $(ls made 2>/dev/null)" '2 '
call shell.exec '{"command": "missing"}'
is 'a program that is not there' "$code $(field .status)" '127 launch_failed'
call shell.exec '{"command": "echo hi"}'
is 'TOOL-7 a command line is no name' "$code $error" '125 Denied: Command is not configured by the owner'
call shell.erase '{}'
is 'TOOL-1 an unknown tool' "$code $error $(field .tool)" '125 Invalid: Unknown tool unknown'
call filesystem.read '{"path": "file"}'
is 'TOOL-1 a class that is not granted' "$code $(field .status) $error" '125 denied Denied: Required permission is disabled'
call shell.exec '{"command": "both", "shell": true}'
contains 'TOOL-1 another property' "$error" '$.shell: nothing of this name is known'
is 'RCPT-1 a refused call has a receipt, too' "$(field '[.schema,.ok,.exit_code,.status,(.id|length)]')" \
  '["isorun.receipt/1",false,null,"invalid",32]'
is 'TOOL-2 the list' "$("$ISORUN" exec --policy "$base/policy.json" --list | jq -c '[.[].name]')" '["shell.exec","host.bash"]'

# --- call ids

policy "$everything, \"commands\": {\"count\": [\"sh\", \"-c\", \"echo x >>runs; sleep 0.5; wc -l <runs\"]}"
state="--state $base/state"
# shellcheck disable=SC2086
call shell.exec '{"command": "count"}' --call-id one $state
first=$receipt
# shellcheck disable=SC2086
call shell.exec '{"command": "count"}' --call-id one $state
is 'RCPT-2 the same id and call: the first receipt, nothing runs again' "$code $(wc -l <runs) $receipt" "0 1 $first"
# shellcheck disable=SC2086
call filesystem.read '{"path": "file"}' --call-id one $state
is 'RCPT-2 the same id and another call' "$code $error" '125 Invalid: Idempotency key reused for different operation'
for writer in 1 2 3 4 5 6 7 8; do
  # shellcheck disable=SC2086
  "$ISORUN" exec --policy "$base/policy.json" --tool shell.exec --args '{"command": "count"}' --call-id two $state \
    >"$base/two.$writer" &
done
wait
is 'RCPT-2 concurrent duplicates run once' "$(wc -l <runs) $(sort -u "$base"/two.* | wc -l)" '2 1'
# shellcheck disable=SC2086
"$ISORUN" exec --policy "$base/policy.json" --tool shell.exec --args '{"command": "count"}' --call-id three $state >/dev/null &
pid=$!
sleep 0.3
kill -KILL $pid
wait $pid 2>/dev/null
# shellcheck disable=SC2086
call shell.exec '{"command": "count"}' --call-id three $state
contains 'RCPT-2 a call that was interrupted is not run again' "$error" 'was interrupted'
is 'RCPT-2 and its command did not run twice' "$(wc -l <runs)" 3
sleep 2.2
"$ISORUN" gc 2>/dev/null

# --- git, which the test machine does not have

if command -v git >/dev/null; then
  rm -rf ./* .git .env.local .Cache private
  git_as() { git -c user.name=x -c user.email=x@x -c init.defaultBranch=main "$@"; }
  git_as init -q .
  printf 'one\n' >tracked
  printf 'a=1\n' >.env
  git add -f tracked .env
  git_as commit -qm one
  printf 'two\n' >>tracked
  printf 'a=2\n' >.env
  policy '"permissions": ["READ", "EXECUTE"]'
  call git.diff '{}'
  contains 'TOOL-8 what changed' "$code $output" '+two'
  is 'PATH-3 private names are not in it' "$(echo "$output" | grep -c 'a=2')" 0

  # Everything that a repository can make git run.
  # It says so, and whoever runs it does not survive that.
  printf '#!/bin/sh\necho EVIL-RAN\necho ran >>%s/evil-ran\nkill -9 $PPID\n' "$base" >evil
  chmod +x evil
  evil=$workspace/evil
  git config core.fsmonitor "$evil"
  git config core.pager "$evil"
  git config pager.diff "$evil"
  git config diff.external "$evil"
  git config diff.bad.textconv "$evil"
  git config diff.bad.command "$evil"
  git config filter.bad.clean "$evil"
  git config filter.bad.process "$evil"
  git config filter.bad.required true
  git config alias.diff "!$evil"
  git config core.hooksPath "$workspace/hooks"
  git config core.sshCommand "$evil"
  git config core.editor "$evil"
  git config include.path "$workspace/included"
  git config core.attributesFile "$workspace/attributes"
  printf '[core]\n\tfsmonitor = %s\n' "$evil" >included
  printf '* filter=bad diff=bad\n' | tee .gitattributes >.git/info/attributes
  mkdir hooks
  for hook in post-index-change pre-auto-gc; do
    cp evil hooks/$hook
    cp evil .git/hooks/$hook
  done
  call git.diff '{}'
  is 'TOOL-8 hostile configuration: nothing of it runs' "$code $(echo "$receipt" | grep -c EVIL)" '0 0'
  contains 'TOOL-8 and the diff is there' "$output" '+two'
  git diff >/dev/null 2>&1
  is 'TOOL-8 git itself would have run it' "$(head -1 "$base/evil-ran")" ran

  mkdir outside-repo && git_as init -q outside-repo
  mv outside-repo "$base/outside"
  rm -rf .git
  echo "gitdir: $base/outside/.git" >.git
  call git.diff '{}'
  is 'TOOL-8 a .git file that points elsewhere' "$code $(echo "$output" | grep -c 'outside of the workspace')" '128 1'
  rm .git
  ln -s "$base/outside/.git" .git
  call git.diff '{}'
  is 'TOOL-8 a .git link that points elsewhere' "$code" 128
  rm .git
  call git.diff '{}'
  contains 'TOOL-8 no repository at all' "$output" 'no git repository'

  rm -rf ./* .gitattributes .git
  git_as init -q "$base/library"
  (cd "$base/library" && echo one >f && git add f && git_as commit -qm one)
  git_as init -q --separate-git-dir gitdir .
  echo "gitdir: gitdir" >.git
  echo content >plain && git --git-dir=gitdir --work-tree=. add plain
  git_as --git-dir=gitdir --work-tree=. commit -qm x
  echo more >>plain
  call git.diff '{}'
  contains 'TOOL-8 a .git file that stays inside works' "$output" '+more'
  # A linked worktree whose repository lies in it.
  rm -rf ./* .git
  git_as init -q --bare store.git
  git clone -q store.git seed 2>/dev/null
  (cd seed && echo one >f && git add f && git_as commit -qm one && git push -q origin HEAD:main)
  git --git-dir=store.git worktree add -q "$base/wt" main 2>/dev/null
  mv "$base/wt/.git" "$base/wt/f" .
  echo "$workspace/.git" >store.git/worktrees/wt/gitdir
  echo two >>f
  call git.diff '{}'
  contains 'TOOL-8 a worktree of a repository in the workspace works' "$output" '+two'

  rm -rf ./* .git
  git_as init -q .
  echo one >f && git add f && git_as commit -qm one
  git_as -c protocol.file.allow=always submodule add -q "$base/library" lib
  git_as commit -qm lib
  (cd lib && echo two >>f && git_as commit -qam two)
  git -C lib config core.fsmonitor "$evil"
  git_as worktree add -q wt
  call git.diff '{}'
  contains 'TOOL-8 a submodule that moved is shown' "$output" '+Subproject commit'
  workspace_saved=$workspace
  workspace=$workspace/wt policy '"permissions": ["READ", "EXECUTE"]'
  call git.diff '{}'
  is 'TOOL-8 a worktree whose repository is outside of the root is refused' "$code" 128
  workspace=$workspace_saved

  rm -rf ./* .git
  git_as init -q .
  echo one >f && git add f && git_as commit -qm one && echo two >>f
  mkdir inside && cp -r .git/objects inside/objects
  find .git/objects -type f -delete
  echo ../../inside/objects >.git/objects/info/alternates
  policy '"permissions": ["READ", "EXECUTE"]'
  call git.diff '{}'
  contains 'TOOL-8 alternates inside the workspace serve' "$output" '+two'
  cp -r inside/objects "$base/objects"
  rm -rf inside
  echo "$base/objects" >.git/objects/info/alternates
  call git.diff '{}'
  is 'TOOL-8 alternates outside of it do not' "$(field .status)" failed
fi

finish
