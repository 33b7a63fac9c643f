#!/bin/sh
# Real software under the default limits. The test machine has none of it, so this is for a full host.
. "$(dirname "$0")/lib.sh"

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

finish
