#!/bin/sh
# reproducer.sh STARTS: as root, cgroup v2 with PSI, two CPUs. Two loops share CPU 0 in a group, so that one of them always waits. Prints for
# each start how much of the time its cpu.pressure counts, in percent: alone, and while user 65534 reads that file in a loop on CPU 1.
set -eu
top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts) processes=''
group=$top/assay-psi-reads
end() {
    set +e
    trap - EXIT INT TERM
    for process in $processes; do kill -KILL "$process"; done 2>/dev/null
    wait
    sleep 0.5
    rmdir "$group"
}
# Milliseconds since boot, and what the group has stalled for.
now() { awk 'FNR == NR { time = int($1 * 1000); next } /^some/ { sub(".*total=", ""); print time, int($0 / 1000) }' /proc/uptime "$group/cpu.pressure"; }
count() {
    set -- $(now)
    sleep 3
    set -- "$1" "$2" $(now)
    echo $((($4 - $2) * 100 / ($3 - $1)))
}
mkdir "$group"
trap end EXIT
trap 'exit 130' INT TERM
for loop in 1 2; do
    sh -c "echo 0 >$group/cgroup.procs; exec taskset -c 0 sh -c 'while :; do :; done'" &
    processes="$processes $!"
done
sleep 1
for start in $(seq "$1"); do
    alone=$(count)
    taskset -c 1 setpriv --reuid 65534 --regid 65534 --clear-groups sh -c "while :; do read -r line <$group/cpu.pressure; done" &
    reader=$!
    processes="$processes $reader"
    read=$(count)
    kill -KILL "$reader"
    echo "start $start: $alone % alone, $read % while it is read"
done
