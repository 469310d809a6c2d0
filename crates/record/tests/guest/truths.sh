#!/bin/sh
# Groups whose waiting is known from how they were made, and what `assay blame` says of them. For a guest of any kernel, with cgroup
# v2; root. Times of an emulated guest mean nothing; parts of them that are far apart do.
#
#   truths.sh ASSAY
#
# Prints a line for each part, and exits with 1 if one is not as it was made.
set -eu
assay=$1
top=/sys/fs/cgroup/assay-truths-$$
answer=$(mktemp)
bad=0
threads=

clean() {
    for thread in $threads; do kill "$thread" 2>/dev/null || :; done
    wait
    find "$top" -depth -type d -exec rmdir {} \;
    rm -f "$answer"
}
trap clean EXIT

spin() { # group, CPUs
    mkdir -p "$top/$1"
    sh -c 'echo $$ >"$0/cgroup.procs"; exec taskset -c "$1" sh -c "while :; do :; done"' "$top/$1" "$2" &
    threads="$threads $!"
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
# What a thread waits for is made before it is watched. A machine that waits for its host itself leaves some answers void.
watch() { # group
    compute
    for _ in 1 2 3; do
        "$assay" blame --for 6s --group "/${top##*/}/$1" >"$answer" && break
    done
    grep -E '%|off|void' "$answer" | head -12
}
percent() { # the end of a part's name
    awk -v name="$1" '$2 == "%" && substr($0, length($0) - length(name) + 1) == name { sum += $1 } END { print sum + 0 }' "$answer"
}
expect() { # what, value, lowest, highest
    if awk "BEGIN { exit !($2 >= $3 && $2 <= $4) }"; then
        echo "as made: $1 $2"
    else
        echo "WRONG: $1 $2, not $3 to $4"
        bad=1
    fi
}

mkdir "$top"
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
echo +cpu >"$top/cgroup.subtree_control"

# Two groups get the CPU three to one while a third waits.
spin mine 0; spin large 0; spin small 0
echo 300 >"$top/large/cpu.weight"
watch mine
expect "large : small" "$(awk "BEGIN { print $(percent /large) / ($(percent /small) + 0.001) }")" 2.3 3.9
for thread in $threads; do kill "$thread"; done
threads=

# Two threads wait for their neighbour, for each other, and both for their quota.
spin limited 0; spin limited 0; spin beside 0
echo "20000 100000" >"$top/limited/cpu.max"
watch limited
expect "own quota" "$(percent "own quota")" 30 90
expect "neighbour" "$(percent /beside)" 5 60
for thread in $threads; do kill "$thread"; done
threads=

# A quota on two CPUs, between which the kernel moves threads.
spin everywhere 0-1; spin everywhere 0-1; spin everywhere 0-1
echo "30000 100000" >"$top/everywhere/cpu.max"
watch everywhere
expect "own quota" "$(percent "own quota")" 40 99
for thread in $threads; do kill "$thread"; done
threads=

# Two services without the controller: the kernel schedules them in one group.
spin slice/a 0; spin slice/b 0
watch slice/a
expect "the other service" "$(percent /slice/b)" 50 100
exit $bad
