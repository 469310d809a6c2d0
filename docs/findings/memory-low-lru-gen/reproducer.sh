#!/bin/sh
# Usage, as root on a machine FOR TESTS with cgroup v2 and no swap: sh reproducer.sh STARTS FOLDER. It takes nearly all of its memory.
# FOLDER is on a file system with a disk. Two groups have read 96 MiB each, one of them is protected; a third takes memory until the
# page cache falls below 150 MB. Prints what the two have left, in MiB, and the `low` events of the first.
cd /sys/fs/cgroup && echo +memory >cgroup.subtree_control || exit
for start in $(seq "$1"); do
    mkdir low
    echo +memory >low/cgroup.subtree_control
    mkdir low/a low/b low-hog
    # Hardly more than it holds: memory_recursiveprot would give the rest to its sibling.
    echo 100M >low/memory.low
    echo 100M >low/a/memory.low
    for group in a b; do head -c 96M /dev/zero >"$2/$group"; done
    sync
    echo 3 >/proc/sys/vm/drop_caches
    for group in a b; do sh -c "echo 0 >low/$group/cgroup.procs; cat $2/$group $2/$group >/dev/null"; done
    sh -c 'echo 0 >low-hog/cgroup.procs; exec perl -e "
        while (1) { push @m, q(x) x (4 << 20); select undef, undef, undef, 0.05;
            open F, q(/proc/meminfo); \$_ = join q(), <F>; /^Cached: +(\\d+)/m && \$1 < 150000 && exit }"'
    left() { awk '/^file / { print int($2 / 1048576) }' low/$1/memory.stat; }
    echo "lru_gen $(cat /sys/kernel/mm/lru_gen/enabled), start $start: protected $(left a), sibling $(left b)," \
        "$(sed -n 's/^low //p' low/a/memory.events) events"
    rmdir low/a low/b low low-hog
    rm "$2/a" "$2/b"
done
