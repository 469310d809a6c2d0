#!/bin/sh
# Five hosts in one, whose CPU weights are known from how they were made, and what `assay fairness` and `assay audit` say of them. For
# a guest of any kernel, with two CPUs; root, with assay-load in its path.
#
#   fairness.sh ASSAY
#
# Prints a line for each statement, and exits with 1 if one is not as it was made.
set -eu
assay=$1
answer=$(mktemp)
: >"$answer.begun"
bad=0 threads=
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    v2=1 top=/sys/fs/cgroup file=cpu.weight
    echo +cpu >$top/cgroup.subtree_control
else
    v2=0 top=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2 }' /proc/mounts) file=cpu.shares
fi
sched=/sys/kernel/debug/sched
# Since Linux 7.3 weights are multiplied by runnable threads.
if [ -e $sched/cgroup_mode ]; then by_threads=1; else by_threads=0; fi
either() { # on this kernel: where weights count once, where they are multiplied
    if [ $by_threads = 0 ]; then echo "$1"; else echo "$2"; fi
}
of_version() { # on v1, on v2
    if [ $v2 = 0 ]; then echo "$1"; else echo "$2"; fi
}

clean() {
    for thread in $threads; do kill "$thread" 2>/dev/null || :; done
    wait
    sleep 1
    find $top/kubepods $top/assay-system -depth -type d -exec rmdir {} \;
    rm -f "$answer" "$answer.over" "$answer.all" "$answer.made" "$answer.begun"
}
trap clean EXIT

# All on one CPU: there the promise is the same for all groups of a level.
weight() { # in the unit of v2
    of_version $(($1 * 1024 / 100)) "$1"
}
group() { # name, weight, threads
    mkdir "$top/$1"
    weight "$2" >"$top/$1/$file"
    spin "$1" "$3"
}
parent() { # name, weight
    group "$1" "$2" 0
    [ $v2 = 0 ] || echo +cpu >"$top/$1/cgroup.subtree_control"
}
spin() { # group, threads
    [ "$2" -gt 0 ] || return 0
    (echo 0 >"$top/$1/cgroup.procs"; exec taskset -c 1 assay-load spin --threads "$2" --time 900 2>>"$answer.begun" >/dev/null) &
    threads="$threads $!"
}
# All that is asked of an answer, a line each: emulated, a start of jq takes a second.
find_all() {
    jq -r '([.findings[].code] | unique[] | "says \(.)"),
        (.findings[] | select(.code == "A-ROOT-TASKS") | .. | .sentence? // empty | sub(".*like "; "a thread is like ")),
        (.worth[] | "worth \(.group) \(.of_level * 100 | round) %"),
        (.contended.cpu.value[]?.rows[] | "got \(.group) \(.got.value): \(.promised)",
            "divided \(.group) \(.verdict)\(.notes | join(" ") | [match("C-[A-Z-]+|divides by [0-9]+"; "g").string] | map(" " + .) | add // "")")
    ' "$answer" >"$answer.all"
}
expect() { # a line
    if grep -qxF "$1" "$answer.all"; then
        echo "as made: $1"
    else
        echo "WRONG, not: $1"
        bad=1
    fi
}
silent() { # the beginning of a line
    if grep -F "$1" "$answer.all"; then
        echo "WRONG: it $1"
        bad=1
    fi
}

echo 0 >/proc/sys/kernel/sched_autogroup_enabled
# Turns of 1 ms as on Debian's kernels since 7, not those of a tick of 4 ms: a shorter time decides.
case $(uname -r) in [1-6].*)
    for turn in base_slice_ns min_granularity_ns; do
        [ ! -e $sched/$turn ] || echo 1000000 >$sched/$turn
    done
    echo HRTICK >$sched/features
    ;;
esac
# The kubelet's weight for two CPUs, with as many threads as CPUs want it to have, beside a service. In it: a larger weight
# for more threads; the same weights, with as many threads; and a weight that its file says and the kernel does not have.
group assay-system 100 1
parent kubepods 79
parent kubepods/larger 100
group kubepods/larger/a 100 1
group kubepods/larger/b 200 4
parent kubepods/same 100
group kubepods/same/a 100 4
group kubepods/same/b 200 4
parent kubepods/over 100
group kubepods/over/a 100 4
group kubepods/over/b 100 4

# All have begun: each says what memory it will use, and then computes. In an emulated guest on a busy host that takes seconds.
for _ in $(seq 300); do
    [ "$(grep -c footprint "$answer.begun")" -lt "$(echo $threads | wc -w)" ] || break
    sleep 0.2
done
sleep 2
of_groups() { # what is said of the groups, a line each
    echo "worth /kubepods $(either 44 61) %
divided /kubepods $(either kept "broken C-WEIGHT-MODE")
worth /kubepods/larger/a $(either 33 20) %
worth /kubepods/larger/b $(either 67 80) %
worth /kubepods/same/a 33 %
worth /kubepods/same/b 67 %"
    for one in a b; do
        echo "divided /kubepods/larger/$one $(either kept "broken C-WEIGHT-MODE")
divided /kubepods/same/$one kept"
    done
    echo "divided /kubepods/over/a broken
divided /kubepods/over/b broken divides by $(weight 100)"
}
of_groups >"$answer.made"
# With a file mounted over the weight of a group, for those who read it. A machine that waits for its host itself leaves some answers
# undecided, and some causes.
weight 300 >"$answer.over"
for seconds in 12 30 60; do
    # shellcheck disable=SC2016
    unshare --mount sh -c 'mount --bind "$1" "$2"; shift 2; exec "$@"' watch "$answer.over" "$top/kubepods/over/b/$file" \
        "$assay" fairness --for ${seconds}s -o json >"$answer" || [ $? = 1 ]
    find_all
    grep -vxFf "$answer.all" "$answer.made" || break
done
grep '^got /kubepods' "$answer.all"

if [ $by_threads = 1 ]; then expect "says A-WEIGHT-MODE"; else silent "says A-WEIGHT-MODE"; fi
if [ $by_threads$v2 = 01 ]; then expect "says A-OUTWEIGHED"; else silent "says A-OUTWEIGHED"; fi
while read -r line; do expect "$line"; done <"$answer.made"

# Threads beside groups.
spin . 2
"$assay" audit -o json >"$answer" || [ $? = 1 ]
find_all
expect "says A-ROOT-TASKS"
expect "a thread is like one of $(of_version "1024 shares" "weight 100")$(either '' ' with one runnable thread')"
exit $bad
