#!/bin/sh
# What git.diff runs in the sandbox (TOOL-8): git_diff.sh ROOT [PATHSPEC…]. Lines that begin with # are left
# out of what is embedded.
#
# git reads objects, references, the index and attributes of the repository, but a configuration that is
# written here: no filter, text conversion, external diff, monitor, hook, include, alias or pager can be named
# in it. The sandbox shows nothing beyond the workspace, so that a .git or alternates that lead elsewhere
# lead nowhere.
set -eu
root=$1 made=/tmp/git
shift
fail() { echo "git.diff: $1" >&2; exit 128; }
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1
export GIT_OPTIONAL_LOCKS=0 GIT_TERMINAL_PROMPT=0 GIT_PAGER=cat
cd "$root"
[ -e .git ] || fail 'the workspace is no git repository'
gitdir=.git
if [ -f .git ]; then
  IFS= read -r line <.git || [ -n "$line" ]
  gitdir=${line#gitdir: }
fi
gitdir=$(cd "$gitdir" 2>/dev/null && pwd -P) || fail '.git leads outside of the workspace'
common=$gitdir
if [ -f "$gitdir/commondir" ]; then
  IFS= read -r line <"$gitdir/commondir" || [ -n "$line" ]
  common=$(cd "$gitdir" && cd "$line" 2>/dev/null && pwd -P) ||
    fail '.git leads outside of the workspace'
fi
for dir in "$gitdir" "$common"; do
  case $dir/ in "$root"/*) ;; *) fail '.git leads outside of the workspace' ;; esac
done
mkdir -p "$made/objects/info"
cp "$gitdir/HEAD" "$made/HEAD"
for file in "$gitdir"/index "$gitdir"/sharedindex.*; do
  if [ -f "$file" ]; then ln -s "$file" "$made/"; fi
done
for name in refs packed-refs shallow; do
  if [ -e "$common/$name" ]; then ln -s "$common/$name" "$made/"; fi
done
for dir in "$common"/objects/*; do
  if [ "${dir##*/}" != info ] && [ -e "$dir" ]; then ln -s "$dir" "$made/objects/"; fi
done
if [ -f "$common/objects/info/alternates" ]; then
  while IFS= read -r line; do
    other=$(cd "$common/objects" && cd "$line" 2>/dev/null && pwd -P) || continue
    case $other/ in "$root"/*) echo "$other" >>"$made/objects/info/alternates" ;; esac
  done <"$common/objects/info/alternates"
fi
cd /tmp
git config --file "$made/config" core.repositoryformatversion 1
git config --file "$made/config" core.bare false
keys='^(core\.(filemode|symlinks|ignorecase|autocrlf|eol)|extensions\.objectformat)$'
if [ -f "$common/config" ]; then
  git config --file "$common/config" --no-includes --get-regexp "$keys" |
    while read -r key value; do git config --file "$made/config" "$key" "$value"; done
fi
cd "$root"
export GIT_DIR="$made" GIT_WORK_TREE="$root"
exec git -c safe.directory='*' --no-pager --no-optional-locks diff --no-ext-diff --no-textconv \
  --no-color --ignore-submodules=dirty -- . "$@"
