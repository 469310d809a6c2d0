#!/bin/sh
# Groups whose stalls for memory are known from how they were made, and what `assay blame` says of them. For root on any kernel, with
# jq, and a folder in a file system on a disk with 50 MiB free.
#
#   stalls.sh ASSAY FOLDER
#
# Prints a line for each statement, and exits with 1 if one is not as it was made.
set -eu
assay=$1
folder=$(mktemp -d "$2/assay-stalls-XXXXXX")
answer=$folder/answer
bad=0 readers=
if [ -e /sys/fs/cgroup/cgroup.controllers ] && grep -qw memory /sys/fs/cgroup/cgroup.controllers; then
    v2=1 mount=/sys/fs/cgroup max=memory.max
    echo +cpu +memory >$mount/cgroup.subtree_control
    cpu=$mount
else
    v2=0 max=memory.limit_in_bytes
    mount_of() { awk -v of="$1" '$3 == "cgroup" && $4 ~ "(^|,)" of "(,|$)" { print $2 }' /proc/mounts; }
    mount=$(mount_of memory) cpu=$(mount_of cpu)
fi
name=assay-stalls-$$
top=$mount/$name

end_readers() {
    for reader in $readers; do kill "$reader" 2>/dev/null || :; done
    wait
    readers=
}
clean() {
    end_readers
    # The last pages of a group that has ended take a moment.
    for _ in $(seq 50); do
        find "$top" "$cpu/$name" -depth -type d -exec rmdir {} \; 2>/dev/null || :
        [ -d "$top" ] || break
        sleep 0.1
    done
    rm -rf "$folder"
}
trap clean EXIT

group() { # name, limit in MiB or nothing
    mkdir -p "$top/$1" "$cpu/$name/$1"
    [ -z "${2-}" ] || echo "$2M" >"$top/$1/$max"
}
hand_down() { # group
    [ $v2 = 0 ] || echo +memory >"$top/$1/cgroup.subtree_control"
}
file() { # name, MiB; not in the page cache, where it would be another group's
    dd if=/dev/zero of="$folder/$1" bs=1M count="$2" oflag=direct 2>/dev/null
}
reader() { # group, file, seconds between
    (
        echo 0 >"$top/$1/cgroup.procs"
        echo 0 >"$cpu/$name/$1/cgroup.procs"
        trap 'exit 0' TERM
        while :; do
            cat "$folder/$2" >/dev/null
            [ "$3" = 0 ] || sleep "$3"
        done
    ) &
    readers="$readers $!"
}
blame() { # group
    "$assay" blame --for 3s --group "/$name/$1" -o json >"$answer" || [ $? = 3 ]
    if [ "$(jq -r .memory.value.verdict "$answer")" != valid ]; then
        echo "WRONG: $(jq -c '.memory | .value.reason // .' "$answer")"
        bad=1
    fi
    if [ "$1" != high ] && jq -e '[.memory.value.parts[]? | select(.stall == "throttle")] != []' "$answer" >/dev/null; then
        echo "WRONG: delayed by memory.high, which nobody has"
        bad=1
    fi
}
expect() { # what, filter of jq, at least
    value=$(jq -r "[.memory.value | $2 | .percent] | add // 0 | floor" "$answer")
    if [ "$value" -ge "$3" ]; then
        echo "as made: $1 $value %"
    else
        echo "WRONG: $1 $value %, not at least $3: $(jq -c '.memory.value | del(.parts[].lengths)' "$answer")"
        bad=1
    fi
}

mkdir -p "$top" "$cpu/$name"
[ $v2 = 0 ] || echo +memory >"$top/cgroup.subtree_control"

file long 40
group own 24
reader own long 0
sleep 1
blame own
expect "own limit" ".parts[] | select(.stall == \"max\" and .group == \"/$name/own\")" 60
expect "its own threads reclaim" '.evicted[] | select(.by == "own")' 90
end_readers

file long 40
group above 24
hand_down above
group above/below
reader above/below long 0
sleep 1
blame above/below
expect "limit of the group above" ".parts[] | select(.stall == \"max\" and .group == \"/$name/above\")" 60
end_readers

# A reader that comes back to a small file at times, and one that reads past it, within one limit.
file long 40
file short 10
group pair 24
hand_down pair
group pair/victim
group pair/hog
reader pair/victim short 2
reader pair/hog long 0
sleep 1
blame pair/victim
expect "evicted by the neighbour" ".evicted[] | select(.group == \"/$name/pair/hog\")" 50
expect "filled by the neighbour" ".filled[] | select(.group == \"/$name/pair/hog\")" 40
end_readers

if [ $v2 = 1 ]; then
    # What it holds cannot be reclaimed without swap, so that it is delayed.
    group high
    echo 16M >"$top/high/memory.high"
    echo 0 >"$top/high/memory.swap.max" 2>/dev/null || :
    (echo 0 >"$top/high/cgroup.procs"; exec sh -c 'head -c 200M /dev/zero | tail -c 200M | sleep 60') &
    readers="$readers $!"
    sleep 1
    blame high
    expect "delayed by memory.high" ".parts[] | select(.stall == \"throttle\" and .group == \"/$name/high\")" 50
    [ ! -e "$top/high/cgroup.kill" ] || echo 1 >"$top/high/cgroup.kill"
fi
exit $bad
