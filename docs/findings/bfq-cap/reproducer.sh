#!/bin/sh
# Usage, as root on cgroup v2 with BFQ, null_blk and fio: sh reproducer.sh POOL LIGHT STARTS, such as 200 15 10. No disk is touched.
# LIGHT groups of weight 200 and one of 800 keep 32 random reads of 16 KiB outstanding each; POOL is nr_requests.
# Prints for each start: the heavy group's part of all reads over the part of its weight, the same for the light ones (least, most),
# and the longest time that one of each waited for a place, in ms.
set -eu
pool=$1 light=$2 starts=$3
top=/sys/fs/cgroup disk=/sys/kernel/config/nullb/assay-cap results=$(mktemp -d) groups='' made='' enabled=''
end() {
    set +e
    trap - EXIT INT TERM
    for group in $groups; do kill -KILL $(cat "$group/cgroup.procs") 2>/dev/null; done
    wait
    sleep 1
    for group in $groups; do rmdir "$group"; done
    [ -z "$enabled" ] || echo -io >$top/cgroup.subtree_control
    cd /
    [ -z "$made" ] || rmdir $disk
    rm -r "$results"
}
trap end EXIT
trap 'exit 130' INT TERM

modprobe bfq
modprobe null_blk nr_devices=0
grep -qs ' /sys/kernel/config ' /proc/mounts || mount -t configfs none /sys/kernel/config
mkdir $disk
made=1
# Four requests at a time, each of 5 ms: 800 a second.
for set in submit_queues=1 hw_queue_depth=4 irqmode=2 completion_nsec=5000000 size=64 power=1; do
    echo ${set#*=} >$disk/${set%=*}
done
name=assay-cap
[ -b /dev/$name ] || name=nullb$(cat $disk/index)
cd /sys/block/$name/queue
grep -qw io $top/cgroup.subtree_control || { echo +io >$top/cgroup.subtree_control; enabled=1; }
for start in $(seq "$starts"); do
    echo none >scheduler
    echo bfq >scheduler
    echo 0 >iosched/low_latency
    echo 512 >iosched/max_budget
    echo "$pool" >nr_requests
    for number in $(seq 0 "$light"); do
        group=$top/assay-cap-$number
        mkdir $group
        groups="$groups $group"
        [ "$number" = 0 ] && echo 800 >$group/io.bfq.weight || echo 200 >$group/io.bfq.weight
        sh -c "echo 0 >$group/cgroup.procs; exec fio --name=$number --filename=/dev/$name --rw=randread --bs=16k --direct=1 \
            --ioengine=libaio --iodepth=32 --time_based --ramp_time=3 --runtime=20 --output-format=terse --terse-version=3 \
            --output=$results/$number" >/dev/null 2>&1 &
    done
    wait
    cat "$results"/* | awk -F';' -v pool="$pool" -v light="$light" -v start="$start" '
        { part[$3] = $6; all += $6; wait = $11 / 1000; if ($3 == 0) heavy = wait; else if (wait > longest) longest = wait }
        END {
            least = 9
            for (i = 1; i <= light; i++) { one = part[i] / all * (light + 4); if (one < least) least = one; if (one > most) most = one }
            printf "pool %s, %s light, start %s: heavy %.2f, light %.2f to %.2f; waited %d and %d ms\n",
                pool, light, start, part[0] / all * (light + 4) / 4, least, most, heavy, longest
        }'
    sleep 0.5
    for group in $groups; do rmdir $group; done
    groups=''
done
echo none >scheduler
