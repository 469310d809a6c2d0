#!/bin/sh
# Groups whose waiting is known from how they were made, and what `assay blame` says of them. For a guest of any kernel, with two CPUs;
# root, with assay-load in its path. Times of an emulated guest mean nothing; parts of them that are far apart do.
#
#   waits.sh ASSAY
#
# Prints a line for each part, and exits with 1 if one is not as it was made.
set -eu
assay=$1
answer=$(mktemp)
bad=0 threads=
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    top=/sys/fs/cgroup/assay-waits
    mkdir $top
    echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
    echo +cpu >$top/cgroup.subtree_control
    three="cpu.weight 300" quota="cpu.max 30000"
else
    top=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2 }' /proc/mounts)/assay-waits
    mkdir "$top"
    three="cpu.shares 3072" quota="cpu.cfs_quota_us 30000"
fi

end_threads() {
    for thread in $threads; do kill "$thread" 2>/dev/null || :; done
    wait
    threads=
}
clean() {
    end_threads
    find "$top" -depth -type d -exec rmdir {} \;
    rm -f "$answer" "$answer.file"
}
trap clean EXIT

spin() { # group, CPUs
    mkdir -p "$top/$1"
    (echo 0 >"$top/$1/cgroup.procs"; exec taskset -c "$2" assay-load spin --threads 1 --time 900 >/dev/null 2>&1) &
    threads="$threads $!"
}
set_to() { # group, file, value
    echo "$3" >"$top/$1/$2"
}
# What a thread waits for is made before it is watched, and all threads have begun to compute: until then assay-load uses some 0.1 s.
# A machine that waits for its host itself leaves some answers void.
watch() { # group
    for thread in $threads; do
        for _ in $(seq 300); do
            # shellcheck disable=SC2046
            set -- "$1" $(cat "/proc/$thread/stat")
            [ "${15}" -lt 30 ] || break
            sleep 0.1
        done
    done
    for _ in 1 2 3; do
        "$assay" blame --for 4s --group "/${top##*/}/$1" >"$answer" && break
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

# Of nine parts for which it waits, six go to one group and two to another; and one to its neighbour in a slice that does not hand
# the controller down on v2, so that the kernel schedules both as one.
spin slice/a 0
spin slice/b 0
spin large 0
spin small 0
# shellcheck disable=SC2086
set_to large $three
watch slice/a
expect "large : small" "$(awk "BEGIN { print $(percent /large) / ($(percent /small) + 0.001) }")" 2.3 3.9
expect "the other of the slice" "$(percent /slice/b)" 5 20
expect "own quota" "$(percent "own quota")" 0 0
end_threads

# A quota on two CPUs, between which the kernel moves threads, beside a neighbour on one of them.
spin limited 0-1
spin limited 0-1
spin limited 0-1
spin beside 0
# shellcheck disable=SC2086
set_to limited $quota
watch limited
expect "own quota" "$(percent "own quota")" 40 99
expect "neighbour" "$(percent /beside)" 0.1 40
end_threads

# Moved from CPU to CPU, three threads wait as long as the kernel counted, and on no queue in between.
# A move that takes an emulated CPU more than 50 ms is not taken for one.
for _ in 1 2 3; do
    # shellcheck disable=SC2016
    "$assay" blame --for 30s -o json -- sh -c 'for _ in 1 2 3; do timeout 0.6 sh -c "while :; do :; done" & done; wait' >"$answer" ||
        [ $? = 3 ]
    [ "$(jq '(.completed_ns - .run_delay_ns | fabs) < 50000' "$answer")" = false ] || break
done
expect "moves" "$(jq .events.moves "$answer")" 1 100000
expect "waiting beyond the kernel's in us" "$(jq '(.completed_ns - .run_delay_ns) / 1000' "$answer")" -50 50

# On one CPU two write to one file, whose inode each of them locks for the time of a write.
write_to() { # group, bytes at once
    mkdir -p "$top/$1"
    (echo 0 >"$top/$1/cgroup.procs"; exec taskset -c 0 fio --name=one --filename="$answer.file" --rw=write --bs="$2" --size=32M \
        --fallocate=none --ioengine=psync --thread --time_based --runtime=900 >/dev/null 2>&1) &
    threads="$threads $!"
}
write_to holder 32M
write_to waiter 4k
for thread in $threads; do
    for _ in $(seq 300); do
        [ "$(sed -n 's/^wchar: //p' "/proc/$thread/io")" -lt 100000 ] || break
        sleep 0.2
    done
done
"$assay" blame --for 3s -o json --group "/${top##*/}/waiter" >"$answer" || [ $? = 3 ]
of_locks() { # filter of jq
    jq "[.thread_time.locks[] | select($1) | .ns] | add // 0 | . / 1e9" "$answer"
}
expect "seconds for a lock that the other holds" "$(of_locks '.group and (.group | endswith("/holder"))')" 0.5 3
expect "seconds for a lock that others hold" "$(of_locks '.group == null or (.group | endswith("/holder") | not)')" 0 0.3
exit $bad
