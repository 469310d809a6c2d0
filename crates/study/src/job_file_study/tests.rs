//! A job file as a study: sections, weights, and what is replaced.

use super::*;
use crate::{DiskSize, Study, Templated, Tool, parse};

const FILE: &str = "\
[global]
ioengine=libaio
direct=1
time_based
runtime=2m

[hot reads]
directory=/mnt/a
size=1G
cgroup=fast
cgroup_weight=300

[log]
directory=/mnt/a
size=128M
cgroup=fast

[backup]
filename=/mnt/b/file
offset=4G
size=2G
";

fn of_one(file: &str, text: &str, weights: Option<&[u32]>) -> Result<String, String> {
    job_file_study(&[(file.to_owned(), text.to_owned())], weights)
}

#[test]
fn each_of_several_files_is_a_group() {
    let files = [("fast.fio", FILE), ("slow.fio", "[log]\nsize=1M\n[scan]\nsize=1M\n")];
    let files = files.map(|(file, text)| (file.to_owned(), text.replace("cgroup=fast\n", "")));
    let made = job_file_study(&files, Some(&[1, 3])).unwrap();
    let text = |name: &str| files.iter().find(|(file, _)| file == name).unwrap().1.clone();
    let (study, findings) = parse("fast", &made, &|name| Ok(text(name)));
    assert!(findings.is_empty(), "{made}\n{findings:?}");
    let study = study.unwrap();
    let pairs = [("fast", "100"), ("slow", "300")];
    assert_eq!(weights(&study), pairs.map(|(name, weight)| (name.to_owned(), weight.to_owned())));
    assert_eq!(study.groups[0].run, ["hot-reads", "log", "backup"]);
    assert_eq!(study.groups[1].run, ["log-2", "scan"], "a name of its own");
    assert!(job_file_study(&files, Some(&[1, 2, 3])).unwrap_err().contains("2 groups: fast, slow"));
}

#[test]
fn a_ratio_becomes_weights_around_the_default() {
    for (ratio, weights) in [
        (&[1, 3][..], &[100, 300][..]),
        (&[1, 20], &[50, 1000]),
        (&[100, 300], &[100, 300]),
        (&[200, 400], &[200, 400]),
        (&[1, 5000], &[1, 5000]),
    ] {
        assert_eq!(in_steps_of_weights(ratio), weights);
    }
}

fn study(text: &str, weights: Option<&[u32]>) -> Study {
    let made = of_one("mine.fio", text, weights).unwrap();
    let (study, findings) = parse("mine", &made, &|name| {
        assert_eq!(name, "mine.fio");
        Ok(text.to_owned())
    });
    assert!(findings.is_empty(), "{made}\n{findings:?}");
    study.unwrap()
}

fn weights(study: &Study) -> Vec<(String, String)> {
    let weight = |group: &crate::Group| match &group.knobs[0].1[0] {
        Templated::Value(value) => value.to_string(),
        Templated::Template(text) => text.clone(),
    };
    study.groups.iter().map(|group| (group.name.clone(), weight(group))).collect()
}

#[test]
fn sections_become_groups_with_the_weights_of_the_file() {
    let study = study(FILE, None);
    let pairs = [("fast", "300"), ("backup", "100")];
    assert_eq!(weights(&study), pairs.map(|(name, weight)| (name.to_owned(), weight.to_owned())));
    assert_eq!(study.groups[0].run, ["hot-reads", "log"]);
    let Tool::FioJobFile { section, .. } = &study.workloads["hot-reads"].tool else { panic!() };
    assert_eq!(section.as_deref(), Some("hot reads"));
    assert_eq!(study.design.at_most, AT_MOST, "shorter than the two minutes of the file");
    assert_eq!(study.disks["scratch"].size, Some(Templated::Value(DiskSize::Auto)));
}

#[test]
fn weights_of_the_command_line_come_first() {
    let two = study(FILE, Some(&[1, 5]));
    assert_eq!(weights(&two)[1], ("backup".to_owned(), "500".to_owned()));
    let without = FILE.replace("cgroup_weight=300", "");
    assert!(of_one("f", &without, None).unwrap_err().contains("fast, backup"));
    assert!(of_one("f", FILE, Some(&[1, 3, 5])).unwrap_err().contains("2 groups"));
}

#[test]
fn what_is_replaced_is_listed() {
    let made = of_one("mine.fio", FILE, None).unwrap();
    assert!(made.contains("# Replaced: filename=/mnt/b/file, offset=4G\n"), "{made}");
    assert!(made.contains("cgroup=fast, cgroup_weight=300, directory=/mnt/a"), "{made}");
}

#[test]
fn devices_need_no_file_system_and_unknown_sizes_a_fixed_disk() {
    let raw = "[a]\nfilename=/dev/sdb\n[b]\nfilename=/dev/sdb\noffset=50%\nruntime=2\ntime_based\n";
    let study = study(raw, Some(&[1, 2]));
    assert_eq!(study.disks["scratch"].format, Templated::Value(crate::Format::None));
    assert_eq!(study.design.at_most, Duration::from_secs(2));
    assert!(matches!(study.disks["scratch"].size, Some(Templated::Value(DiskSize::Fixed(_)))));
}

#[test]
fn a_file_cannot_write_more_than_strings_into_the_study() {
    let text =
        "[a\"]\nsize=1M\ncgroup=\"\n[[groups]]\\u0041]\nsize=1M\n[\u{e9} \u{7f}x]\nsize=1M\n";
    let study = study(text, Some(&[1, 2, 3]));
    assert_eq!(study.groups.len(), 3);
    assert!(of_one("f", "[a]\n[a]\n", Some(&[1])).unwrap_err().contains("two sections"));
    let refused = |text: &str| of_one("f", text, Some(&[1, 3])).unwrap_err();
    assert!(refused("[a]\nflow=1\n[b]\nflow=8\n").contains("couples jobs of one fio"));
    let in_one_group = "[a]\nflow=1\ncgroup=g\n[b]\ncgroup=g\n";
    assert!(of_one("f", in_one_group, Some(&[1])).unwrap_err().contains("couples jobs of one fio"));
    assert!(refused("[a]\nioengine=net\n[b]\nrw=read\n").contains("`ioengine=net` of `a`"));
    assert!(refused("[a]\ncreate_only=1\n[b]\nrw=read\n").contains("it does no I/O"));
    assert!(of_one("f", "[a]\nread_iolog=x\n", Some(&[1])).is_err());
    let torn = "[a]\ncgroup=g\ncgroup_weight=1\n[b]\ncgroup=g\ncgroup_weight=2\n";
    assert!(of_one("f", torn, None).unwrap_err().contains("different weights"));
}
