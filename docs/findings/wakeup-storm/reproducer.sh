#!/bin/sh
# Usage, as root with cgroup v1's cpu controller and two CPUs or more, next to storm.c: sh reproducer.sh STARTS.
# FOR A SECOND A START THE MACHINE DOES NOT REACT. Prints what a busy process gets of half a CPU beside pairs of processes that wake each
# other: both pairs in one group, then a group for each.
base=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2; exit }' /proc/mounts)
[ -n "$base" ] || { echo "no cgroup v1 with cpu" >&2; exit 1; }
storm=$(mktemp)
cc -O2 -o "$storm" "$(dirname "$0")/storm.c" || exit
mkdir "$base/victim" "$base/one" "$base/two"
for start in $(seq "$1"); do
    echo "$(uname -r), start $start, both pairs in one group: $("$storm" "$base/victim" "$base/one" "$base/one")"
    echo "$(uname -r), start $start, a group for each: $("$storm" "$base/victim" "$base/one" "$base/two")"
done
rmdir "$base/victim" "$base/one" "$base/two"
rm "$storm"
