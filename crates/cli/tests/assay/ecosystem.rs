//! What other tools read: the JSON of every command, a host in a folder, and the script of action.yml.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::bench::Bench;
use crate::running::Ended;

fn document(ended: &Ended) -> Value {
    ended.assert_code(0);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{why}: {}", ended.stdout))
}

#[test]
fn a_host_in_a_folder_is_audited_by_the_mounts_below_it() {
    let bench = Bench::aside();
    let folder = bench.path("host");
    let put = |path: &str, text: &str| assay_test_support::put(&folder, path, text);
    let shown = folder.display();
    let mounts = format!(
        "20 1 0:20 / /sys/fs/cgroup rw - cgroup2 own rw\n\
         29 1 0:26 / {shown}/sys/fs/cgroup/v2 rw - cgroup2 cgroup2 rw\n"
    );
    put("proc/self/mountinfo", &mounts);
    put("etc/hostname", "the-host\n");
    put("sys/fs/cgroup/v2/cgroup.controllers", "cpu memory\n");
    put("sys/fs/cgroup/v2/web/cpu.weight", "300\n");
    let root = folder.to_str().unwrap();
    let audit = document(&bench.assay(["audit", "--root", root, "-ojson"]));
    assert_eq!((&audit["host"]["value"], &audit["groups"]), (&"the-host".into(), &2.into()));
    let ended = bench.assay(["audit", "--root", "."]);
    ended.assert_code(2);
    assert!(ended.stderr.contains("-v /:/host:ro"), "{}", ended.stderr);
}

/// The script of action.yml with a program that ends with a code and writes what the real one does.
fn action(bench: &Bench, what: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let tree = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new("bash");
    command.arg(tree.join("packaging/github/action"));
    bench.settle(&mut command);
    let files = ["output", "summary"].map(|name| bench.path(name));
    files.iter().for_each(|file| drop(fs::remove_file(file)));
    command.env("GITHUB_OUTPUT", &files[0]).env("GITHUB_STEP_SUMMARY", &files[1]);
    let folder = bench.path("results");
    if !folder.is_symlink() {
        drop(fs::remove_dir_all(&folder));
    }
    command.env("ASSAY_FOLDER", &folder).env("RUNNER_TEMP", bench.folder());
    command.envs(what.iter().copied());
    let ended = command.output().unwrap();
    let read = |file: &PathBuf| fs::read_to_string(file).unwrap_or_default();
    (ended.status.code(), read(&files[0]), read(&files[1]))
}

#[test]
fn the_action_shows_the_result_and_passes_the_code_on() {
    let bench = Bench::aside();
    let program = bench.write(
        "fake",
        "#!/bin/sh\necho \"$@\" >> calls\nwhile [ \"$1\" != --out ]; do shift; done\n\
         echo '{\"schema\":1,\"validity\":{\"verdict\":\"void\",\"checks\":[]}}' > \"$2\"\n\
         echo 'void: its numbers prove nothing' >&2\nexit 3\n",
    );
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    let exec = [("ASSAY_RUN", "exec"), ("ASSAY_PROGRAM", program), ("ASSAY_COMMAND", "a; b $(c)")];
    if !rustix::process::geteuid().is_root() {
        return assay_test_support::skip(
            "the script of action.yml",
            "it calls sudo for others than root",
        );
    }
    let (code, output, summary) = action(&bench, &exec);
    assert_eq!(code, Some(3));
    assert!(output.contains("verdict=void\ncode=3\n"), "{output}");
    assert!(summary.contains("its numbers prove nothing"), "{summary}");
    let calls = fs::read_to_string(bench.path("calls")).unwrap();
    assert!(calls.contains("exec --quiet-check") && calls.contains("bash -c a; b $(c)"), "{calls}");
    let (code, output, _) = action(&bench, &[&exec[..], &[("ASSAY_FAIL_ON", "never")]].concat());
    assert!(code == Some(0) && output.contains("code=0"), "{output}");
    assert_eq!(action(&bench, &[("ASSAY_RUN", "x"), ("ASSAY_PROGRAM", program)]).0, Some(2));
}

#[test]
fn the_action_writes_into_no_folder_that_a_checkout_has() {
    let bench = Bench::aside();
    let program = env!("CARGO_BIN_EXE_assay");
    let audit = [("ASSAY_RUN", "audit"), ("ASSAY_PROGRAM", program)];
    let target = bench.path("target");
    fs::create_dir(&target).unwrap();
    std::os::unix::fs::symlink(&target, bench.path("results")).unwrap();
    assert_eq!(action(&bench, &audit).0, Some(2));
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
    fs::remove_file(bench.path("results")).unwrap();
    let outside = [&audit[..], &[("ASSAY_FOLDER", "/usr/assay-test-results")]].concat();
    assert_eq!(action(&bench, &outside).0, Some(2));
    assert!(!PathBuf::from("/usr/assay-test-results").exists());
}

#[test]
fn the_action_fetches_the_program_of_its_release_and_starts_no_other() {
    let bench = Bench::aside();
    if !rustix::process::geteuid().is_root() {
        return assay_test_support::skip(
            "a program fetched by action.yml",
            "it calls sudo for others than root",
        );
    }
    let name = format!("assay-{}", std::env::consts::ARCH);
    let release = bench.path("release/v0.1.0");
    fs::create_dir_all(&release).unwrap();
    let program = "#!/bin/sh\necho \"$0 $*\" >> calls\necho '{}'\n";
    fs::write(release.join(&name), program).unwrap();
    let summed = Command::new("sha256sum").arg(&name).current_dir(&release).output().unwrap();
    let sums = String::from_utf8(summed.stdout).unwrap();
    fs::write(release.join("SHA256SUMS"), &sums).unwrap();
    let releases = format!("file://{}", bench.path("release").display());
    let uses = [
        ("ASSAY_RUN", "audit"),
        ("ASSAY_RELEASES", releases.as_str()),
        ("ASSAY_VERSION", "v0.1.0"),
    ];
    let (code, output, _) = action(&bench, &uses);
    assert_eq!(code, Some(0), "{output}");
    let calls = || fs::read_to_string(bench.path("calls")).unwrap_or_default();
    assert!(calls().contains(&format!("{name} audit")), "{}", calls());

    let elsewhere = format!("{releases}/v0.1.0");
    let pinned = [("ASSAY_RUN", "audit"), ("ASSAY_BASE_URL", elsewhere.as_str())];
    let sum = sums.split(' ').next().unwrap();
    assert_eq!(action(&bench, &[&pinned[..], &[("ASSAY_SHA256", sum)]].concat()).0, Some(0));
    fs::remove_file(bench.path("calls")).unwrap();
    let other = "0".repeat(64);
    assert_eq!(action(&bench, &[&pinned[..], &[("ASSAY_SHA256", &other)]].concat()).0, Some(2));
    fs::write(release.join(&name), format!("{program}# another\n")).unwrap();
    assert_eq!(action(&bench, &uses).0, Some(2));
    fs::write(release.join("SHA256SUMS"), "").unwrap();
    assert_eq!(action(&bench, &uses).0, Some(2));
    assert_eq!(calls(), "");
}

#[test]
fn the_install_line_of_the_readme_ends_with_an_audit() {
    let bench = Bench::aside();
    if Command::new("curl").arg("--version").output().is_err() {
        return assay_test_support::skip("the install line of README.md", "no curl");
    }
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let line = readme.lines().find(|line| line.starts_with("curl ")).unwrap();
    let (host, rest) = line.split_once("https://").unwrap().1.split_once('/').unwrap();
    let (release, _) = rest.split_once("/assay-$(uname -m)\"").unwrap();
    // The host alone is another.
    let served = bench.path("served");
    let line = line.replace(&format!("https://{host}"), &format!("file://{}", served.display()));
    fs::create_dir_all(served.join(release)).unwrap();
    let name = format!("{release}/assay-{}", std::env::consts::ARCH);
    fs::copy(env!("CARGO_BIN_EXE_assay"), served.join(name)).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", &line]);
    bench.settle(&mut command);
    let ended = command.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && said.contains("Settings of its control groups"), "{ended:?}");
    assert!(bench.path("assay").is_file());
}
