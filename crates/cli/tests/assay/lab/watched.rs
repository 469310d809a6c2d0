//! The eBPF programs on other kernels: what groups wait for, and what they are promised, is known from how they were made. Times of an
//! emulated guest mean nothing; parts of them that are far apart do. The host's own tests cover its own kernel.

use serde_json::Value;

use super::guest::{on_v1, on_v2};
use super::shared::{ARGUMENTS, Visit, visit};

/// Parts of a guest's script about every program: the requests of the disk `$disk`, waiting for CPUs, and weights.
pub(super) const PROGRAMS: &str = r#"
valid() { # a command, up to three times: a machine that waits for its host itself leaves some answers void
    for _ in 1 2 3; do
        "$@" >/run/answer
        code=$?
        [ $code -eq 0 ] && break
    done
    cat /run/answer
    return $code
}
await() { # a command that must succeed, within two minutes
    for _ in $(seq 600); do "$@" && break; sleep 0.2; done
}
# One state has one run at a time.
ASSAY_STATE=/run/beside "$assay" exec -- fio --name=reader --filename="$disk" --rw=randread --bs=4k --direct=1 \
    --ioengine=libaio --iodepth=8 --thread --time_based --runtime=300 >/run/beside.said 2>&1 &
exec=$!
is_there() {
    reader=$(ls -d /sys/fs/cgroup/assay-exec-* /sys/fs/cgroup/cpu,cpuacct/assay-exec-* 2>/run/missing)
    [ -n "$reader" ]
}
await is_there
# fio takes its time to begin on a host that is busy.
reads() { set -- $(cat "/sys/block/${disk##*/}/stat"); echo $1; }
before=$(reads)
has_begun() { [ $(reads) -gt $((before + 100)) ]; }
await has_begun
part requests valid "$assay" blame -o json --for 3s --group "/${reader##*/}"
kill $exec; wait
part waits sh $scripts/../crates/blame/tests/guest/waits.sh $assay
part fairness sh $scripts/../crates/audit/tests/guest/fairness.sh $assay
"#;

fn assert_requests_followed(guest: &Visit) {
    let document = guest.part("requests").json();
    let disks = document["disks"]["value"].as_array();
    let disks = disks.unwrap_or_else(|| panic!("no disks: {document:#}"));
    let is_read = |group: &&Value| group["watched"] == true && group["requests"].as_u64() > Some(0);
    let groups = |disk: &Value| disk["groups"].as_array().unwrap().clone();
    let disk = disks.iter().find(|disk| groups(disk).iter().any(|group| is_read(&group)));
    let disk = disk.unwrap_or_else(|| panic!("no requests of the group: {document:#}"));
    assert_eq!(disk["verdict"], "valid", "{disk:#}");
    let groups = groups(disk);
    let reader = groups.iter().find(is_read).unwrap();
    assert!(reader["device"]["ns"].as_u64() > Some(0), "{reader:#}");
}

fn assert_all_programs_hold(guest: &Visit) {
    for part in ["waits", "fairness"].map(|name| guest.part(name)) {
        assert_eq!(part.code, 0, "{}\n{}", part.text, part.said);
    }
    assert_requests_followed(guest);
}

#[test]
fn all_programs_hold_on_linux_6_1_with_v1() {
    let Some(guest) = on_v1("eBPF programs on 6.1") else { return };
    assert_all_programs_hold(&guest);
}

#[test]
fn all_programs_hold_on_linux_6_12_with_v2() {
    let Some(guest) = on_v2("eBPF programs on 6.12") else { return };
    assert_all_programs_hold(&guest);
}

/// What stalls groups for memory. The host's own test has v1; pages name their group otherwise since 7.x.
const STALLS: &str = r#"
stalls() { # in a file system on the disk
    mkfs.ext4 -q -F "$disk" && mkdir -p /run/stalls && mount "$disk" /run/stalls &&
        sh $scripts/../crates/blame/tests/guest/stalls.sh $assay /run/stalls
}
part stalls stalls
"#;

/// Types and places that the programs use changed since the host's kernel; since 7.3 weights mean something else as well.
#[test]
fn all_programs_hold_on_linux_7_3() {
    let options = [["--cgroup", "v2"], ["--disk", "null_blk:iops=2000,depth=4,size=64MiB"]];
    let script = format!("{ARGUMENTS}disk=$ASSAY_LAB_DISK_1\n{PROGRAMS}{STALLS}");
    let (kernel, test) = ("debian-7.3", "eBPF programs on 7.3");
    let Some(guest) = visit(kernel, test, kernel, options.as_flattened(), &script) else { return };
    assert_all_programs_hold(&guest);
    let part = guest.part("stalls");
    assert_eq!(part.code, 0, "{}\n{}", part.text, part.said);
}
