#!/bin/sh
# Usage, as root with null_blk, debugfs and fio: sh reproducer.sh STARTS [bfq|mq-deadline]. No disk is touched.
# Prints how many direct writes of one thread were outstanding at most after nr_requests was set to 1024, at once and by way of 1023.
set -eu
scheduler=${2:-bfq}
disk=/sys/kernel/config/nullb/assay-depths made='' writer=''
end() {
    set +e
    trap - EXIT INT TERM
    [ -z "$writer" ] || kill "$writer" 2>/dev/null
    wait
    cd /
    [ -z "$made" ] || rmdir $disk
}
trap end EXIT
trap 'exit 130' INT TERM

modprobe "$scheduler" || modprobe "$scheduler-iosched"
modprobe null_blk nr_devices=0
grep -qs ' /sys/kernel/config ' /proc/mounts || mount -t configfs none /sys/kernel/config
grep -qs ' /sys/kernel/debug ' /proc/mounts || mount -t debugfs none /sys/kernel/debug
mkdir $disk
made=1
for set in submit_queues=1 hw_queue_depth=4 irqmode=2 completion_nsec=5000000 size=64 power=1; do
    echo ${set#*=} >$disk/${set%=*}
done
name=assay-depths
[ -b /dev/$name ] || name=nullb$(cat $disk/index)
cd /sys/block/$name/queue
outstanding() {
    echo none >scheduler
    echo "$scheduler" >scheduler
    [ "$scheduler" != bfq ] || echo 0 >iosched/low_latency
    before=$(cat nr_requests)
    for requests in $1; do echo "$requests" >nr_requests; done
    fio --name=writer --filename=/dev/$name --rw=randwrite --bs=4k --direct=1 --ioengine=libaio --iodepth=2000 --time_based --runtime=5 >/dev/null 2>&1 &
    writer=$!
    sleep 3
    most=0
    for look in 1 2 3 4 5; do
        now=$(sed -n 's/^busy=//p' /sys/kernel/debug/block/$name/hctx0/sched_tags | tail -n 1)
        if [ "$now" -gt $most ]; then most=$now; fi
        sleep 0.2
    done
    wait
    writer=''
    echo "nr_requests $before, then $1: $most writes outstanding"
}
for start in $(seq "$1"); do
    outstanding 1024
    outstanding "1023 1024"
done
echo none >scheduler
