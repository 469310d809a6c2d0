#!/bin/sh
# What each mode of CPU weights gives groups whose threads are bound to CPUs. For a guest with cgroup v2 and two CPUs; root.
#
#   weights.sh [SECONDS [MODE...]]
#
# Prints a line for each mode and each set of groups: the kernel, the mode, the groups, and the part of the CPU time of all that
# each of them got. A group is `weight:threads on CPU 0/threads on CPU 1`. docs/results/data/cpu-weight-threads.csv has
# such lines, after the guest and how QEMU ran its CPUs: in turns, or so that its time stops with them (-icount shift=3).
set -eu
seconds=${1:-15}
[ $# -eq 0 ] || shift
top=/sys/fs/cgroup/assay-weights-$$
mode=/sys/kernel/debug/sched/cgroup_mode
threads=

end_threads() {
    for thread in $threads; do kill "$thread" 2>/dev/null || :; done
    wait
    threads=
    # A group that has just lost its threads is busy for a moment.
    for _ in 1 2 3 4 5; do
        find "$top" -mindepth 1 -depth -type d -exec rmdir {} + 2>/dev/null && break
        sleep 1
    done
}
clean() {
    end_threads
    rmdir "$top"
    [ -z "${before:-}" ] || echo "$before" >$mode
}
trap clean EXIT

spin() { # group, CPU, how many
    for _ in $(seq "$3"); do
        sh -c 'echo $$ >"$0/cgroup.procs"; exec taskset -c "$1" sh -c "while :; do :; done"' "$top/$1" "$2" &
        threads="$threads $!"
    done
}
# All threads have begun to compute. In an emulated guest on a busy host that takes seconds.
compute() {
    for thread in $threads; do
        for _ in $(seq 60); do
            # shellcheck disable=SC2046
            set -- $(cat "/proc/$thread/stat")
            [ "${14}" -lt 20 ] || break
            sleep 0.5
        done
    done
}
used() { # how many groups
    for number in $(seq "$1"); do sed -n 's/usage_usec //p' "$top/$number/cpu.stat"; done
}
measure() { # the mode, then groups
    law=$1
    shift
    number=0
    for group in "$@"; do
        number=$((number + 1))
        on=${group#*:}
        mkdir "$top/$number"
        echo "${group%:*}" >"$top/$number/cpu.weight"
        spin $number 0 "${on%/*}"
        spin $number 1 "${on#*/}"
    done
    compute
    # Until averages of runnable threads are those of now.
    sleep 2
    first=$(used $#)
    sleep "$seconds"
    second=$(used $#)
    parts=$(echo $first $second | awk -v n=$# '{
        for (i = 1; i <= n; i++) sum += $(i + n) - $i
        for (i = 1; i <= n; i++) printf "%s%.4f", (i == 1 ? "" : " "), ($(i + n) - $i) / sum
    }')
    echo "$(uname -r),$law,$*,$parts"
    end_threads
}
all() { # the mode
    measure "$1" 100:0/1 100:0/4
    measure "$1" 100:0/2 200:0/4
    measure "$1" 100:0/4 200:0/4
    measure "$1" 100:1/0 100:0/1 100:2/2
    measure "$1" 100:1/0 100:0/1 400:2/2 400:2/2
    measure "$1" 100:1/0 2500:2/2
}

mkdir "$top"
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
echo +cpu >"$top/cgroup.subtree_control"
echo kernel,mode,groups,parts
if [ ! -e $mode ]; then
    all smp
    exit
fi
before=$(sed 's/.*(\(.*\)).*/\1/' $mode)
[ $# -gt 0 ] || set -- concur smp up max tasks
for law in "$@"; do
    echo $law >$mode
    all $law
done
