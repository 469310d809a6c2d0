//! Manifests of each kind against made-up hosts.

use super::*;
use crate::fake::Fake;

mod every_key;

const MIB: u64 = 1 << 20;

fn read(texts: &[(&str, &str)]) -> Manifest {
    let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    manifest(&texts.iter().map(owned).collect::<Vec<_>>()).unwrap()
}

/// `SETTING FILE EXPECTED STANDING` of each row, with the file's name alone.
fn lines(fulfilment: &Told) -> Vec<String> {
    let rows = fulfilment.fulfilments.iter().flat_map(|one| &one.rows);
    rows.map(|row| {
        let file = row.file.as_ref().and_then(|path| path.rsplit('/').next()).unwrap_or("-");
        let standing = match &row.standing {
            Standing::Kept => "kept",
            Standing::Differs => "differs",
            Standing::NotLookedAt(_) => "not looked at",
        };
        format!("{file} {} {standing}", row.expected.as_deref().unwrap_or("-"))
    })
    .collect()
}

const POD: &str = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7f_01.slice";
const SCOPE: &str = "cri-containerd-0a1b0a1b0a1b.scope";

/// The pod of kubernetes#141286: burstable, 256 MiB requested, 512 MiB at most.
const MANIFEST: &str = "
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop, uid: 7f-01}
spec:
  containers:
  - name: web
    resources:
      requests: {cpu: 250m, memory: 256Mi}
      limits: {cpu: 500m, memory: 512Mi}
status:
  containerStatuses:
  - {name: web, containerID: 'containerd://0a1b0a1b0a1b'}
";

const TIERED: &str = "
kind: KubeletConfiguration
memoryReservationPolicy: TieredReservation
memoryThrottlingFactor: 0.9
";

fn host(low: &str) -> Fake {
    let scope = format!("{POD}/{SCOPE}");
    let files = |weight| {
        [
            ("cpu.weight", weight),
            ("cpu.max", "50000 100000"),
            ("memory.max", "536870912"),
            ("memory.min", "0"),
            ("memory.low", low),
        ]
    };
    Fake::v2()
        .group_of("/kubepods.slice", 0, &[])
        .group_of("/kubepods.slice/kubepods-burstable.slice", 0, &[])
        .group_of(POD, 0, &files("10"))
        .also("memory.high", "max")
        .group(&scope, &files("35"))
        .also("memory.high", "510025728")
}

#[test]
fn a_pod_is_held_against_its_group_and_its_containers() {
    let low = (256 * MIB).to_string();
    let manifest = read(&[("pod.yaml", MANIFEST), ("kubelet.yaml", TIERED)]);
    let fulfilment = fulfilment(&manifest, None, &host(&low).snapshot()).unwrap();
    assert!(!fulfilment.differs(), "{}", crate::told_page(&fulfilment).unwrapped());
    assert_eq!(
        lines(&fulfilment),
        [
            "cpu.weight 10 kept",
            "cpu.max 50000 100000 kept",
            "memory.max 536870912 kept",
            "memory.min 0 kept",
            "memory.low 268435456 kept",
            "memory.high max kept",
            "cpu.weight 10 or 35 kept",
            "cpu.max 50000 100000 kept",
            "memory.max 536870912 kept",
            "memory.min 0 kept",
            "memory.low 268435456 kept",
            "memory.high 510025728 kept",
        ]
    );
}

#[test]
fn a_protection_that_was_never_written_differs_and_without_a_configuration_it_is_unknown() {
    let snapshot = host("0").snapshot();
    let both = read(&[("pod.yaml", MANIFEST), ("kubelet.yaml", TIERED)]);
    let found = fulfilment(&both, None, &snapshot).unwrap();
    let differing: Vec<String> =
        lines(&found).into_iter().filter(|line| line.ends_with("differs")).collect();
    assert_eq!(differing, ["memory.low 268435456 differs", "memory.low 268435456 differs"]);
    let alone = fulfilment(&read(&[("pod.yaml", MANIFEST)]), None, &snapshot).unwrap();
    assert!(!alone.differs());
    assert!(alone.fulfilments[0].not_looked_at[0].contains("MemoryQoS"), "{alone:?}");
}

/// kubernetes test/e2e_node/memory_qos_test.go: request and limit in MiB, and `memory.high` at a factor of 0.9.
#[test]
fn memory_high_is_that_of_the_end_to_end_tests() {
    for (request, limit, high) in [
        (64, 512, "489893888"),
        (256, 512, "510025728"),
        (480, 512, "533512192"),
        (64, 256, "248299520"),
        (160, 320, "318767104"),
        (512, 512, "max"),
    ] {
        let pod = format!(
            "kind: Pod\nmetadata: {{uid: 7f-01}}\nspec:\n  containers:\n  - name: web\n    resources: \
             {{requests: {{memory: {request}Mi}}, limits: {{memory: {limit}Mi}}}}\n"
        );
        let fulfilment = fulfilment(
            &read(&[("pod.yaml", &pod), ("k.yaml", TIERED)]),
            None,
            &host("0").snapshot(),
        );
        let last = fulfilment.unwrap().fulfilments[1].rows.pop().unwrap();
        assert_eq!(last.expected.as_deref(), Some(high), "{request} {limit}");
    }
}

#[test]
fn of_several_containers_one_without_a_name_is_not_looked_at() {
    let two = host("0").group(&format!("{POD}/cri-containerd-1a1b0a1b0a1b.scope"), &[]).snapshot();
    let text = MANIFEST.split("status:").next().unwrap();
    let found = fulfilment(&read(&[("pod.yaml", text)]), None, &two).unwrap();
    assert!(lines(&found)[3..].iter().all(|line| line == "- - not looked at"), "{found:?}");
    let unit = Place::Unit("a.service".to_owned());
    assert!(fulfilment(&read(&[("pod.yaml", text)]), Some(&unit), &two).is_err());
}

#[test]
fn what_a_container_calls_its_groups_is_no_container_of_the_pod() {
    let inner = format!("{POD}/{SCOPE}/cri-containerd-1a1b0a1b0a1b.scope");
    let snapshot = host("0").group(&inner, &[]).snapshot();
    let text = MANIFEST.split("status:").next().unwrap();
    let found = fulfilment(&read(&[("pod.yaml", text)]), None, &snapshot).unwrap();
    assert_eq!(
        found.fulfilments[1].group,
        Some(format!("{POD}/{SCOPE}")),
        "the only one of the host"
    );
    let status = MANIFEST.replace("0a1b0a1b0a1b", "1a1b0a1b0a1b");
    let found = fulfilment(&read(&[("pod.yaml", &status)]), None, &snapshot).unwrap();
    assert_ne!(found.fulfilments[1].group, Some(inner), "by an id that it gave itself");
}

/// It was said once for the pod and once more for each container, with all that was asked, and passed as no difference.
#[test]
fn a_pod_that_is_not_there_is_said_once_and_differs() {
    let elsewhere = Fake::v2().group_of("/kubepods.slice", 0, &[]).snapshot();
    let both = read(&[("pod.yaml", MANIFEST), ("kubelet.yaml", TIERED)]);
    let found = fulfilment(&both, None, &elsewhere).unwrap();
    let [pod] = found.fulfilments.as_slice() else { panic!("{found:?}") };
    assert!(pod.group.is_none() && pod.rows.is_empty(), "{pod:?}");
    assert!(pod.not_found.as_ref().unwrap().starts_with("pod shop/web-0 "), "{pod:?}");
    assert!(found.differs());
    let page = crate::told_page(&found).unwrapped();
    assert!(page.contains("0 not looked at, 1 not found;"), "{page}");
    assert_eq!(page.matches("NOT FOUND").count(), 1, "{page}");
    assert!(!page.contains("limits.memory"), "{page}");
}

#[test]
fn a_pod_without_its_container_differs() {
    let parents = ["/kubepods.slice", "/kubepods.slice/kubepods-burstable.slice"];
    let host = parents.iter().fold(Fake::v2(), |host, path| host.group_of(path, 0, &[]));
    let alone = host.group_of(POD, 0, &[]).snapshot();
    let found = fulfilment(&read(&[("pod.yaml", MANIFEST)]), None, &alone).unwrap();
    let [pod, container] = found.fulfilments.as_slice() else { panic!("{found:?}") };
    assert_eq!((pod.group.as_deref(), pod.not_found.as_ref()), (Some(POD), None));
    assert_eq!(container.not_found.as_deref(), Some("container web of the pod"));
}

#[test]
fn a_unit_or_service_that_is_not_there_differs_if_something_is_asked_of_it() {
    let host = Fake::v2().snapshot();
    for (name, text, what) in [
        ("web.service", "[Service]\nCPUWeight=50\n", "a group of unit web.service"),
        ("compose.yaml", "services: {web: {mem_limit: 512m}}", "a container of service web"),
        ("compose.yaml", "services: {web: {container_name: w, mem_limit: 1g}}", "container w"),
    ] {
        let found = fulfilment(&read(&[(name, text)]), None, &host).unwrap();
        let not_found = found.fulfilments[0].not_found.as_ref().unwrap();
        assert!(found.differs() && not_found.starts_with(what), "{not_found}");
    }
    let idle = read(&[("compose.yaml", "services: {idle: {image: x}}")]);
    let found = fulfilment(&idle, None, &host).unwrap();
    assert!(!found.differs() && found.fulfilments[0].not_found.is_none(), "{found:?}");
}

#[test]
fn a_place_that_is_not_there_is_refused() {
    let snapshot = host("0").snapshot();
    let pod = read(&[("pod.yaml", MANIFEST)]);
    let unit = read(&[("a.service", "[Service]\nCPUWeight=50\n")]);
    for (manifest, place, says) in [
        (&pod, Place::Pod("typo".to_owned()), "pod typo (names of pods"),
        (&pod, Place::Group("typo".to_owned()), "group /typo was not found\n  hint: "),
        (&unit, Place::Unit("typo".to_owned()), "a group of unit typo was not found\n  hint: "),
        (&unit, Place::Container("typo".to_owned()), "container typo was not found"),
        (&unit, Place::Group("/typo".to_owned()), "group /typo was not found"),
    ] {
        let why = fulfilment(manifest, Some(&place), &snapshot).unwrap_err();
        assert!(why.starts_with(says) && why.contains("`assay audit --groups`"), "{why}");
    }
    let there = Place::Group(POD.to_owned());
    assert!(fulfilment(&pod, Some(&there), &snapshot).is_ok());
}

const UNIT: &str = "
[Unit]
CPUWeight=5
[Service]
# CPUWeight=6
CPUWeight=50
CPUWeight=400
CPUQuota=150%
MemoryMax=1G
MemoryLow=50%
MemoryLow=
TasksMax=10
AllowedCPUs=0-1
AllowedCPUs=3
IOReadBandwidthMax=/dev/sda1 10M
MemorySwapMax=%i
";

#[test]
fn a_unit_is_held_against_its_group() {
    let snapshot = Fake::v2()
        .disk("sda", "8:0", "[none]")
        .change(|snapshot| {
            let partitions = &mut snapshot.disks[0].partitions;
            partitions.insert("sda1".to_owned(), "8:1".to_owned());
        })
        .group_of("/system.slice", 0, &[])
        .group(
            "/system.slice/web.service",
            &[
                ("cpu.weight", "400"),
                ("cpu.max", "150000 100000"),
                ("memory.max", "536870912"),
                ("pids.max", "10"),
                ("cpuset.cpus", "0-1,3"),
                ("io.max", "8:0 rbps=10000000 wbps=max"),
            ],
        )
        .snapshot();
    let found =
        fulfilment(&read(&[("/etc/systemd/system/web.service", UNIT)]), None, &snapshot).unwrap();
    assert_eq!(
        lines(&found),
        [
            "cpu.weight 400 kept",
            "cpu.max 150000 100000 kept",
            "memory.max 1073741824 differs",
            "- - not looked at",
            "pids.max 10 kept",
            "cpuset.cpus 0-1,3 kept",
            "io.max 8:0 rbps=10000000 kept",
        ],
        "{}",
        crate::told_page(&found).unwrapped()
    );
}

#[test]
fn on_v1_what_systemd_never_writes_differs() {
    let unit = "[Service]\nCPUWeight=200\nMemoryLow=1G\nIOWeight=200\n";
    let memory = Fake::v1("memory").group("/system.slice/a.service", &[]).snapshot();
    let io = [("blkio.bfq.weight", "181")];
    let io = Fake::v1("io").group("/system.slice/a.service", &io).snapshot();
    let snapshot = Fake::v1("cpu")
        .group("/system.slice/a.service", &[("cpu.shares", "2048")])
        .change(|host| {
            for (mut one, mount) in [(memory, "/m"), (io, "/b")] {
                let top = one.hierarchies[0].groups[0].clone();
                let slice = crate::snapshot::Group { path: "/system.slice".to_owned(), ..top };
                one.hierarchies[0].groups.insert(1, slice);
                one.hierarchies[0].mount = mount.into();
                host.hierarchies.extend(one.hierarchies);
            }
        })
        .snapshot();
    let found = fulfilment(&read(&[("a.service", unit)]), None, &snapshot).unwrap();
    assert_eq!(lines(&found), ["cpu.shares 2048 kept", "blkio.bfq.weight 181 kept", "- - differs"]);
    assert!(found.differs());
}

#[test]
fn a_service_of_compose_is_held_against_each_of_its_containers() {
    let compose = "
x-small: &small {mem_limit: 512m, cpu_shares: 512}
services:
  web:
    <<: *small
    memswap_limit: 1g
    deploy: {resources: {limits: {cpus: '0.5', pids: 20}, reservations: {memory: 64M}}}
  idle: {image: x}
";
    let path = |id: &str| format!("/system.slice/docker-{id}.scope");
    let files = [
        ("cpu.weight", "59"),
        ("cpu.max", "50000 100000"),
        ("memory.max", "536870912"),
        ("memory.low", "0"),
        ("memory.swap.max", "536870912"),
        ("pids.max", "20"),
    ];
    let (one, other) = ("0a1b0a1b0a1b", "1a1b0a1b0a1b");
    let snapshot = Fake::v2()
        .group_of("/system.slice", 0, &[])
        .group(&path(one), &files)
        .group(&path(other), &[("cpu.weight", "100")])
        .change(|host| {
            host.names.insert(one.to_owned(), "shop-web-1".to_owned());
            host.names.insert(other.to_owned(), "shop-other-1".to_owned());
        })
        .snapshot();
    let found = fulfilment(&read(&[("compose.yaml", compose)]), None, &snapshot).unwrap();
    assert_eq!(found.fulfilments[0].group.as_deref(), Some(path(one).as_str()));
    assert_eq!(
        lines(&found),
        [
            "cpu.max 50000 100000 kept",
            "cpu.weight 20 or 59 kept",
            "memory.max 536870912 kept",
            "memory.low 67108864 differs",
            "memory.swap.max 536870912 kept",
            "pids.max 20 kept",
        ]
    );
    let page = crate::told_page(&found).unwrapped();
    assert!(page.contains("memory reservation: 67108864  DIFFERS"), "{page}");
}

/// A host with many groups that a user has made costs one walk, however much is asked of it.
#[test]
fn groups_are_walked_once_however_many_services_ask() {
    const GROUPS: usize = 300;
    let mine = "/user.slice/user-1000.slice/user@1000.service";
    let path = |number: usize| format!("{mine}/docker-{number:064x}.scope");
    let host = (0..GROUPS).fold(Fake::v2().group(mine, &[]), |host, at| host.group(&path(at), &[]));
    let snapshot = host.snapshot();
    let service = |at: usize| format!("  s{at}: {{image: x, cpu_shares: 512, mem_limit: 512m}}\n");
    let services: String = (0..40).map(service).collect();
    let manifest = read(&[("compose.yaml", &format!("services:\n{services}"))]);
    let parsed = || owner::tests::PARSED.with(std::cell::Cell::get);
    let before = parsed();
    let found = fulfilment(&manifest, None, &snapshot).unwrap();
    assert_eq!((found.fulfilments.len(), found.differs()), (40, true));
    let walked = snapshot.hierarchies[0].groups.len();
    assert!(walked > GROUPS && parsed() - before == walked, "{} parsed", parsed() - before);
}

#[test]
fn what_a_user_calls_his_groups_is_not_held_against_a_manifest_of_the_host() {
    let mine = "/user.slice/user-1000.slice/user@1000.service/docker-0a1b0a1b0a1b.scope";
    let own = "/system.slice/docker-0a1b0a1b0a1b.scope";
    let groups = |paths: &[&str]| {
        let host = paths
            .iter()
            .fold(Fake::v2(), |host, path| host.group(path, &[("memory.max", "536870912")]));
        let place = Place::Container("0a1b0a".to_owned());
        let manifest = read(&[("compose.yaml", "services: {web: {mem_limit: 512m}}")]);
        let found = fulfilment(&manifest, Some(&place), &host.snapshot()).unwrap();
        found.fulfilments.into_iter().filter_map(|one| one.group).collect::<Vec<_>>()
    };
    assert_eq!(groups(&[mine, own]), [own]);
    assert_eq!(groups(&[mine]), [mine]);
}

#[test]
fn what_is_no_manifest_is_refused_with_the_known_kinds() {
    for text in ["", "a: b", "kind: Service", "[1, 2]", "kind: KubeletConfiguration"] {
        let owned = [("x.yaml".to_owned(), text.to_owned())];
        assert!(manifest(&owned).is_err(), "{text}");
    }
    let wrong = "kind: Pod\nspec: {containers: [{name: a, resources: {limits: {cpu: much}}}]}";
    let owned = [("x.yaml".to_owned(), wrong.to_owned())];
    let error = manifest(&owned).unwrap_err();
    assert!(error.contains("container a: limits.cpu `much` is no amount"), "{error}");
}

/// The library of the runtimes rounds a quota up to 1 % of a CPU for systemd, and writes the same to the file.
#[test]
fn a_quota_that_the_driver_for_systemd_has_rounded_is_kept() {
    let pod = MANIFEST.replace("limits: {cpu: 500m", "limits: {cpu: 125m");
    let differs = |quota: &str| {
        let scope = format!("{POD}/{SCOPE}");
        let snapshot = host("0")
            .change(|host| {
                for group in &mut host.hierarchies[0].groups {
                    if group.path == POD || group.path == scope {
                        let text = Available::Value(quota.to_owned());
                        group.files.insert("cpu.max".to_owned(), text);
                    }
                }
            })
            .snapshot();
        let answer = fulfilment(&read(&[("pod.yaml", &pod)]), None, &snapshot).unwrap();
        lines(&answer).iter().any(|line| line.starts_with("cpu.max") && line.ends_with("differs"))
    };
    assert!(!differs("13000 100000") && !differs("12500 100000"));
    assert!(differs("14000 100000"));
}

/// systemd goes down from what stands in /dev to the disk.
#[test]
fn a_limit_for_a_stacked_device_is_that_of_the_disk_below() {
    let fake = Fake::v2()
        .disk("sda", "8:0", "[none]")
        .stacked("dm-0", "253:0", &["sda"])
        .group("/system.slice", &[])
        .group("/system.slice/shop.service", &[("io.max", "8:0 rbps=10000000")]);
    let unit = "[Service]\nIOReadBandwidthMax=/dev/dm-0 10M\n";
    let answer = fulfilment(&read(&[("shop.service", unit)]), None, &fake.snapshot()).unwrap();
    assert_eq!(lines(&answer), ["io.max 8:0 rbps=10000000 kept"]);
}

#[test]
fn what_the_files_of_a_unit_ask_of_its_group_is_read_with_the_file_that_asks_it() {
    let files = [("cpu.max", "max 100000"), ("memory.max", "100663296"), ("memory.high", "max")];
    let snapshot = Fake::v2()
        .group("/a.service", &files)
        .unit("a.service", &["CPUQuota=30%", "MemoryMax=96M"])
        .snapshot();
    let rows = asked_by_unit(&snapshot, "/a.service");
    let says = |(row, by): &(Row, String)| {
        assert!(by.ends_with("a.service"), "{by}");
        (row.setting.clone(), row.standing == Standing::Kept)
    };
    let says: Vec<(String, bool)> = rows.iter().map(says).collect();
    let is = |setting: &str, is_kept| (setting.to_owned(), is_kept);
    assert_eq!(says, [is("CPUQuota=30%", false), is("MemoryMax=96M", true)]);
    assert!(asked_by_unit(&snapshot, "/b.service").is_empty());
}

/// crun with the manager systemd: the scope of a container has what systemd was asked for, and the group inside what crun writes.
#[test]
fn a_limit_on_the_only_group_inside_is_kept() {
    let compose = "services: {web: {container_name: web, mem_limit: 128m, memswap_limit: 192m, cpu_shares: 512}}";
    let path = "/machine.slice/libpod-0a1b0a1b0a1b.scope";
    let answer = |threads: u64, inside: &str| {
        let host = Fake::v2()
            .group_of("/machine.slice", 0, &[])
            .group_of(
                path,
                threads,
                &[("memory.max", "134217728"), ("memory.swap.max", "201326592")],
            )
            .group(
                &format!("{path}/container"),
                &[("memory.swap.max", inside), ("cpu.weight", "20")],
            )
            .change(|host| _ = host.names.insert("0a1b0a1b0a1b".to_owned(), "web".to_owned()));
        let manifest = read(&[("compose.yaml", compose)]);
        lines(&fulfilment(&manifest, None, &host.snapshot()).unwrap())
    };
    let weight = "cpu.weight 20 or 59 differs";
    let limits = |standing: &str| {
        ["memory.max 134217728 kept".to_owned(), format!("memory.swap.max 67108864 {standing}")]
    };
    let is = |standing: &str| [vec![weight.to_owned()], limits(standing).to_vec()].concat();
    assert_eq!(answer(0, "67108864"), is("kept"));
    assert_eq!(answer(1, "67108864"), is("differs"), "there are processes beside it");
    assert_eq!(answer(0, "max"), is("differs"));
}
