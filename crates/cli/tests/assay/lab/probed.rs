//! `assay probe` on cgroup v2: units of a real systemd, as it made them, and after somebody else changed their groups.

use assay_test_support::skip;
use serde_json::Value;

use super::guest::on_v2;

/// Parts of a guest's script after those of systemd, which runs as the first process of a namespace.
pub(super) const PROBED: &str = r#"
if [ -x /lib/systemd/systemd ]; then
    groups=/sys/fs/cgroup
    there() { nsenter --target "$(pgrep -o -x systemd)" --pid --mount "$@"; }
    probe() { there "$assay" probe -o json --unit "$@"; }
    # systemd takes back what it does not know of, so that it comes first.
    for unit in db.slice lone.service; do there systemctl set-property --runtime $unit DevicePolicy=closed; done
    sleep 1
    echo "+io +hugetlb" >$groups/cgroup.subtree_control; echo "+io +hugetlb" >$groups/db.slice/cgroup.subtree_control
    echo 4 >/proc/sys/vm/nr_hugepages
    echo 4M >$groups/db.slice/cache.service/hugetlb.2MB.max
    echo "$(cat "/sys/block/${ASSAY_LAB_DISK_3##*/}/dev") riops=500" >$groups/db.slice/cache.service/io.max
    echo 8M >$groups/db.slice/cache.service/memory.swap.max
    part probe-memory probe cache.service --only memory,hugetlb,pids,io
    part probe-cpu probe batch.service --only cpu
    part probe-quota-inside probe batch.service --only cpu --inside --yes
    part probe-inside probe lone.service --only cpuset,devices --inside --yes
    mkdir $groups/threads $groups/threads/in; echo "+cpu +pids" >$groups/threads/cgroup.subtree_control
    echo threaded >$groups/threads/in/cgroup.type; echo 50 >$groups/threads/in/pids.max
    sleep 600 & echo $! >$groups/threads/cgroup.procs; echo $! >$groups/threads/in/cgroup.procs
    part probe-threaded "$assay" probe -o json --group /threads/in --only pids
    echo max >$groups/web.slice/batch.service/cpu.max
    part probe-taken probe batch.service --only cpu
    echo 48M >$groups/db.slice/memory.max; echo -pids >$groups/db.slice/cgroup.subtree_control
    part probe-lost probe cache.service --only memory,pids
    part probe-left find $groups -name 'assay-probe*'
fi
"#;

/// `FILE VERDICT` of each limit.
fn verdicts(document: &Value) -> Vec<String> {
    let answers = document["answers"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    answers.map(|one| format!("{} {}", text(&one["knob"]), text(&one["verdict"]))).collect()
}

#[test]
fn limits_of_units_act_on_v2_and_what_somebody_else_took_away_is_named() {
    let test = "probes on v2";
    let Some(guest) = on_v2(test) else { return };
    if !guest.parts.contains_key("probe-memory") {
        return skip(test, "no systemd on this host, whose programs the guest has");
    }
    let document = |part: &str, code: i32| {
        let part = guest.part(part);
        assert_eq!(part.code, code, "{part:?}");
        part.json()
    };
    let memory = document("probe-memory", 0);
    let mut of_memory = verdicts(&memory);
    // That slice lets nobody open a disk. With fast swap a group above memory.high is hardly slower, and beside another guest swap is too slow for a twin.
    for file in ["memory.swap.max", "memory.high"] {
        let at = of_memory.iter().position(|one| one.starts_with(file)).unwrap();
        assert_ne!(of_memory.remove(at), format!("{file} not-enforced"), "{memory:#}");
    }
    let files = ["memory.max", "hugetlb.2MB.max", "pids.max", "io.max"];
    assert_eq!(of_memory, files.map(|file| format!("{file} enforced")), "{memory:#}");
    let asked = &memory["answers"][0]["asked"];
    assert_eq!(asked["value"], "MemoryMax=96M", "{memory:#}");
    // Beside another guest a twin may have no more CPU time than the quota.
    let cpu = document("probe-cpu", 0);
    assert_eq!(verdicts(&cpu).len(), 1, "{cpu:#}");

    let quota = &document("probe-quota-inside", 0)["answers"][0];
    assert_ne!(quota["verdict"], "not-enforced", "{quota:#}");
    assert!(quota["measured"].to_string().contains("a probe outside of the group"), "{quota:#}");
    let inside = document("probe-inside", 0);
    let files = ["cpuset.cpus enforced", "device program enforced"];
    assert_eq!(verdicts(&inside), files, "{inside:#}");
    assert!(inside.to_string().contains("a probe in the group"), "{inside:#}");
    let threaded = document("probe-threaded", 0);
    assert_eq!(verdicts(&threaded), ["pids.max enforced"], "{threaded:#}");

    let taken = &document("probe-taken", 1)["answers"][0];
    assert_eq!(
        taken["reason"], "CPUQuota=30% was asked for, and the file says max 100000",
        "{taken:#}"
    );
    let lost = document("probe-lost", 1);
    let reason = |at: usize| lost["answers"][at]["reason"].as_str().unwrap_or_default();
    assert_eq!(reason(0), "/db.slice above it has 48 MiB, less than its 96 MiB", "{lost:#}");
    let says = "TasksMax=90 was asked for, and the group has no pids.max: ";
    assert!(reason(3).starts_with(says), "{lost:#}");
    assert_eq!(guest.part("probe-left").text, "");
}
