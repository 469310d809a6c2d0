//! Every key that asks for a resource is compared, or named: problems of users, rebuilt small.

use super::{lines, read};
use crate::fake::Fake;
use crate::fulfilment::{Standing, fulfilment};

/// `SETTING: STANDING` of each row.
fn rows(manifests: &[(&str, &str)], host: Fake) -> Vec<String> {
    let answer = fulfilment(&read(manifests), None, &host.snapshot()).unwrap();
    let rows = answer.fulfilments.iter().flat_map(|one| &one.rows);
    let words = rows.map(|row| match &row.standing {
        Standing::Kept => format!("{}: kept", row.setting),
        Standing::Differs => format!("{}: DIFFERS", row.setting),
        Standing::NotLookedAt(why) => format!("{}: {why}", row.setting),
    });
    words.collect()
}

const CONTAINER: &str = "/system.slice/docker-5a5b5a5b5a5b.scope";

fn container(files: &[(&str, &str)]) -> Fake {
    let host = Fake::v2().disk("sda", "8:0", "[none]").group_of("/system.slice", 0, &[]);
    host.group(CONTAINER, files).change(|host| {
        host.disks[0].partitions = [("sda1".to_owned(), "8:1".to_owned())].into();
        host.names.insert("5a5b5a5b5a5b".to_owned(), "indexer".to_owned());
    })
}

/// docker/compose#8831 and docker/cli#5321.
#[test]
fn limits_of_devices_in_a_compose_file_are_compared_and_the_rest_is_named() {
    let compose = "
services:
  indexer:
    blkio_config:
      device_read_iops: [{path: /dev/sda, rate: 15}]
      device_write_bps: [{path: /dev/sda1, rate: 10mb}, {path: /dev/sda, rate: 1mb}]
      weight_device: [{path: /dev/sda, weight: 400}]
    mem_swappiness: 10
    oom_kill_disable: true
    cgroup_parent: jobs.slice
    ulimits: {nproc: 200}
    mem_limits: 1g
    image: x
";
    let host = container(&[("io.max", "8:0 rbps=max wbps=1048576 riops=max wiops=max")]);
    let expected = [
        "mem_swappiness: 10: DIFFERS",
        "oom_kill_disable: true: DIFFERS",
        "cgroup_parent: jobs.slice: DIFFERS",
        "blkio_config.device_write_bps: /dev/sda1 10mb: DIFFERS",
        "blkio_config.device_write_bps: /dev/sda 1mb: kept",
        "blkio_config.device_read_iops: /dev/sda 15: DIFFERS",
        "blkio_config.weight_device: /dev/sda 400: DIFFERS",
        "mem_limits: this key is not known",
        "ulimits: limits of its processes",
    ];
    assert_eq!(rows(&[("compose.yml", compose)], host), expected);
}

/// raspberrypi/linux#5933: a controller that is off is no gap in what is known.
#[test]
fn what_is_asked_of_a_controller_that_is_off_differs() {
    let answer = |cgroups: &str, controllers: &[&str]| {
        let compose = ("compose.yml", "services: {indexer: {mem_limit: 512m}}");
        let host = container(&[]).host_file("/proc/cgroups", cgroups).change(|host| {
            host.hierarchies[0].controllers = controllers.iter().map(ToString::to_string).collect();
        });
        rows(&[compose], host)
    };
    let off = "#subsys_name hierarchy num_cgroups enabled\nmemory 0 39 0";
    assert_eq!(answer(off, &["cpu"]), ["memory limit: 536870912: DIFFERS"]);
    assert_eq!(answer("", &["cpu"]), ["memory limit: 536870912: DIFFERS"]);
    // Mounted by somebody else, where this cannot be seen.
    let elsewhere = answer("memory 7 39 1", &["cpu"]);
    assert_eq!(elsewhere, ["memory limit: 536870912: no hierarchy of memory is mounted"]);
}

const POD: &str = "
kind: Pod
metadata: {name: vm-0, namespace: vms, uid: 7f-01}
spec:
  initContainers:
  - name: side
    restartPolicy: Always
    resources: {limits: {cpu: 100m, memory: 1Gi}}
  containers:
  - name: worker
    resources:
      limits: {cpu: '2', memory: 1Gi, hugepages-1Gi: 4Gi, nvidia.com/gpu: 1}
status:
  containerStatuses: [{name: worker, containerID: 'containerd://0a1b0a1b0a1b'}]
  initContainerStatuses: [{name: side, containerID: 'containerd://1a1b0a1b0a1b'}]
";

const STATIC: &str = "
kind: KubeletConfiguration
cpuManagerPolicy: static
podPidsLimit: 4096
singleProcessOOMKill: false
memorySwap: {swapBehavior: LimitedSwap}
";

/// kubernetes#138731 and kubernetes#85938.
#[test]
fn cpus_of_its_own_and_huge_pages_are_read_and_not_inferred() {
    let answer = |cpus: &str, huge: &str, state: Option<&str>| {
        let pod = "/kubepods.slice/kubepods-pod7f_01.slice";
        let of = |id: &str| format!("{pod}/cri-containerd-{id}.scope");
        let files = [("cpuset.cpus", cpus), ("hugetlb.1GB.max", huge), ("cpu.max", "max 100000")];
        let host = Fake::v2().group_of("/kubepods.slice", 0, &[]).group_of(pod, 0, &files);
        let host = host.also("pids.max", "4096").group(&of("0a1b0a1b0a1b"), &files);
        let host = host.group(&of("1a1b0a1b0a1b"), &files).change(|host| {
            host.hierarchies[0].controllers.push("hugetlb".to_owned());
            host.hierarchies[0].groups[4].files.remove("cpuset.cpus");
        });
        let host = state
            .into_iter()
            .fold(host, |host, text| host.host_file("/var/lib/kubelet/cpu_manager_state", text));
        rows(&[("pod.yaml", POD), ("kubelet.yaml", STATIC)], host)
    };
    let state = r#"{"policyName":"static","entries":{"7f-01":{"worker":"2-3"}},"checksum":1}"#;
    for (cpus, state, standing) in [
        ("0-7", Some(state), "DIFFERS"),
        ("4-5", Some(state), "DIFFERS"),
        ("2-3", Some(state), "kept"),
        ("0-7", None, "DIFFERS"),
        ("", None, "DIFFERS"),
        ("4-5", None, "kept"),
    ] {
        let rows = answer(cpus, "4294967296", state);
        let has = |row: &str| assert!(rows.iter().any(|own| own == row), "{row}: {rows:#?}");
        has(&format!("limits.cpu: 2000m: {standing}"));
        has("limits.hugepages-1Gi: 4294967296: kept");
        has("podPidsLimit: 4096: kept");
        // Azure/AKS#5434.
        has("singleProcessOOMKill: false: DIFFERS");
        has("limits.cpu: 100m: DIFFERS");
        has("limits.nvidia.com/gpu: not compared: it stands in no file of the group");
    }
    let rows = answer("2-3", "max", Some(state));
    let differing = rows.iter().filter(|row| row.contains("hugepages") && row.ends_with("DIFFERS"));
    assert_eq!(differing.count(), 2, "{rows:#?}");
}

/// Of a container below its limit, by its part of 16 GiB of memory and 1 GiB of swap.
#[test]
fn swap_of_containers_follows_the_kubelets_configuration() {
    let pod = |resources: &str| {
        let pod = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7f_01.slice";
        let container = format!("{pod}/cri-containerd-0a1b0a1b0a1b.scope");
        let host = Fake::v2().group_of("/kubepods.slice", 0, &[]);
        let host = host.group_of("/kubepods.slice/kubepods-burstable.slice", 0, &[]);
        let host = host.group_of(pod, 0, &[]).group(&container, &[("memory.swap.max", "67108864")]);
        let text = format!(
            "kind: Pod\nmetadata: {{uid: 7f-01}}\nspec: {{containers: [{{name: a, resources: {resources}}}]}}\n"
        );
        let manifest = read(&[("pod.yaml", &text), ("kubelet.yaml", STATIC)]);
        let answer = fulfilment(&manifest, None, &host.snapshot()).unwrap();
        let found = lines(&answer).into_iter().filter(|line| line.starts_with("memory.swap.max"));
        found.collect::<Vec<String>>()
    };
    let kept = ["memory.swap.max 67108864 kept"];
    assert_eq!(pod("{requests: {memory: 1Gi}, limits: {memory: 2Gi}}"), kept);
    let none = ["memory.swap.max 0 differs"];
    assert_eq!(pod("{requests: {cpu: 1}, limits: {memory: 2Gi}}"), none);
}

/// kubernetes#128284.
#[test]
fn a_kubelets_configuration_alone_limits_groups_of_the_node() {
    let config = "
kind: KubeletConfiguration
enforceNodeAllocatable: [pods, system-reserved]
systemReserved: {memory: 1536Mi, cpu: 500m}
systemReservedCgroup: /system.slice
";
    let answer = |max: &str| {
        let files = [("memory.max", max), ("cpu.weight", "20")];
        let host = Fake::v2().group("/system.slice", &files);
        rows(&[("kubelet.yaml", config)], host)
    };
    let cpu = "systemReserved.cpu: 500m: kept";
    assert_eq!(answer("max"), [cpu, "systemReserved.memory: 1610612736: DIFFERS"]);
    assert_eq!(answer("1610612736"), [cpu, "systemReserved.memory: 1610612736: kept"]);
}

/// containers/qm#715.
#[test]
fn a_quadlet_is_a_unit_and_a_container() {
    let quadlet = "[Service]\nMemoryMax=50%\nSlice=QM.slice\n[Container]\nContainerName=qm\nPidsLimit=20\nPodmanArgs=--cpus 2 --memory=1g\n";
    let host = Fake::v2()
        .group_of("/QM.slice", 0, &[])
        .group("/QM.slice/qm.service", &[("memory.max", "8589934592")])
        .group("/QM.slice/qm.service/libpod-5a5b5a5b5a5b.scope", &[("pids.max", "20")])
        .change(|host| _ = host.names.insert("5a5b5a5b5a5b".to_owned(), "qm".to_owned()));
    let expected = [
        "cpus: 2: DIFFERS",
        "memory limit: 1073741824: DIFFERS",
        "pids: 20: kept",
        "MemoryMax=50%: kept",
        "Slice=QM.slice: kept",
    ];
    assert_eq!(rows(&[("qm.container", quadlet)], host), expected);
}

/// podman#27305: the names of containers are read only by root, and before podman 5.5 `Memory=` was no key of a quadlet.
#[test]
fn the_container_of_a_quadlet_is_found_in_the_group_of_its_unit() {
    let host = Fake::v2()
        .group_of("/system.slice", 0, &[])
        .group_of("/system.slice/hello.service", 0, &[])
        .group("/system.slice/hello.service/libpod-payload-5a5b5a5b5a5b", &[("memory.max", "max")])
        .group("/system.slice/hello.service/runtime", &[("memory.max", "max")]);
    let quadlet = "[Container]\nImage=httpd\nMemory=200m\n";
    assert_eq!(rows(&[("hello.container", quadlet)], host), ["memory limit: 209715200: DIFFERS"]);
}

/// systemd#30366: files count by their names, whichever folder they are in.
#[test]
fn a_setting_that_another_drop_in_overrides_names_it() {
    let host = Fake::v2()
        .group("/user.slice", &[])
        .group("/user.slice/user-7.slice", &[("memory.high", "236978176")])
        .unit("user-7.slice", &["MemoryHigh=1G", "MemoryHigh=226M"]);
    let unit = "[Slice]\nMemoryHigh=1G\n";
    let answer = fulfilment(&read(&[("user-7.slice", unit)]), None, &host.snapshot()).unwrap();
    let row = &answer.fulfilments[0].rows[0];
    assert_eq!(row.standing, Standing::Differs);
    assert_eq!(row.how, "/etc/systemd/system/user-7.slice says MemoryHigh=226M");
    assert!(!answer.fulfilments[0].is_empty);
}

/// gvisor#12391: the runtime put the pod's processes elsewhere, and all files of the pod are kept.
#[test]
fn a_group_in_which_nothing_runs_is_said_to_be_empty() {
    let host = Fake::v2().group_of("/system.slice", 0, &[]).group_of(
        "/system.slice/a.service",
        0,
        &[("memory.max", "1048576")],
    );
    let unit = "[Service]\nMemoryMax=1M\n";
    let answer = fulfilment(&read(&[("a.service", unit)]), None, &host.snapshot()).unwrap();
    assert!(answer.fulfilments[0].is_empty);
    assert!(crate::told_page(&answer).unwrapped().contains("EMPTY  nothing runs in this group"));
}

#[test]
fn keys_of_units_that_ask_for_something_are_compared_or_named() {
    let unit = "[Service]\nExecStart=/bin/x\nMemoryAccounting=yes\nIOSchedulingClass=idle\nLimitNOFILE=5\nMemoryMaxx=1G\n\
                OOMPolicy=kill\nMemoryZSwapWriteback=no\nSlice=jobs.slice\nIPAddressDeny=any\nManagedOOMSwap=kill\nIODeviceWeight=/dev/sda 123\n";
    let files =
        [("memory.oom.group", "0"), ("memory.zswap.writeback", "0"), ("io.weight", "default 123")];
    let host = Fake::v2()
        .disk("sda", "8:0", "[none]")
        .group_of("/system.slice", 0, &[])
        .group("/system.slice/a.service", &files);
    let expected = [
        // systemd#34219.
        "IODeviceWeight=/dev/sda 123: DIFFERS",
        "MemoryZSwapWriteback=no: kept",
        "OOMPolicy=kill: DIFFERS",
        "Slice=jobs.slice: DIFFERS",
        "IOSchedulingClass=idle: a setting of its processes",
        "IPAddressDeny=any: a program of the kernel does it; it stands in no file",
        "LimitNOFILE=5: a setting of its processes",
        "ManagedOOMSwap=kill: read by systemd-oomd; it stands in no file",
        "MemoryMaxx=1G: not compared",
    ];
    assert_eq!(rows(&[("a.service", unit)], host), expected);
}

/// Problems of users, each with what its manifest says and its group's files.
#[test]
fn reported_settings_are_compared_with_the_files_of_their_groups() {
    let compose = |keys: &str, files: &[(&str, &str)]| {
        let text = format!("services: {{indexer: {{{keys}}}}}");
        rows(&[("compose.yml", &text)], container(files))
    };
    // The first container of a pod, and a sandbox of its own where that is what the pod has.
    let pod = |resources: &str, id: &str, files: &[(&str, &str)]| {
        let pod = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7f_01.slice";
        let host = Fake::v2().group_of("/kubepods.slice", 0, &[]);
        let host = host.group_of("/kubepods.slice/kubepods-burstable.slice", 0, &[]);
        let host = host.group_of(pod, 0, files);
        let host = host.group(&format!("{pod}/cri-containerd-{id}.scope"), files);
        let text = format!(
            "kind: Pod\nmetadata: {{uid: 7f-01}}\nspec: {{containers: [{{name: a, resources: {resources}}}]}}\n\
             status: {{containerStatuses: [{{name: a, containerID: 'containerd://0a1b0a1b0a1b'}}]}}\n"
        );
        rows(&[("pod.yaml", &text)], host)
    };
    let (own, sandbox) = ("0a1b0a1b0a1b", "9a9b9a9b9a9b");
    for (source, found, expected) in [
        (
            "containers/crun#223",
            compose("cpus: 0.42, mem_limit: 42m", &[("memory.max", "44040192")]),
            ["cpus: 0.42: DIFFERS", "memory limit: 44040192: kept"].as_slice(),
        ),
        (
            "opencontainers/runc#4896",
            compose("cpu_shares: 2000", &[("cpu.weight", "170")]),
            &["cpu_shares: 2000: kept"],
        ),
        (
            "damentz/liquorix-package#231",
            compose("cpus: 0.5", &[("cpu.max", "max 100000")]),
            &["cpus: 0.5: DIFFERS"],
        ),
        ("docker/compose#8466", compose("mem_swappiness: 0", &[]), &["mem_swappiness: 0: DIFFERS"]),
        (
            "kubernetes#118371",
            pod(
                "{limits: {cpu: 500m}}",
                own,
                &[("cpu.max", "150000 100000"), ("cpu.weight", "20")],
            ),
            &["limits.cpu: 500m in all: DIFFERS", "limits.cpu: 500m: DIFFERS"],
        ),
        (
            "containerd#12496",
            pod(
                "{limits: {cpu: 1115m}}",
                own,
                &[("cpu.max", "112000 100000"), ("cpu.weight", "44")],
            ),
            &["limits.cpu: 1115m in all: kept", "limits.cpu: 1115m: kept"],
        ),
        (
            "gvisor#13777",
            pod("{limits: {memory: 1Gi}}", sandbox, &[("memory.max", "max")]),
            &["limits.memory: 1073741824 in all: DIFFERS"],
        ),
    ] {
        let said: Vec<&str> = found.iter().map(String::as_str).collect();
        for row in expected {
            assert!(said.contains(row), "{source}: {row} is not in {said:#?}");
        }
    }
}

/// kubernetes#124096: a pod of the class BestEffort may not swap.
#[test]
fn a_pod_without_requests_has_no_swap_of_its_own() {
    let pod = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod7f_01.slice";
    let host = Fake::v2().group_of("/kubepods.slice", 0, &[]);
    let host = host.group_of("/kubepods.slice/kubepods-besteffort.slice", 0, &[]);
    let host = host.group_of(pod, 0, &[]);
    let host = host
        .group(&format!("{pod}/cri-containerd-0a1b0a1b0a1b.scope"), &[("memory.swap.max", "max")]);
    let text = "kind: Pod\nmetadata: {uid: 7f-01}\nspec: {containers: [{name: a, image: b}]}\n";
    let found = rows(&[("pod.yaml", text), ("kubelet.yaml", STATIC)], host);
    let swap = "memorySwap.swapBehavior: LimitedSwap: DIFFERS".to_owned();
    assert!(found.contains(&swap), "{found:#?}");
}
