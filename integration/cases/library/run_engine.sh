#!/bin/sh
# Many runs of one engine: from the third on they copy the mounts that they have in common from a template
# (docs/decisions/010-mount-templates.md). Nobody inside may see a difference, and the host's changes count.
. "${0%/cases/*}/lib.sh"

series() { "$HOSTS/host_series" "$@" 2>"$base/err"; }
repeat() { yes "$1" | head -n "$2"; }

# The world, as a first and as a sixth run see it: facts, mounts without their numbers, every name and mode.
world="./probe_world; awk '{ \$1 = \$2 = \$3 = \"\"; print }' /proc/self/mountinfo | sort | cut -d- -f1-9
  find / -xdev ! -path './*' -printf '%p %y %m %u %g %s %l\\n' | sort; ls -lR --time-style=+ /dev | grep -v total; echo =end="
world=$(printf '%s' "$world" | tr '\n' ';')
repeat "$world" 6 | series hide /usr/share | awk -v base="$base/world" '{ print >(base n + 0) } /^=end=$/ { n++ }'
at_least 'RUN-1 a run sees a world' "$(wc -l <"$base/world0")" 100
is 'RUN-1 a run that shares mounts with others sees the same' "$(sort "$base/world0" "$base/world5" | uniq -u)" ''
is 'and so did all between' "$(cat "$base"/world? | sort | uniq -c | awk '$1 % 6 != 0' | head -5)" ''

# The shared root is made once: its files are as old as the template.
repeat 'stat -c %z /etc/passwd' 7 | series >"$base/ages"
if [ "$(id -u)" = 0 ]; then
  is 'from the third run on there is a template' "$(sed -n '3,$p' "$base/ages" | sort -u | wc -l) $(sort -u <"$base/ages" | wc -l)" '1 3'
fi

# What a run can write to is its own.
{
  repeat true 3
  echo 'for place in / /etc /dev /usr /proc; do touch $place/x 2>&- && echo wrote $place; done; touch /tmp/x /run/x /dev/shm/x mine && echo own'
  echo 'ls /tmp/x /run/x /dev/shm/x mine 2>&-; true'
} | series >"$base/out"
is 'RUN-1 nothing of a run is in the next, but for the workspace' "$(tr '\n' ' ' <"$base/out")" 'own mine '

# Mounts of the caller come on top, in order, and are taken anew for every run.
mkdir "$base/source" "$base/store"
echo one >"$base/source/file"
{
  repeat true 3
  echo 'cat /srv/file'
  echo "!mv $base/source $base/aside && mkdir $base/source && echo two >$base/source/file"
  echo 'cat /srv/file; echo kept >/mnt/store/kept; ls /usr/share 2>&-; true'
} | series ro "$base/source" /srv rw "$base/store" /mnt/store hide /usr/share >"$base/out" || echo '# failed'
is 'mounts of the caller: a source that was replaced is the new one' "$(cat "$base/out" "$base/err" | tr '\n' ' ')" 'one two '
is 'mounts of the caller: written to' "$(cat "$base/store/kept" 2>&1)" kept

# What covers a mount of the caller comes after it, in every run.
repeat 'ls /srv/below; cat /srv/below/file; true' 5 | series ro "$base/aside" /srv/below hide /srv >"$base/out"
is 'a mask over a mount of the caller' "$(sort "$base/err" | uniq -c | awk '{ print $1 }' | tr '\n' ' ')$(cat "$base/out")" '5 5 '

# The host's changes count: a file replaced by another (as package managers do), a mount made, a mount gone.
if [ "$(id -u)" = 0 ]; then
  cp -a /etc "$base/etc"
  mkdir -p "$base/etc/alternatives"
  echo as-it-was >"$base/etc/services"
  {
    echo "!mount --bind $base/etc /etc"
    repeat 'echo $(grep -c NEW /etc/services) $(ls /etc/alternatives | grep -c new)' 4
    echo '!echo NEW >/etc/services.new && mv /etc/services.new /etc/services'
    repeat 'echo $(grep -c NEW /etc/services) $(ls /etc/alternatives | grep -c new)' 4
    echo '!mount -t tmpfs tmpfs /etc/alternatives && touch /etc/alternatives/new'
    repeat 'echo $(grep -c NEW /etc/services) $(ls /etc/alternatives | grep -c new)' 4
    echo '!umount /etc/alternatives'
    repeat 'echo $(grep -c NEW /etc/services) $(ls /etc/alternatives | grep -c new)' 4
  } >"$base/script"
  unshare -m --propagation private "$HOSTS/host_series" <"$base/script" >"$base/out" 2>&1
  is 'a changed host is seen by the next run' "$(uniq -c <"$base/out" | awk '{ print $1 ":", $2, $3 }' | tr '\n' ' ')" \
    '4: 0 0 4: 1 0 4: 1 1 4: 1 0 '
fi

# An ordinary user's runs build everything for themselves.
for_user "$HOSTS/host_series"
chmod 777 .
repeat 'cat /etc/hostname' 5 | as_user "$base/tools/host_series" >"$base/out" 2>&1
is 'a user: no difference' "$(sort -u "$base/out") $(wc -l <"$base/out")" 'isorun 5'

finish
