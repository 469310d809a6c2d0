//! A study with five mistakes: all are reported in one pass, and nothing is changed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bench::Bench;

const CODES: [&str; 5] = ["A0201", "A0303", "A0305", "A0309", "A0403"];

/// The study with mistakes from the tests of the crate `study`.
fn five_mistakes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../study/tests/invalid/five-mistakes.toml")
}

#[test]
fn five_mistakes_are_shown_with_location_and_remedy_and_nothing_is_made() {
    let bench = Bench::aside();
    let ended = bench.run(&five_mistakes(), &[]);
    ended.assert_code(2);
    for code in CODES {
        ended.assert_says(&[&format!("error[{code}]")]);
    }
    let places = ended.stderr.matches("five-mistakes.toml:").count();
    assert_eq!(places, 5, "{}", ended.stderr);
    ended.assert_says(&[
        "five-mistakes.toml:10:11",
        "did you mean `warm_up`?",
        "[1, 2, 4, 8, 16]",
        "did you mean `iodepth`?",
        "did you mean `{groups}`?",
        "5 mistakes; nothing was touched",
    ]);
    assert_eq!(ended.stdout, "");
    assert!(!bench.out().exists() && !bench.path("runs").exists());
    assert!(!bench.path("state").exists());
}

#[test]
fn check_gives_five_mistakes_as_json() {
    let bench = Bench::aside();
    let ended = bench.assay(["check".as_ref(), five_mistakes().as_os_str(), "-ojson".as_ref()]);
    ended.assert_code(2);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let found = document["diagnostics"].as_array().unwrap();
    let mut codes: Vec<&str> = found.iter().filter_map(|one| one["code"].as_str()).collect();
    codes.sort_unstable();
    assert_eq!(codes, CODES);
    for one in found {
        assert_eq!(one["severity"], "error");
        let primary =
            one["labels"].as_array().unwrap().iter().find(|label| label["primary"] == true);
        assert!(primary.unwrap()["start"]["line"].as_u64().unwrap() > 9, "{one}");
        assert!(!one["hints"].as_array().unwrap().is_empty(), "{one}");
    }
}
