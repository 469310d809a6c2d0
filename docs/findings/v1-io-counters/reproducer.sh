#!/bin/sh
# Usage, as root with cgroup v1's blkio: sh reproducer.sh STARTS. It needs 64 MiB in /var/tmp.
# Prints what a group is counted for reads of 3276800 bytes: while no group has a limit for the disk, and while another one has.
set -eu
top=$(awk '$3 == "cgroup" && $4 ~ /(^|,)blkio(,|$)/ { print $2; exit }' /proc/mounts)
[ -n "$top" ] || { echo "no cgroup v1 with blkio" >&2; exit 1; }
group=$top/assay-counted other=$top/assay-other groups='' loop='' image=$(mktemp /var/tmp/assay-counted.XXXXXX)
gone() {
    for one in $groups; do rmdir "$one"; done
    groups=''
    [ -n "$loop" ] || return 0
    losetup --detach /dev/loop$loop
    perl -e 'open C, "<", "/dev/loop-control"; ioctl C, 0x4c81, 0 + shift' $loop     # LOOP_CTL_REMOVE
    loop=''
}
end() {
    set +e
    trap - EXIT INT TERM
    gone
    rm "$image"
}
trap end EXIT
trap 'exit 130' INT TERM
truncate -s 64M "$image"
for start in $(seq "$1"); do
    for one in "$group" "$other"; do
        mkdir "$one"
        groups="$groups $one"
    done
    # A device of its own: what counts is whether *this* device ever had a limit, also before it was detached.
    free=100
    while [ -e /sys/block/loop$free ]; do free=$((free + 1)); done
    disk=/dev/loop$free
    losetup $disk "$image"
    loop=$free
    number=$(cat /sys/block/loop$free/dev)
    counted() {
        sh -c "echo 0 >$group/cgroup.procs; exec dd if=$disk of=/dev/null bs=16k count=200 iflag=direct status=none"
        awk -v disk="$number" '$1 == disk && $2 == "Read" { bytes = $3 } END { print bytes + 0 }' "$group/blkio.throttle.io_service_bytes"
    }
    without=$(counted)
    # A limit of 2^60 bytes a second holds nobody up.
    echo "$number 1152921504606846976" >"$other/blkio.throttle.read_bps_device"
    with=$(counted)
    echo "$(uname -r), start $start: $without without any limit, $((with - without)) with a limit in another group"
    gone
done
