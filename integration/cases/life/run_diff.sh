#!/bin/sh
# What a run changed, exactly.
. "${0%/cases/*}/lib.sh"

mkdir "$base/tree"
cd "$base/tree" || exit 1
"$PROBES/probe_tree" make "$TREE_FILES"
run --ro "$PROBES" -- "$PROBES/probe_tree" change
is "DIFF-2 DIFF-4 DIFF-5 T130 T131 a run that changes a few of $TREE_FILES files: exactly these" \
  "$code $(field '.workspace|[.created,.modified,.deleted]')" \
  '0 [["d0001/new","d0002/new\nline","d0003/bad\\xff\\xfe"],["d0000/link","d0004/f04","d0005/f05","d0006/f06","d0009/f10"],["d0007/f07","d0008/f08","d0009/f09"]]'
is 'DIFF-2 nothing was cut' "$(field '.workspace|[.truncated,.incomplete,.redacted]')" '[false,false,0]'
run --no-diff -- true
is '--no-diff: no diff' "$(field '.workspace|has("created")')" false
run -- true
is 'nothing changed: empty lists' "$(field '.workspace|[.created,.modified,.deleted]')" '[[],[],[]]'
is 'DIFF-1 every entry is counted' "$(field .workspace.files)" $((TREE_FILES + TREE_FILES / 100 + 1))

cd "$workspace" || exit 1
"$ISORUN" run --diff -- sh -c 'echo x >new; printf "\033[2J" >"$(printf "esc\033[2J")"; mkdir -p .git/hooks; echo x >.git/hooks/pre-commit; echo s >.env' \
  >"$base/out" 2>"$base/err"
is 'DIFF-3 --diff: a readable summary, secrets redacted, with no control characters' "$(cat "$base/err")" \
  'A! .git (it makes a repository)
A  .git/hooks
A! .git/hooks/pre-commit (git runs it)
A  [redacted]
A  esc\x1b[2J
A  new'

run -- sh -c 'i=0; while [ $i -lt 150 ]; do : >many$i; i=$((i + 1)); done'
is 'DIFF-2 at most 100 are listed, and the rest is counted' \
  "$(field '.workspace|[(.created|length),.totals.created,.truncated]')" '[100,150,true]'
rm -f many*

# T134 T135: what the payload leaves in place of a file is not opened.
echo x >victim
run -- sh -c 'rm victim; ln -s /etc/shadow victim; mkfifo fifo; ln -s / everything'
is 'T134 T135 links and FIFOs in place of files' "$(field '.workspace|[.created,.modified]')" \
  '[["everything","fifo"],["victim"]]'
is 'T135 without a hang' "$code" 0

# T114: directories deleted and made again, moved over others
mkdir -p old/sub
echo x >old/sub/f
run -- sh -c 'rm -r old; mkdir old; echo y >old/g; mkdir m; mv old m/old'
is 'T114 directories that move' "$(field '.workspace|[.created,.modified,.deleted]')" \
  '[["m","m/old","m/old/g"],[],["old","old/sub","old/sub/f"]]'

# A timeout with writers still at work: the snapshot comes after the kill.
run --timeout 300ms --grace 0 -- sh -c 'while :; do echo x >>growing; done'
is 'T138 the second look comes after the kill' "$(field '[.status,.workspace.created]')" '["timed_out",["growing"]]'
run -- true
is 'T138 and nothing changes afterwards' "$(field .workspace.modified)" '[]'

# --protect
mkdir -p keep/below .git/hooks
echo mine >keep/file
run --protect keep --protect missing -- sh -c 'echo no >keep/file; rm -rf keep; echo made >missing'
is '--protect: what is there stays' "$(cat keep/file)" mine
contains '--protect: the attempt is an error' "$err" 'Read-only file system'
is 'T178 --protect: what is not there is reported when it is made' "$(field '.workspace.sensitive')" \
  '[{"path":"missing","why":"it is protected"}]'
is 'T100 --protect: no stub is left' "$(find . -name '.isorun*' -o -name '*stub*')" ''
run --protect-defaults -- sh -c 'echo evil >.git/hooks/post-checkout; echo evil >.git/config'
is '--protect-defaults: existing places are closed, new ones reported' \
  "$(ls .git/hooks/post-checkout 2>/dev/null)$(field '[.workspace.sensitive[]|.path]')" '[".git/config"]'
run --protect /etc -- true
is '--protect: outside the workspace is refused' "$code $(field .status)" '125 invalid'
run --protect ../x -- true
is '--protect: .. is refused' "$code" 125
ln -s keep alias
run --protect alias -- sh -c 'rm -f alias; ln -sfn /tmp alias; echo x >keep/through'
is 'T102 --protect: a link is protected as itself, and not followed' \
  "$(readlink alias) $(cat keep/through)" 'keep x'

run --workspace-mode ro -- true
is 'a read-only workspace has no diff' "$(field '.workspace|[.mode,has("created")]')" '["ro",false]'

finish
