#!/bin/sh
# Usage, as root on cgroup v2 with two CPUs or more: sh reproducer.sh STARTS. A start takes half a minute.
# Prints the parts of the last CPU that a group with one thread and one with four get, of equal weight, in smp and concur.
cd /sys/fs/cgroup && echo +cpu >cgroup.subtree_control || exit
grep -qs ' /sys/kernel/debug ' /proc/mounts || mount -t debugfs debugfs /sys/kernel/debug
mode=/sys/kernel/debug/sched/cgroup_mode
last=$(($(nproc --all) - 1))
used() { sed -n 's/usage_usec //p' "$1/cpu.stat"; }
run() {
    mkdir one four
    for group in one four four four four; do
        sh -c "echo 0 >$group/cgroup.procs; exec taskset -c $last sh -c 'while :; do :; done'" &
    done
    sleep 2
    a=$(used one) b=$(used four)
    sleep 10
    echo "$(($(used one) - a)) $(($(used four) - b))" |
        awk -v mode="$1" '{ printf "%s: one thread %.3f, four threads %.3f\n", mode, $1 / ($1 + $2), $2 / ($1 + $2) }'
    echo 1 >one/cgroup.kill
    echo 1 >four/cgroup.kill
    wait
    sleep 1
    rmdir one four
}
for start in $(seq "$1"); do
    if [ ! -e $mode ]; then
        run "$(uname -r), start $start"
        continue
    fi
    before=$(sed 's/.*(\(.*\)).*/\1/' $mode)
    for one in smp concur; do
        echo $one >$mode
        run "$(uname -r), start $start, $one"
    done
    echo "$before" >$mode
done
