#!/bin/sh
# Usage, as root on cgroup v2 with BFQ, null_blk and fio: sh reproducer.sh POOL LIGHT STARTS, such as 200 15 10. No disk is touched.
# LIGHT groups of weight 200 and one of 800 keep 32 random reads of 16 KiB outstanding each; POOL is nr_requests.
# Prints for each start: the heavy group's part of all reads over the part of its weight, the same for the light ones (least, most),
# and the longest time that one of each waited for a place, in ms.
pool=$1 light=$2 starts=$3
modprobe bfq || exit
modprobe null_blk nr_devices=0 || exit
mount -t configfs none /sys/kernel/config 2>/dev/null
disk=/sys/kernel/config/nullb/cap results=$(mktemp -d) top=/sys/fs/cgroup
mkdir $disk && echo +io >$top/cgroup.subtree_control || exit
# Four requests at a time, each of 5 ms: 800 a second.
for set in submit_queues=1 hw_queue_depth=4 irqmode=2 completion_nsec=5000000 size=64 power=1; do
    echo ${set#*=} >$disk/${set%=*}
done
name=cap
[ -b /dev/cap ] || name=nullb$(cat $disk/index)
cd /sys/block/$name/queue || exit
for start in $(seq "$starts"); do
    echo none >scheduler
    echo bfq >scheduler
    echo 0 >iosched/low_latency
    echo 512 >iosched/max_budget
    echo "$pool" >nr_requests
    for group in $(seq 0 "$light"); do
        mkdir $top/cap$group
        [ "$group" = 0 ] && echo 800 >$top/cap$group/io.bfq.weight || echo 200 >$top/cap$group/io.bfq.weight
        sh -c "echo 0 >$top/cap$group/cgroup.procs; exec fio --name=$group --filename=/dev/$name --rw=randread --bs=16k --direct=1 \
            --ioengine=libaio --iodepth=32 --time_based --ramp_time=3 --runtime=20 --output-format=terse --terse-version=3 \
            --output=$results/$group" >/dev/null 2>&1 &
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
    for group in $(seq 0 "$light"); do rmdir $top/cap$group; done
done
echo none >scheduler
rmdir $disk
rm -r "$results"
