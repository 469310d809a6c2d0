//! Every claim has its promise; verdicts become results; and the table of docs/founding.md.

use assay_judge::verdict::Verdict::{self, Broken, Kept, Undecided, Void};
use assay_judge::verdict::{PromiseJudgement, TrialJudgement};
use assay_study::{has_published, parse, parse_published, shipped, shipped_file};

use serde_json::Value;

use super::*;

#[test]
fn every_claim_is_a_promise_of_its_study() {
    for claim in CLAIMS {
        let study = shipped().iter().find(|study| study.name == claim.study).unwrap();
        let plain = parse(study.name, study.text, &shipped_file).0;
        let published = has_published(study.text)
            .then(|| parse_published(study.name, study.text, &shipped_file).0)
            .flatten();
        let promised = plain.into_iter().chain(published).any(|study| {
            let has_level = claim.under.is_none_or(|(factor, level)| {
                let factor = study.factors.iter().find(|one| one.name == factor);
                factor.is_some_and(|one| one.values.iter().any(|one| one.to_string() == level))
            });
            has_level && study.promises.iter().any(|promise| promise.measure == claim.measure)
        });
        assert!(promised, "{}: {}", claim.study, claim.says);
    }
}

/// A run of the ladder of groups in which these steps have these verdicts.
fn ladder(steps: &[(u32, Verdict)]) -> JudgedRun {
    let trial = |&(groups, verdict): &(u32, Verdict)| TrialJudgement {
        factors: [("groups".to_owned(), groups.into())].into(),
        promises: vec![PromiseJudgement {
            measure: "io.ios".to_owned(),
            is: "proportional".to_owned(),
            verdict,
            ..PromiseJudgement::default()
        }],
        ..TrialJudgement::default()
    };
    let judgement = Judgement { trials: steps.iter().map(trial).collect(), ..Judgement::default() };
    JudgedRun { study: "io-weight-scaling".to_owned(), at: String::new(), judgement }
}

#[test]
fn the_newest_run_with_the_promise_decides_and_some_claims_are_that_it_fails() {
    let results = |runs: &[JudgedRun]| -> Vec<&str> {
        let claims = CLAIMS.iter().filter(|claim| claim.document == "thesis, 4.3");
        claims.map(|claim| repeated(claim, runs).result).collect()
    };
    assert_eq!(results(&[]), ["not run", "not run"]);
    assert_eq!(results(&[ladder(&[(16, Kept), (32, Broken)])]), ["reproduced", "reproduced"]);
    assert_eq!(results(&[ladder(&[(16, Broken), (32, Kept)])]), ["not reproduced"; 2]);
    let newer = [ladder(&[(16, Undecided)]), ladder(&[(16, Kept), (32, Void)])];
    assert_eq!(results(&newer), ["undecided", "void here"]);
}

/// The rows of docs/founding.md, from the recorded document.
fn table(recorded: &Value) -> String {
    let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let mut table = String::from(
        "| document | states | published | study | here | figure |\n|---|---|---|---|---|---|\n",
    );
    for one in recorded["claims"].as_array().into_iter().flatten() {
        let cells =
            ["document", "says", "published", "study", "result", "ours"].map(|key| text(one, key));
        table.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    table
}

#[test]
fn the_page_has_the_recorded_results() {
    const BEGIN: &str = "<!-- claims: written by ASSAY_BLESS=1 cargo test -p assay -->\n";
    const END: &str = "<!-- end of claims -->";
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let recorded = std::fs::read_to_string(docs.join("results/data/founding.json")).unwrap();
    let recorded: Value = serde_json::from_str(&recorded).unwrap();
    let said: Vec<&str> = CLAIMS.iter().map(|claim| claim.says).collect();
    let recorded_says: Vec<&str> = recorded["claims"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["says"].as_str())
        .collect();
    assert_eq!(recorded_says, said, "record them again: assay run --list founding -o json");
    let page = docs.join("founding.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    if std::env::var_os("ASSAY_BLESS").is_some() {
        std::fs::write(&page, format!("{before}{BEGIN}\n{}\n{END}{after}", table(&recorded)))
            .unwrap();
        return;
    }
    assert_eq!(written.trim(), table(&recorded).trim(), "regenerate with ASSAY_BLESS=1");
}
