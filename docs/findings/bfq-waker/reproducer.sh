#!/bin/sh
# Usage, as root with BFQ, fio and two CPUs or more, in a folder with 1 GiB free whose file system supports direct I/O:
# sh reproducer.sh STARTS. A start takes half a minute.
# Four groups of weights 100:200:400:800 read from a loop disk. Prints their parts of all reads: at first, after the lightest was
# stopped twenty times for 60 ms, and after the elevator was switched to none and back.
set -eu
folder=$(mktemp -d "$PWD/assay-waker.XXXXXX") loop='' groups='' enabled=''
end() {
    set +e
    trap - EXIT INT TERM
    for group in $groups; do kill -KILL $(cat "$group/cgroup.procs") 2>/dev/null; done
    wait
    sleep 1
    for group in $groups; do rmdir "$group"; done
    [ -z "$enabled" ] || echo -io >"$top/cgroup.subtree_control"
    [ -z "$loop" ] || losetup --detach "$loop"
    rm -r "$folder"
}
trap end EXIT
trap 'exit 130' INT TERM

dd if=/dev/urandom of="$folder/disk" bs=1M count=1024 conv=fsync status=none
modprobe bfq 2>/dev/null || grep -q bfq /sys/block/*/queue/scheduler     # it may be built in
loop=$(losetup --find --show --direct-io=on "$folder/disk")
queue=/sys/block/${loop#/dev/}/queue
number=$(cat "$queue/../dev")
top=$(awk '$3 == "cgroup" && $4 ~ /(^|,)blkio(,|$)/ { print $2; exit }' /proc/mounts)
if [ -n "$top" ]; then
    weight=blkio.bfq.weight
    reads() { awk -v disk="$number" '$1 == disk && $2 == "Read" { print $3 }' "$1/blkio.bfq.io_serviced"; }
else
    top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts) weight=io.bfq.weight
    grep -qw io "$top/cgroup.subtree_control" || { echo +io >"$top/cgroup.subtree_control"; enabled=1; }
    reads() { sed -n "s/^$number .*rios=\([0-9]*\).*/\1/p" "$1/io.stat"; }
fi
settings() { # those of iosched/ are lost with the elevator
    echo none >"$queue/scheduler"
    echo bfq >"$queue/scheduler"
    echo 0 >"$queue/iosched/low_latency"
    echo 512 >"$queue/iosched/max_budget"
    for one in 100 200 400 800; do echo $one >"$top/assay-waker-$one/$weight"; done
}
count() { for group in $groups; do reads "$group"; done; }
show() {
    before=$(count)
    sleep 5
    echo $before $(count) | awk '{ for (i = 1; i < 5; i++) all += $(i + 4) - $i; for (i = 1; i < 5; i++) printf " %.3f", ($(i + 4) - $i) / all }'
}

for one in 100 200 400 800; do
    mkdir "$top/assay-waker-$one"
    groups="$groups $top/assay-waker-$one"
done
for start in $(seq "$1"); do
    settings
    for group in $groups; do
        sh -c "echo 0 >$group/cgroup.procs; exec chrt -r 10 fio --name=reader --filename=$loop --size=1G --rw=randread --bs=4k \
            --ioengine=libaio --iodepth=8 --direct=1 --norandommap --time_based --runtime=60" >/dev/null 2>&1 &
    done
    sleep 3
    printf '%s, start %s: at first%s,' "$(uname -r)" "$start" "$(show)"
    lightest=$top/assay-waker-100/cgroup.procs
    for stop in $(seq 20); do
        kill -STOP $(cat "$lightest")
        sleep .06
        kill -CONT $(cat "$lightest")
        sleep .14
    done
    printf ' after the stops%s,' "$(show)"
    settings
    sleep 1
    printf ' after the switch%s\n' "$(show)"
    for group in $groups; do kill -KILL $(cat "$group/cgroup.procs"); done
    wait
done
