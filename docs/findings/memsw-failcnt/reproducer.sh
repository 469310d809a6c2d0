#!/bin/sh
# Usage, as root with cgroup v1's memory controller and swap accounting: sh reproducer.sh STARTS. A start takes a second and 32 MiB.
set -eu
top=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
[ -n "$top" ] || { echo "no cgroup v1 with memory" >&2; exit 1; }
group=$top/assay-memsw made=''
end() {
    set +e
    trap - EXIT INT TERM
    [ -n "$made" ] || return
    kill -KILL $(cat "$group/cgroup.procs") 2>/dev/null
    sleep 1
    rmdir "$group"
}
trap end EXIT
trap 'exit 130' INT TERM
for start in $(seq "$1"); do
    mkdir "$group"
    made=1
    echo 32M >"$group/memory.limit_in_bytes"
    echo 32M >"$group/memory.memsw.limit_in_bytes"
    head -c 96M /dev/zero | sh -c "echo 0 >$group/cgroup.procs; exec tail -c 96M" >/dev/null 2>&1 || :     # killed
    echo "$(uname -r), start $start: memory.failcnt $(cat "$group/memory.failcnt")," \
        "memory.memsw.failcnt $(cat "$group/memory.memsw.failcnt"), most used $(cat "$group/memory.memsw.max_usage_in_bytes")," \
        "$(grep 'oom_kill ' "$group/memory.oom_control")"
    rmdir "$group"
    made=''
done
