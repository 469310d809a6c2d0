//! This host, compared with other tools.

use std::process::Command;

use assay_host::facts::Available;
use assay_sys::kernel::Root;

fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[test]
fn processors_and_nodes_agree_with_lscpu() {
    let facts = assay_host::gather(&Root::real()).unwrap();
    let Some(table) = output_of("lscpu", &["--parse=CPU,CORE,SOCKET,NODE"]) else {
        return assay_test_support::skip("processors as lscpu sees them", "no lscpu (util-linux)");
    };
    let lines: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(',').collect())
        .collect();
    assert_eq!(lines.len(), facts.cpus.online.len());
    let cores: std::collections::BTreeSet<(&str, &str)> =
        lines.iter().map(|line| (line[1], line[2])).collect();
    assert_eq!(cores.len(), facts.cpus.cores.len());
    for line in lines.iter().filter(|line| !line[3].is_empty()) {
        let node: u16 = line[3].parse().unwrap();
        let node = facts.nodes.iter().find(|candidate| candidate.id == node).unwrap();
        assert!(node.cpus.contains(line[0].parse().unwrap()));
    }
}

#[test]
fn the_kernel_and_the_user_agree_with_uname_and_id() {
    let facts = assay_host::gather(&Root::real()).unwrap();
    assert_eq!(output_of("uname", &["-n"]), Some(facts.host_name));
    assert_eq!(output_of("uname", &["-r"]), Some(facts.kernel));
    assert_eq!(output_of("uname", &["-m"]), Some(facts.architecture));
    assert_eq!(output_of("id", &["-u"]), Some(facts.effective_user.to_string()));
}

#[test]
fn a_tool_is_reported_with_its_version() {
    let facts = assay_host::gather(&Root::real()).unwrap();
    let found = &facts.tools["fio"].found;
    match (output_of("fio", &["--version"]), found) {
        (Some(version), Available::Value(text)) => assert!(text.starts_with(&version), "{text}"),
        (None, Available::NotAvailable(_)) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(facts.tools["mkfs.xfs"].package, "xfsprogs");
}

#[test]
fn all_disks_in_sysfs_are_listed() {
    let facts = assay_host::gather(&Root::real()).unwrap();
    for disk in facts.disks.iter().filter(|disk| !disk.name.starts_with("loop")) {
        let text = std::fs::read_to_string(format!("/sys/block/{}/dev", disk.name)).unwrap();
        assert_eq!(text.trim(), format!("{}:{}", disk.major, disk.minor));
    }
    let root = output_of("findmnt", &["-n", "-o", "SOURCE", "/"]).unwrap_or_default();
    let holds_root = |disk: &&assay_host::facts::Disk| {
        root.strip_prefix("/dev/").is_some_and(|name| name.starts_with(&disk.name))
    };
    for disk in facts.disks.iter().filter(holds_root) {
        assert!(!disk.holders.is_empty(), "{} holds / and is in use", disk.name);
    }
}
