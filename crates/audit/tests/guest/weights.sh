#!/bin/sh
# Five hosts whose CPU weights are known from how they were made, and what `assay audit` and `assay fairness` say of them. For a
# guest of any kernel, with cgroup v2 and two CPUs; root.
#
#   weights.sh ASSAY
#
# Prints a line for each statement, and exits with 1 if one is not as it was made.
set -eu
assay=$1
top=/sys/fs/cgroup
answer=$(mktemp)
bad=0 threads= groups=

# Since Linux 7.3 weights are multiplied by runnable threads.
if [ -e /sys/kernel/debug/sched/cgroup_mode ]; then by_threads=1; else by_threads=0; fi
either() { # on this kernel: where weights count once, where they are multiplied
    if [ $by_threads = 0 ]; then echo "$1"; else echo "$2"; fi
}

end_host() {
    for thread in $threads; do kill "$thread" 2>/dev/null || :; done
    wait
    sleep 1
    for group in $groups; do rmdir "$top/$group"; done
    threads= groups=
}
clean() {
    end_host
    rm -f "$answer" "$answer.over"
}
trap clean EXIT

# All on one CPU: there the promise is the same for all groups of a level.
group() { # name, weight, threads
    mkdir "$top/$1"
    groups="$groups $1"
    echo "$2" >"$top/$1/cpu.weight"
    spin "$1" "$3"
}
spin() { # group, threads
    for _ in $(seq "$2"); do
        sh -c 'echo $$ >"$0/cgroup.procs"; exec taskset -c 1 sh -c "while :; do :; done"' "$top/$1" &
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
# With a file mounted over the weight of a group, for those who read it: it says what the kernel does not do. A machine that waits
# for its host itself leaves some answers undecided.
watch() { # a file of a group and its text, if any
    compute
    over=
    if [ $# -gt 0 ]; then
        over=$top/$1
        echo "$2" >"$answer.over"
    fi
    for _ in 1 2 3; do
        # shellcheck disable=SC2016
        unshare --mount sh -c '[ -z "$1" ] || mount --bind "$2" "$1"; shift 2; exec "$@"' watch \
            "$over" "$answer.over" "$assay" fairness --for 30s -o json >"$answer" || [ $? = 1 ]
        rows | grep -q undecided || break
    done
}
rows() { # the verdicts of the top level
    jq -r '.contended.cpu.value[]? | select(.parent == "/") | .rows[].verdict' "$answer"
}
expect() { # what, what is found, what was made
    if [ "$2" = "$3" ]; then
        echo "as made: $1: $2"
    else
        echo "WRONG: $1: $2, not $3"
        bad=1
    fi
}
says() { # a code
    expect "$1" "$(jq -r --arg code "$1" '[.findings[] | select(.code == $code)] | if . == [] then "silent" else "found" end' "$answer")" "$2"
}
worth() { # group, percent of its level
    expect "$1 is worth, %" "$(jq -r --arg group "/$1" '.worth[] | select(.group == $group) | .of_level * 100 | round' "$answer")" "$2"
}
row() { # group
    jq --arg group "/$1" '.contended.cpu.value[] | select(.parent == "/") | .rows[] | select(.group == $group)' "$answer"
}
divided() { # group, verdict, what its notes name or nothing
    row "$1" | jq -c '{group, verdict, basis, promised, got}'
    expect "$1" "$(row "$1" | jq -r .verdict)" "$2"
    expect "$1 is suspected of" "$(row "$1" | jq -r '.notes | join(" ") | [match("C-[A-Z-]+|divides by [0-9]+"; "g").string] | join(" ")')" "$3"
}

echo +cpu >$top/cgroup.subtree_control
echo 0 >/proc/sys/kernel/sched_autogroup_enabled

echo "1: weights in proportion to threads"
group assay-a 100 1
group assay-b 400 4
watch
says A-WEIGHT-MODE "$(either silent found)"
worth assay-a "$(either 20 11)"
worth assay-b "$(either 80 89)"
divided assay-a "$(either kept broken)" "$(either '' C-WEIGHT-MODE)"
divided assay-b "$(either kept broken)" "$(either '' C-WEIGHT-MODE)"
end_host

echo "2: the same weights, as many threads"
group assay-a 100 4
group assay-b 200 4
watch
worth assay-a 33
worth assay-b 67
divided assay-a kept ''
divided assay-b kept ''
end_host

echo "3: the kubelet's weight for two CPUs, as many threads as CPUs want it to have"
group kubepods 79 4
group assay-system 100 1
watch
says A-OUTWEIGHED "$(either found silent)"
says A-WEIGHT-MODE "$(either silent found)"
worth kubepods "$(either 44 61)"
divided kubepods "$(either kept broken)" "$(either '' C-WEIGHT-MODE)"
end_host

echo "4: threads beside groups"
group assay-a 400 4
spin . 2
watch
says A-ROOT-TASKS found
expect "a thread is like" "$(jq -r '[.findings[] | select(.code == "A-ROOT-TASKS") | .. | .sentence? // empty][0]' "$answer" | sed 's/.*like //')" \
    "$(either 'one of weight 100' 'one of weight 100 with one runnable thread')"
end_host

echo "5: a weight that its file says and the kernel does not have"
group assay-a 100 4
group assay-b 100 4
watch assay-b/cpu.weight 300
divided assay-a broken ''
divided assay-b broken 'divides by 100'
end_host
exit $bad
