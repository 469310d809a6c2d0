//! Wrong usage: exit code 2, an error with a hint, nothing made.

use crate::bench::Bench;

fn refused(arguments: &[&str], says: &[&str]) {
    let bench = Bench::aside();
    let ended = bench.assay(arguments);
    ended.assert_code(2);
    ended.assert_says(says);
    assert_eq!(ended.stdout, "", "{arguments:?}");
    assert!(assay_test_support::entries(bench.folder()).iter().all(|path| path.is_file()));
}

#[test]
fn refuses_a_window_that_is_too_short_to_measure() {
    refused(&["run", "io-weight", "--duration", "1ms"], &["1ms", "at least 1 s"]);
}

#[test]
fn refuses_a_duration_without_a_unit() {
    refused(&["run", "io-weight", "--duration", "20"], &["--duration", "20"]);
}

#[test]
fn refuses_an_unknown_study_and_names_the_nearest() {
    refused(&["run", "io-wieght"], &["no shipped study is called `io-wieght`", "`io-weight`"]);
    refused(&["check", "nothing-like-it"], &["assay run --list"]);
    refused(&["run", "absent.toml"], &["cannot read absent.toml", "assay run --list"]);
    refused(&["run", "--list", "io-wieght"], &["no shipped study is called `io-wieght`", "hint: "]);
    refused(
        &["run", "io-weight", "--repeat", "2"],
        &["hint: a similar argument exists: '--repeats'"],
    );
}

#[test]
fn refuses_a_factor_that_the_study_does_not_have() {
    refused(&["run", "io-weight", "--set", "gruops=4"], &["gruops", "groups"]);
}

#[test]
fn refuses_a_setting_without_a_value() {
    refused(&["run", "io-weight", "--set", "groups"], &["has no `=`", "--set FACTOR=VALUE"]);
    refused(&["run", "io-weight", "--set", "groups="], &["groups"]);
    refused(&["run", "io-weight", "--set", "groups=four"], &["four"]);
}

#[test]
fn refuses_no_repeats_and_unknown_words() {
    refused(&["run", "io-weight", "--repeats", "0"], &["--repeats"]);
    refused(&["reprot", "."], &["reprot", "'report'"]);
    refused(&["run", "io-weight", "--sett", "groups=4"], &["--sett", "--set"]);
    refused(&[], &["Usage"]);
}

#[test]
fn refuses_to_judge_or_report_a_folder_without_a_run() {
    refused(&["judge", "."], &["manifest.json", "hint: "]);
    refused(&["report", "absent"], &["cannot open absent", "hint: "]);
}

#[test]
fn what_may_disturb_others_needs_a_yes_where_nobody_can_be_asked() {
    for words in [
        &["run", "cpu-weight"][..],
        &["tune", "io-weight"],
        &["conform", "cpu/a-storm-of-wakeups-leaves-siblings-the-cpu"],
        &["conform", "--kernel", "host"],
    ] {
        refused(words, &["hint: --yes"]);
    }
}

#[test]
fn an_error_is_a_document_where_json_is_asked_for() {
    let bench = Bench::aside();
    for words in [&["judge", "absent", "-o", "json"][..], &["judge", "--nonsense", "-ojson"]] {
        let ended = bench.assay(words);
        ended.assert_code(2);
        let document: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!((&document["schema"], &document["code"]), (&1.into(), &2.into()));
        assert!(
            document["errors"][0]
                .as_str()
                .is_some_and(|error| ended.stderr.contains(error.lines().next().unwrap())),
            "{document:#}"
        );
    }
}

#[test]
fn help_is_printed_to_stdout() {
    let bench = Bench::aside();
    for arguments in [&["--help"][..], &["run", "--help"], &["help", "judge"], &["--version"]] {
        let ended = bench.assay(arguments);
        ended.assert_code(0);
        assert!(ended.stdout.contains("assay"), "{arguments:?}: {}", ended.stdout);
        assert_eq!(ended.stderr, "", "{arguments:?}");
    }
    let help = bench.assay(["--help"]).stdout;
    assert!(help.contains("Exit codes: 0 every promise kept"), "{help}");
}

#[test]
fn the_version_names_its_commit_and_how_it_is_linked() {
    let bench = Bench::aside();
    assert_eq!(bench.assay(["-V"]).stdout, concat!("assay ", env!("CARGO_PKG_VERSION"), "\n"));
    let commit = option_env!("ASSAY_COMMIT").filter(|commit| !commit.is_empty());
    let version = bench.assay(["--version"]).stdout;
    let built = format!(
        concat!("assay ", env!("CARGO_PKG_VERSION"), " (commit {}, {}, "),
        commit.unwrap_or("not recorded"),
        std::env::consts::ARCH
    );
    assert!(version.starts_with(&built) && version.ends_with("ic)\n"), "{version}");
}
