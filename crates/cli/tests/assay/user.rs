//! Workloads that run as a user other than root: what they can do, see and change.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use assay_test_support::entries;

use crate::bench::Bench;

const NOBODY: u32 = 65534;

/// Prints its identity and inherited descriptors. `DISK` is its data directory.
const STUDY: &str = r#"
title = "As nobody"
[design]
repeats = 1
warm_up = "0.1 s"
at_most = "1 s"
[disks.scratch]
DISK
[[groups]]
name = "task"
count = 2
run = "says"
[workloads.says]
use = "command"
user = "nobody"
command = ["sh", "-c", "id -u; id -G; grep NoNewPrivs /proc/self/status; grep CapEff /proc/self/status; env; ls -l /proc/$$/fd; touch '{directory}/mine' && echo wrote; while :; do :; done"]
[[promises]]
measure = "cpu.time"
is = "equal"
within = "50 %"
"#;

fn outputs(out: &Path, name: &str) -> Vec<PathBuf> {
    let folders = entries(&out.join("logs")).into_iter().flat_map(|repeat| entries(&repeat));
    folders.map(|folder| folder.join(name)).filter(|file| file.is_file()).collect()
}

#[test]
fn a_workload_of_another_user_has_only_its_privileges_and_sees_nothing_of_root() {
    let Some(bench) = Bench::on_host("a workload of nobody") else { return };
    let data = bench.path("data");
    fs::create_dir(&data).unwrap();
    let disk = format!("use = \"directory\"\npath = \"{}\"\nsize = \"4 MiB\"", data.display());
    let study = bench.write("study.toml", &STUDY.replace("DISK", &disk));
    let secret = fs::File::open(bench.write("secret", "of root")).unwrap();
    // A descriptor that the caller of Assay has left open without close-on-exec.
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
    let mut command = bench.run_command(&study);
    command.env("SECRET_OF_ROOT", "1");
    let ended = bench.finish(command);
    drop(secret);
    ended.assert_verdict();
    let files = outputs(&bench.out(), "command.out");
    assert_eq!(files.len(), 2, "{ended:?}");
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["65534", "65534"], "{text}");
        assert!(text.contains("NoNewPrivs:\t1"), "{text}");
        assert!(text.contains("CapEff:\t0000000000000000"), "{text}");
        assert!(lines.contains(&"wrote"), "{text}");
        assert!(!text.contains("SECRET_OF_ROOT") && !text.contains("/secret"), "{text}");
        assert!(lines.contains(&"USER=nobody"), "{text}");
        assert_eq!(file.parent().unwrap().metadata().unwrap().uid(), NOBODY);
    }
    bench.assert_host_is_as_before("after nobody's run");
}

#[test]
fn fio_of_another_user_lays_out_its_files_and_reaches_the_start_barrier() {
    let Some(bench) = Bench::on_host("fio of nobody") else { return };
    let study = crate::study::Weights {
        disk: crate::study::loop_disk_with_ext4(64, 4),
        workload: "use = \"fio\"\nuser = \"65534:65534\"\nargs = { rw = \"randread\", bs = \
                   \"4k\", ioengine = \"psync\", direct = 1, size = \"4m\" }"
            .to_owned(),
        ..crate::study::Weights::small()
    };
    let study = bench.write("study.toml", &study.text());
    bench.run(&study, &[]).assert_verdict();
    let results = outputs(&bench.out(), "fio.json");
    assert_eq!(results.len(), 4);
    for file in results {
        assert_eq!(file.metadata().unwrap().uid(), NOBODY, "{}", file.display());
    }
    bench.assert_host_is_as_before("after nobody's fio");
}

#[test]
fn an_unknown_user_and_an_inaccessible_raw_device_are_refused() {
    let Some(bench) = Bench::on_host("users that cannot be had") else { return };
    let with = |user: &str| crate::study::Weights {
        workload: format!("{}\nuser = \"{user}\"", crate::study::Weights::small().workload),
        ..crate::study::Weights::small()
    };
    let study = bench.write("study.toml", &with("no-such-user-here").text());
    let refused = bench.run(&study, &[]);
    refused.assert_code(4);
    refused.assert_says(&["cannot find the user no-such-user-here", "UID:GID"]);
    let study = bench.write("raw.toml", &with("nobody").text());
    let mut command = bench.program();
    command.args(["run", "--yes"]).arg(study).arg("--out").arg(bench.path("raw"));
    let refused = bench.finish(command);
    refused.assert_code(4);
    refused.assert_says(&["/dev/loop", "user 65534 may not read and write it", "format"]);
    bench.assert_host_is_as_before("after refusals");
}
