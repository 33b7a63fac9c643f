#!/bin/sh
# Real software under the default limits. The test machine has none of it, so this is for a full host.
. "${0%/cases/*}/lib.sh"

[ "$KERNEL" = native ] || {
  finish
  exit
}

git init -q "$workspace/source"
echo one >"$workspace/source/file"
git -C "$workspace/source" add file
git -C "$workspace/source" -c user.name=x -c user.email=x@x commit -qm one
run --timeout 60s -- sh -c 'git clone -q source copy && cd copy && echo two >>file &&
  git -c user.name=x -c user.email=x@x commit -qam two && git status --short && git log --format=%s'
is 'git: clone, commit, status' "$code $(echo "$out" | tr '\n' ' ')$err" '0 two one '

printf '#include <stdio.h>\nint main(void)\n{\n\tputs("compiled");\n\treturn 0;\n}\n' >program.c
run --timeout 60s -- sh -c 'cc -o program program.c && ./program'
is 'cc: compile and run' "$code $out" '0 compiled'

cat >pool.py <<'EOF'
import multiprocessing

if __name__ == "__main__":
    with multiprocessing.Pool(4) as pool:
        print(sum(pool.map(abs, range(-1000, 0))))
EOF
run --timeout 60s -- python3 pool.py
is 'python: multiprocessing' "$code $out" '0 500500'

cat >loop.py <<'EOF'
import asyncio


async def main():
    for _ in range(50):
        process = await asyncio.create_subprocess_exec("true")
        assert await process.wait() == 0
    print("waited")


asyncio.run(main())
EOF
run --timeout 60s -- python3 loop.py
is 'T38 python: asyncio subprocesses and their watcher' "$code $out" '0 waited'

cp -a "$DEPS/hello" .
run --timeout 300s --workdir hello -- sh -c './configure -q 2>&1 && make -s 2>&1 && make -s check 2>&1'
is 'a Debian source package: configured, built, checked' \
  "$code $(echo "$out" | grep -E '^# (PASS|FAIL|ERROR):' | tr -s ' \n' ' ')" '0 # PASS: 4 # FAIL: 0 # ERROR: 0 '

mkdir package app
echo '{"name": "small", "version": "1.0.0", "main": "index.js"}' >package/package.json
echo 'module.exports = (a, b) => a + b;' >package/index.js
echo '{"name": "app", "version": "1.0.0", "private": true}' >app/package.json
(cd package && npm pack --silent >/dev/null)
run --timeout 120s --workdir app -- sh -c 'npm install --silent --offline --no-audit --no-fund ../package/small-1.0.0.tgz &&
  node -e "console.log(require(\"small\")(40, 2))"'
is 'T68 node: npm installs a local tarball, and the program runs' "$code $out" '0 42'

cat >Sum.java <<'EOF'
public class Sum {
    public static void main(String[] args) throws Exception {
        long[] sums = new long[8];
        Thread[] threads = new Thread[8];
        for (int i = 0; i < 8; i++) {
            final int n = i;
            threads[i] = new Thread(() -> { for (int j = 0; j <= 100000; j++) sums[n] += j; });
            threads[i].start();
        }
        long total = 0;
        for (int i = 0; i < 8; i++) {
            threads[i].join();
            total += sums[i];
        }
        System.out.println(total);
    }
}
EOF
run --timeout 120s -- java Sum.java
is 'T68 java: compiled and run with threads' "$code $out" '0 40000400000'

# The same as an ordinary user.
for_user "$ISORUN"
chown -R $user:$user "$workspace"
as_user "$base/tools/isorun" run --timeout 60s -- python3 pool.py >"$base/out" 2>&1
is 'as an ordinary user: python' "$? $(cat "$base/out")" '0 500500'
as_user "$base/tools/isorun" run --timeout 120s -- java Sum.java >"$base/out" 2>&1
is 'as an ordinary user: java' "$? $(cat "$base/out")" '0 40000400000'
as_user "$base/tools/isorun" run --timeout 120s --workdir app -- node -e 'console.log(require("small")(40, 2))' >"$base/out" 2>&1
is 'as an ordinary user: node' "$? $(cat "$base/out")" '0 42'
as_user "$base/tools/isorun" run --timeout 300s --workdir hello -- sh -c 'make -s clean && make -s && make -s check' >"$base/out" 2>&1
is 'as an ordinary user: a C project built and checked' "$? $(grep -c '^# FAIL:  0' "$base/out")" '0 1'
as_user "$base/tools/isorun" run --timeout 60s -- sh -c 'git clone -q source mine && cd mine && echo x >>file &&
  git -c user.name=x -c user.email=x@x commit -qam x && git log --format=%s | head -1' >"$base/out" 2>&1
is 'as an ordinary user: git' "$? $(cat "$base/out")" '0 x'

# F043: programs that ask for the network's interfaces get an answer.
is 'F043 node: the interfaces' \
  "$("$ISORUN" run -- node -e 'console.log(Object.keys(require("os").networkInterfaces()).join())' 2>&1)" lo
is 'F043 ip: the addresses' "$("$ISORUN" run -- ip -brief addr 2>&1 | sed 's/ .*//')" lo

finish
