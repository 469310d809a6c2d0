#!/bin/sh
# Usage, as root on a machine FOR TESTS with cgroup v2 and no swap: sh reproducer.sh STARTS FOLDER. It takes nearly all of its memory.
# FOLDER is on a file system with a disk. Two groups have read 96 MiB each, one of them is protected; a third takes memory until the
# page cache falls below 150 MB. Prints what the two have left, in MiB, and the `low` events of the first.
set -eu
starts=$1 folder=$(mktemp -d "$(cd "$2" && pwd)/assay-low.XXXXXX") groups='' enabled=''
low=/sys/fs/cgroup/assay-low hog=/sys/fs/cgroup/assay-low-hog
gone() { # the groups, the latest first
    for group in $groups; do rmdir $group; done
    groups=''
}
end() {
    set +e
    trap - EXIT INT TERM
    for group in $groups; do kill -KILL $(cat "$group/cgroup.procs") 2>/dev/null; done
    sleep 1
    gone
    [ -z "$enabled" ] || echo -memory >/sys/fs/cgroup/cgroup.subtree_control
    rm -r "$folder"
}
trap end EXIT
trap 'exit 130' INT TERM

grep -qw memory /sys/fs/cgroup/cgroup.subtree_control || { echo +memory >/sys/fs/cgroup/cgroup.subtree_control; enabled=1; }
make() {
    mkdir $1
    groups="$1 $groups"
}
left() { awk '/^file / { print int($2 / 1048576) }' $low/$1/memory.stat; }
for start in $(seq "$starts"); do
    make $low
    echo +memory >$low/cgroup.subtree_control
    make $low/a
    make $low/b
    make $hog
    # Hardly more than it holds: memory_recursiveprot would give the rest to its sibling.
    echo 100M >$low/memory.low
    echo 100M >$low/a/memory.low
    for group in a b; do head -c 96M /dev/zero >"$folder/$group"; done
    sync
    echo 3 >/proc/sys/vm/drop_caches
    for group in a b; do sh -c "echo 0 >$low/$group/cgroup.procs; cat '$folder/$group' '$folder/$group' >/dev/null"; done
    # It may be killed.
    sh -c "echo 0 >$hog/cgroup.procs; exec perl -e '
        while (1) { push @m, q(x) x (4 << 20); select undef, undef, undef, 0.05;
            open F, q(/proc/meminfo); \$_ = join q(), <F>; /^Cached: +(\\d+)/m && \$1 < 150000 && exit }'" || :
    echo "lru_gen $(cat /sys/kernel/mm/lru_gen/enabled), start $start: protected $(left a), sibling $(left b)," \
        "$(sed -n 's/^low //p' $low/a/memory.events) events"
    gone
    rm "$folder"/*
done
