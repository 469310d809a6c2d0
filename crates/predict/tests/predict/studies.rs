//! Predictions of the shipped studies.

use assay_plan::plan;
use assay_predict::{Basis, Calibration, Costs, Prediction, PromisePrediction, predict, score};
use assay_study::{
    Scalar, Study, override_disk, override_scheduler, parse, set_factor, shipped, shipped_file,
};
use assay_test_support::hosts::host;
use assay_verdict::Verdict;

fn study(name: &str) -> Study {
    let prediction = shipped().iter().find(|study| study.name == name).unwrap();
    parse(name, prediction.text, &shipped_file).0.unwrap()
}

fn groups(study: &mut Study, counts: &[i64]) {
    set_factor(study, "groups", counts.iter().copied().map(Scalar::Integer).collect()).unwrap();
}

fn predicted(study: &Study, is_v2: bool) -> Prediction {
    let facts = host(is_v2);
    let basis = Basis::Assumed("a test".to_owned());
    predict(&study.name, &plan(study, &facts, 1), &facts, &Costs::new(), basis, 1)
}

fn first(prediction: &Prediction, trial: usize) -> &PromisePrediction {
    &prediction.trials[trial].promises[0]
}

#[test]
fn shares_of_a_disk_add_up_and_list_their_assumptions() {
    let prediction = predicted(&study("io-weight"), false);
    let promise = first(&prediction, 0);
    let shares: f64 = promise.groups.iter().map(|group| group.share).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    assert_eq!(promise.verdict, Some(Verdict::Kept), "{}", promise.reason);
    assert!(prediction.trials[0].outside.iter().any(|why| why.contains("not measured here")));
    assert_eq!(prediction.knees.len(), 2, "one for each of its promises");
}

#[test]
fn groups_limited_by_their_part_of_the_pool_fall_short() {
    let mut study = study("io-weight");
    set_factor(&mut study, "iodepth", vec![Scalar::Integer(32)]).unwrap();
    groups(&mut study, &[8]);
    let prediction = predicted(&study, false);
    let promise = first(&prediction, 0);
    assert_eq!(promise.verdict, Some(Verdict::Broken), "{}", promise.reason);
    let by = |index: usize| promise.groups[index].share / promise.groups[index].expected_share;
    assert!(by(0) < 0.8 && by(3) > 1.02, "the lightest {}, the heaviest {}", by(0), by(3));
}

#[test]
fn unsupported_weights_are_not_available() {
    let mut study = study("io-weight");
    override_scheduler(&mut study, "none").unwrap();
    let prediction = predicted(&study, false);
    let promise = first(&prediction, 0);
    // The plan refuses to write a weight that nothing obeys.
    let why = promise.not_available.as_ref().unwrap();
    assert!(why.contains("io.weight"), "{why}");
}

#[test]
fn iocost_divides_its_configured_speed_within_the_limits_of_depth() {
    let mut study = study("io-weight");
    override_disk(&mut study, &"null_blk:iops=2000,depth=8".parse().unwrap()).unwrap();
    override_scheduler(&mut study, "none").unwrap();
    let prediction = predicted(&study, true);
    let promise = first(&prediction, 0);
    assert!((promise.total_rate.unwrap() / 4096.0 - 2000.0).abs() < 1.0);
    assert!(promise.worst_error.unwrap() < 0.01, "{promise:?}");
    assert!(prediction.trials[0].outside.iter().any(|why| why.contains("scheduler")));
}

#[test]
fn cpu_weights_and_quotas_are_predicted() {
    for name in ["cpu-weight", "cpu-quota"] {
        let prediction = predicted(&study(name), false);
        let promises = prediction.trials.iter().flat_map(|trial| &trial.promises);
        let of_time: Vec<_> = promises.filter(|one| one.measure == "cpu.time").collect();
        assert!(!of_time.is_empty(), "{name}");
        for promise in of_time {
            assert!(promise.verdict.is_some() != promise.not_available.is_some(), "{promise:?}");
        }
    }
}

#[test]
fn measures_without_a_model_are_not_available() {
    let prediction = predicted(&study("memory-limit"), false);
    let promises: Vec<_> = prediction.trials.iter().flat_map(|trial| &trial.promises).collect();
    assert!(promises.iter().all(|promise| promise.not_available.is_some()));
    assert_eq!(prediction.verdict, None);
}

#[test]
fn a_prediction_survives_json_and_is_reproducible() {
    let mut study = study("io-weight");
    groups(&mut study, &[4, 16]);
    let prediction = predicted(&study, false);
    assert_eq!(prediction, predicted(&study, false));
    let text = serde_json::to_string(&prediction).unwrap();
    let read: Prediction = serde_json::from_str(&text).unwrap();
    assert_eq!((read.trials.len(), read.verdict), (2, prediction.verdict));
    let share = |prediction: &Prediction| first(prediction, 1).groups[3].share;
    assert!((share(&read) - share(&prediction)).abs() < 1e-12);
}

#[test]
fn a_prediction_equal_to_the_measurement_has_no_error() {
    let prediction = predicted(&study("io-weight"), false);
    let promise = first(&prediction, 0);
    let groups: Vec<serde_json::Value> = promise
        .groups
        .iter()
        .map(|group| {
            serde_json::json!({"name": group.name, "knob": null, "share": group.share,
                "expected_share": group.expected_share, "low": group.share, "high": group.share,
                "rate": group.share * 1000.0, "verdict": "kept"})
        })
        .collect();
    let judgement = serde_json::json!({"schema": 1, "study": "io-weight", "verdict": "kept",
        "restored": true, "trials": [{"factors": prediction.trials[0].factors, "verdict": "kept",
            "repeats": 1, "validity": [], "window_s": 1.0, "warm_up_s": 0.0, "observer_cpu": 0.0,
            "promises": [{"measure": "io.bytes", "is": "proportional", "to": "io.weight",
                "within": 0.1, "confidence": 0.95, "verdict": "broken", "reason": "",
                "worst_error": null, "jain": null, "total_rate": 1000.0, "needs_s": null,
                "needs_repeats": null, "groups": groups, "causes": []}]}]});
    let score = score(&prediction, &serde_json::from_value(judgement).unwrap());
    assert!(score.mean_error.unwrap() < 1e-9 && score.mean_points.unwrap() < 1e-9);
    assert_eq!((score.verdicts, score.right), (1, 0), "kept was predicted and broken was measured");
}

#[test]
fn a_calibration_of_another_host_kernel_or_disk_is_refused() {
    let facts = host(false);
    let own = Calibration {
        schema: 1,
        made_at: String::new(),
        host: facts.host_name.clone(),
        kernel: facts.kernel.clone(),
        processors: facts.cpus.model.clone(),
        cpus: facts.cpus.allowed.len(),
        disk: "loop".to_owned(),
        scheduler: Some("bfq".to_owned()),
        pool: 256,
        taken: Vec::new(),
    };
    assert_eq!(own.refusal(&facts, "loop"), None);
    assert!(own.refusal(&facts, "null_blk").unwrap().contains("disk `loop`"));
    let other = Calibration { kernel: "5.4".to_owned(), ..own.clone() };
    assert!(other.refusal(&facts, "loop").unwrap().contains("kernel `5.4`"));
    let later = Calibration { schema: 2, ..own };
    assert!(later.refusal(&facts, "loop").unwrap().contains("format"));
}
