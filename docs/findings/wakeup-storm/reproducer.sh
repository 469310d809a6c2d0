#!/bin/sh
# Usage, as root with cgroup v1's cpu controller and two CPUs or more, next to storm.c: sh reproducer.sh STARTS.
# FOR A SECOND A START THE MACHINE DOES NOT REACT. Prints what a busy process gets of half a CPU beside pairs of processes that wake each
# other: both pairs in one group, then a group for each.
set -eu
base=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2; exit }' /proc/mounts)
[ -n "$base" ] || { echo "no cgroup v1 with cpu" >&2; exit 1; }
storm=$(mktemp) victim=$base/assay-victim one=$base/assay-one two=$base/assay-two groups=''
end() {
    set +e
    trap - EXIT INT TERM
    for group in $groups; do kill -KILL $(cat "$group/cgroup.procs") 2>/dev/null; done
    sleep 1
    for group in $groups; do rmdir "$group"; done
    rm "$storm"
}
trap end EXIT
trap 'exit 130' INT TERM
cc -O2 -o "$storm" "$(dirname "$0")/storm.c"
for group in "$victim" "$one" "$two"; do
    mkdir "$group"
    groups="$groups $group"
done
for start in $(seq "$1"); do
    echo "$(uname -r), start $start, both pairs in one group: $("$storm" "$victim" "$one" "$one")"
    echo "$(uname -r), start $start, a group for each: $("$storm" "$victim" "$one" "$two")"
done
