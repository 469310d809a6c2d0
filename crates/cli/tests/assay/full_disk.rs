//! No space for an image, a run folder that fills up, a run folder that is not empty.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use crate::bench::Bench;
use crate::own_device::{Mounted, OwnDevice};
use crate::running::Running;
use crate::study::Weights;
use assay_test_support::HostSnapshot;

#[test]
fn an_image_that_does_not_fit_is_refused_with_path_free_and_needed() {
    let Some(bench) = Bench::on_host("an image without room") else { return };
    let memory = Mounted::tmpfs(bench.path("memory"), 16);
    let before = HostSnapshot::take();
    let study = bench.write("study.toml", &Weights::small().text());
    let out = memory.at.join("run");
    let mut command = bench.program();
    command.args(["run", "--yes"]).arg(study).arg("--out").arg(&out);
    let ended = bench.finish(command);
    ended.assert_code(4);
    ended.assert_says(&[
        &format!("the file system of {} has 16 MiB free", out.display()),
        "the images of the disks take 64 MiB and 5 % to spare",
        "make the data smaller",
        "nothing was touched",
    ]);
    assert!(!out.exists());
    HostSnapshot::assert_same(&before, "after the refusal");
}

/// A file system without room for the first files of a run: nothing is changed, and the next run is not refused
/// because of this one.
#[test]
fn a_run_folder_without_inodes_refuses_one_run_and_blocks_no_other() {
    let Some(bench) = Bench::on_host("a run folder without inodes") else { return };
    // With room for the image.
    let memory = Mounted::tmpfs(bench.path("memory"), 96);
    let study = bench.write("study.toml", &Weights::small().text());
    // One for the root, and then some for folders and files of the run.
    for inodes in 2..8 {
        memory.remount(&format!("nr_inodes={inodes}"));
        let out = memory.at.join("run");
        let mut command = bench.program();
        command.args(["run", "--yes"]).arg(&study).arg("--out").arg(&out);
        let ended = bench.finish(command);
        assert_eq!(ended.status.code(), Some(4), "{inodes} inodes: {}", ended.stderr);
        ended.assert_says(&["No space left on device"]);
        let nothing = bench.assay(["restore"]);
        nothing.assert_code(0);
        assert_eq!(nothing.stdout, "nothing to restore\n", "{inodes} inodes");
        let _ = fs::remove_dir_all(&out);
    }
    drop(memory);
    bench.assert_host_is_as_before("after refusals");
    let study = Weights { at_most: "1 s", ..Weights::small() };
    bench.run(&bench.write("study.toml", &study.text()), &[]).assert_verdict();
}

#[test]
fn a_run_folder_that_fills_up_ends_the_run_and_the_host_is_restored() {
    let Some(bench) = Bench::on_host("a run folder that fills up") else { return };
    // The disk image is elsewhere, so that only recorded data fills the folder.
    let device = OwnDevice::attach(&bench.path("disk"), 64);
    let memory = Mounted::tmpfs(bench.path("memory"), 16);
    let before = HostSnapshot::take();
    // Wait for the window.
    let study = Weights { disk: device.as_disk(), at_most: "3 s", ..Weights::small() };
    let study = bench.write("study.toml", &study.text());
    let out = memory.at.join("run");
    let mut command = bench.program();
    command.args(["run", "--yes"]).arg(study).arg("--out").arg(&out);
    let mut run = Running::start(command, bench.folder(), out);
    run.wait_until("the window", |run| run.says("run"));
    sleep(Duration::from_millis(300));
    memory.fill();
    let ended = run.end(Duration::from_secs(60));
    ended.assert_code(4);
    ended.assert_says(&["No space left on device", "--out"]);
    HostSnapshot::assert_same(&before, "after the disk was full");
    let nothing = bench.assay(["restore"]);
    assert_eq!(nothing.stdout, "nothing to restore\n");
    assert_eq!(crate::running::processes_in(bench.folder()), Vec::<u32>::new());
}

#[test]
fn a_run_folder_that_holds_something_or_is_a_file_is_refused() {
    let Some(bench) = Bench::on_host("a run folder that is there already") else { return };
    let study = bench.write("study.toml", &Weights::small().text());
    fs::write(bench.out(), "kept").unwrap();
    let ended = bench.run(&study, &[]);
    ended.assert_code(4);
    ended.assert_says(&[&bench.out().display().to_string(), "hint: ", "--out"]);
    assert_eq!(fs::read_to_string(bench.out()).unwrap(), "kept");
    fs::remove_file(bench.out()).unwrap();

    fs::create_dir(bench.out()).unwrap();
    fs::write(bench.out().join("note"), "kept").unwrap();
    let ended = bench.run(&study, &[]);
    ended.assert_code(4);
    ended.assert_says(&["the folder is not empty", "--out"]);
    assert_eq!(fs::read_dir(bench.out()).unwrap().count(), 1);
    bench.assert_host_is_as_before("after the refusals");
}
