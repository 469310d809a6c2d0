#!/bin/sh
# Usage, as root on cgroup v2 with two CPUs or more: sh reproducer.sh STARTS. A start takes half a minute.
# Prints the parts of the last CPU that a group with one thread and one with four get, of equal weight, in smp and concur.
set -eu
cd /sys/fs/cgroup
mode=/sys/kernel/debug/sched/cgroup_mode one=assay-one four=assay-four groups='' before='' enabled=''
gone() {
    for group in $groups; do echo 1 >$group/cgroup.kill; done
    wait
    sleep 1
    for group in $groups; do rmdir $group; done
    groups=''
}
end() {
    set +e
    trap - EXIT INT TERM
    gone
    [ -z "$before" ] || echo "$before" >$mode
    [ -z "$enabled" ] || echo -cpu >cgroup.subtree_control
}
trap end EXIT
trap 'exit 130' INT TERM

grep -qw cpu cgroup.subtree_control || { echo +cpu >cgroup.subtree_control; enabled=1; }
grep -qs ' /sys/kernel/debug ' /proc/mounts || mount -t debugfs debugfs /sys/kernel/debug
last=$(($(nproc --all) - 1))
used() { sed -n 's/usage_usec //p' "$1/cpu.stat"; }
run() {
    for group in $one $four; do
        mkdir $group
        groups="$groups $group"
    done
    for group in $one $four $four $four $four; do
        sh -c "echo 0 >$group/cgroup.procs; exec taskset -c $last sh -c 'while :; do :; done'" &
    done
    sleep 2
    a=$(used $one) b=$(used $four)
    sleep 10
    echo "$(($(used $one) - a)) $(($(used $four) - b))" |
        awk -v mode="$1" '{ printf "%s: one thread %.3f, four threads %.3f\n", mode, $1 / ($1 + $2), $2 / ($1 + $2) }'
    gone
}
if [ -e $mode ]; then before=$(sed 's/.*(\(.*\)).*/\1/' $mode); fi
for start in $(seq "$1"); do
    if [ -z "$before" ]; then
        run "$(uname -r), start $start"
        continue
    fi
    for try in smp concur; do
        echo $try >$mode
        run "$(uname -r), start $start, $try"
    done
done
