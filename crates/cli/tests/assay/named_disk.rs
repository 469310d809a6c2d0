//! Disks named by the user: never changed when they are in use or hold data.

use std::fs;

use crate::bench::Bench;
use crate::own_device::{Mounted, OwnDevice};
use crate::study::Weights;
use assay_test_support::HostSnapshot;

fn study_on(disk: String) -> String {
    Weights { disk, ..Weights::small() }.text()
}

#[test]
fn a_mounted_disk_is_refused_with_its_mount_point() {
    let Some(bench) = Bench::on_host("a mounted disk") else { return };
    let device = OwnDevice::attach(&bench.path("disk"), 64);
    device.make_ext4();
    let mounted = Mounted::device(&device, bench.path("data"));
    fs::write(mounted.at.join("precious"), "data").unwrap();
    let before = HostSnapshot::take();

    let erasing = format!("{}\nerase = \"64 MiB\"", device.as_disk());
    for disk in [device.as_disk(), erasing] {
        let ended = bench.run(&bench.write("study.toml", &study_on(disk)), &[]);
        ended.assert_code(4);
        ended.assert_says(&["mounted at", &mounted.at.display().to_string()]);
        HostSnapshot::assert_same(&before, "after the refusal");
        fs::remove_dir_all(bench.out()).unwrap_or_default();
    }
    assert_eq!(fs::read_to_string(mounted.at.join("precious")).unwrap(), "data");
}

#[test]
fn a_disk_with_a_file_system_is_used_only_if_its_size_is_given() {
    let Some(bench) = Bench::on_host("a disk with content") else { return };
    let image = bench.path("disk");
    let device = OwnDevice::attach(&image, 64);
    device.make_ext4();
    let before = HostSnapshot::take();
    let content = fs::read(&image).unwrap();

    let ended = bench.run(&bench.write("study.toml", &study_on(device.as_disk())), &[]);
    ended.assert_code(4);
    ended.assert_says(&["it holds ext4", "erase = \"64 MiB\""]);
    HostSnapshot::assert_same(&before, "after the refusal");
    assert!(fs::read(&image).unwrap() == content, "a refused disk keeps every byte");
    fs::remove_dir_all(bench.out()).unwrap_or_default();

    let wrong = format!("{}\nerase = \"32 MiB\"", device.as_disk());
    let ended = bench.run(&bench.write("study.toml", &study_on(wrong)), &[]);
    ended.assert_code(4);
    ended.assert_says(&["`32 MiB` is neither its serial number nor its size"]);
    assert!(fs::read(&image).unwrap() == content, "a refused disk keeps every byte");
    fs::remove_dir_all(bench.out()).unwrap_or_default();

    let right = format!("{}\nerase = \"64 MiB\"", device.as_disk());
    let ended = bench.run(&bench.write("study.toml", &study_on(right)), &[]);
    ended.assert_verdict();
    assert!(device.is_attached_to(&image), "the user's own device stays");
    HostSnapshot::assert_same(&before, "after the run");
}

#[test]
fn a_missing_disk_is_refused_before_anything_is_made() {
    let bench = Bench::aside();
    let disk = "use = \"block\"\ndevice = \"/dev/assay-none\"".to_owned();
    let ended = bench.run(&bench.write("study.toml", &study_on(disk)), &[]);
    ended.assert_code(4);
    ended.assert_says(&["/dev/assay-none", "hint: "]);
    assert!(!bench.out().exists());
}

/// A job file whose two jobs write a little.
const JOBS: &str = "[a]\nrw=read\nbs=4k\nioengine=libaio\niodepth=8\ndirect=1\ntime_based\nruntime=2\nsize=4M\n\
                    filename=/dev/sdb\n[b]\nrw=read\nbs=4k\nioengine=libaio\niodepth=8\ndirect=1\ntime_based\n\
                    runtime=2\nsize=4M\nfilename=/dev/sdb\noffset=1G\n";

#[test]
fn a_partition_is_used_like_a_disk_and_erased_only_by_the_name_of_what_it_holds() {
    let Some(bench) = Bench::on_host("a partition") else { return };
    let image = bench.path("disk");
    let device = OwnDevice::attach(&image, 96);
    let part = device.add_partition(1, 64);
    let before = HostSnapshot::take();
    let jobs = bench.write("mine.fio", JOBS);
    let node = part.display().to_string();
    let on_it = |more: &[&str]| {
        let fixed =
            ["--weights", "1:2", "--repeats", "1", "--duration", "2s", "--disk", node.as_str()];
        let ended = bench.run(&jobs, &[fixed.as_slice(), more].concat());
        fs::remove_dir_all(bench.out()).unwrap_or_default();
        ended
    };
    on_it(&[]).assert_verdict();
    HostSnapshot::assert_same(&before, "after a run on a blank partition");

    device.format_ext4(&part);
    let content = fs::read(&image).unwrap();
    for word in ["xfs", "96 MiB"] {
        let refused = on_it(&["--erase", word]);
        refused.assert_code(4);
        refused.assert_says(&["it holds ext4", "`--erase ext4`", &format!("`{word}` is neither")]);
    }
    assert!(fs::read(&image).unwrap() == content, "a refused partition keeps every byte");
    on_it(&["--erase", "ext4"]).assert_verdict();
    HostSnapshot::assert_same(&before, "after a run on an erased partition");

    device.format_ext4(&part);
    let mounted = Mounted::at_node(&part, bench.path("data"));
    let refused = on_it(&["--erase", "ext4"]);
    refused.assert_code(4);
    refused.assert_says(&["mounted at", &mounted.at.display().to_string()]);
}
