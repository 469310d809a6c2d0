//! `assay judge` on numbers of other tools.

use serde_json::Value;

use crate::bench::Bench;

/// The relevant part of fio's result of a job of 60 s.
fn fio(mib: u32) -> String {
    let rate = f64::from(mib) / 60.0 * 1024.0;
    format!(
        r#"{{"fio version":"fio-3.33","timestamp_ms":1700000060000,"jobs":[{{"jobname":"reader","error":0,
        "job options":{{"direct":"1","iodepth":"8","rw":"randread"}},
        "read":{{"io_bytes":{},"total_ios":{},"runtime":60000,"iops":100.0,"bw_mean":{rate},"bw_dev":{},"bw_samples":119,
        "iops_mean":100.0,"iops_stddev":1.0,"iops_samples":119,"clat_ns":{{"mean":80000000.0}}}},
        "write":{{"io_bytes":0,"total_ios":0,"runtime":0,"iops":0.0,"bw_mean":0.0,"bw_dev":0.0,"bw_samples":0,
        "iops_mean":0.0,"iops_stddev":0.0,"iops_samples":0}}}}]}}"#,
        mib * 1_048_576,
        mib * 256,
        rate / 20.0
    )
}

#[test]
fn totals_of_fio_are_judged_against_weights() {
    let bench = Bench::aside();
    let (a, b) = (bench.write("a.json", &fio(100)), bench.write("b.json", &fio(200)));
    let judge = |weights: &str, more: &[&str]| {
        let mut words = vec!["judge".as_ref(), "--fio".as_ref(), a.as_os_str(), b.as_os_str()];
        words.extend(["--weights".as_ref(), std::ffi::OsStr::new(weights)]);
        words.extend(more.iter().map(std::ffi::OsStr::new));
        bench.assay(words)
    };
    let kept = judge("100,200", &[]);
    // Within the margin, but a single measurement is never kept.
    kept.assert_code(3);
    let says =
        |words: &str| kept.stdout.split_whitespace().collect::<Vec<_>>().join(" ").contains(words);
    assert!(
        says("1 of 1 start was inside")
            && says("a verdict takes 8 or more")
            && says("measured elsewhere"),
        "{}",
        kept.stdout
    );
    // What only a run of a study has or could do.
    for words in ["[design]", "sampling", "repeats."] {
        assert!(!says(words), "{words}: {}", kept.stdout);
    }
    // One measurement is a fact, so a job that fails on less than undecided passes.
    judge("100,200", &["--fail-on", "void"]).assert_code(0);
    judge("100,400", &["--fail-on", "broken"]).assert_code(0);
    let junit = judge("100,400", &["-ojson", "--junit", "verdict.xml"]);
    junit.assert_code(3);
    let junit = std::fs::read_to_string(bench.path("verdict.xml")).unwrap();
    assert!(junit.contains("<testsuite name="), "{junit}");
    let nowhere = judge("100,200", &["--junit", "none/verdict.xml"]);
    nowhere.assert_code(2);
    nowhere.assert_says(&["none"]);
    let broken = judge("100,400", &["-ojson"]);
    broken.assert_code(3);
    let verdict: Value = serde_json::from_str(&broken.stdout).unwrap();
    assert_eq!(verdict["schema"], 1);
    let share = verdict["trials"][0]["promises"][0]["groups"][0]["share"].as_f64().unwrap();
    assert!((share - 1.0 / 3.0).abs() < 1e-9, "{share}");
    let refused = judge("100", &[]);
    refused.assert_code(2);
    refused.assert_says(&["2 groups (`a`, `b`) and 1 weights", "hint: "]);
}

#[test]
fn a_table_over_time_is_judged_and_a_bad_one_named_with_its_line() {
    let bench = Bench::aside();
    let mut text = String::from("group,time,amount\n");
    for second in 0..400 {
        let ripple = f64::from([3, 0, 2, 1, 4, 2, 2][second % 7]) / 20.0;
        text.push_str(&format!(
            "light,{second},{}\nheavy,{second},{}\n",
            1.0 + ripple,
            3.0 - ripple
        ));
    }
    let csv = bench.write("rates.csv", &text);
    let judge = |weights: &str| {
        bench.assay([
            "judge".as_ref(),
            "--csv".as_ref(),
            csv.as_os_str(),
            "--weights".as_ref(),
            weights.as_ref(),
        ])
    };
    let open = judge("2:5");
    open.assert_code(3);
    let heading = open.stdout.lines().find(|line| line.trim_start().starts_with("group ")).unwrap();
    assert!(heading.contains("error %   rate  verdict"), "a column has no name: {heading}");
    judge("5,2").assert_code(3);
    let bad = bench.write("bad.csv", "group,time,amount\nlight,1,fast\n");
    let refused = bench.assay([
        "judge".as_ref(),
        "--csv".as_ref(),
        bad.as_os_str(),
        "--weights".as_ref(),
        "1,2".as_ref(),
    ]);
    refused.assert_code(2);
    refused.assert_says(&["bad.csv", "line 2", "`fast`"]);
}

#[test]
fn missing_and_wrong_arguments_are_reported() {
    let bench = Bench::aside();
    let refused = |words: &[&str], says: &[&str]| {
        let ended = bench.assay(words);
        ended.assert_code(2);
        ended.assert_says(says);
    };
    refused(&["judge"], &["<RUN"]);
    refused(&["judge", "--fio", "a.json"], &["--weights"]);
    refused(&["judge", "--fio", "absent.json", "--weights", "1"], &["cannot read absent.json"]);
    refused(&["judge", "--csv", "a.csv", "--weights", "1,0"], &["above 0"]);
    refused(&["judge", "--csv", "a.csv", "--weights", "1,2", "--within", "0%"], &["above 0 %"]);
}
