//! Verdicts on external numbers, and why some are undecided or void.

use assay_judge::verdict::{PromiseJudgement, Verdict};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::{Amounts, ExternalData, ExternalFacts, ExternalGroup, judge_external};

fn outside(amounts: Vec<(f64, Amounts)>) -> ExternalData {
    let group = |(index, (weight, amounts)): (usize, (f64, Amounts))| ExternalGroup {
        name: format!("g{}", index + 1),
        weight,
        amounts,
        facts: ExternalFacts::default(),
    };
    ExternalData {
        title: "test".to_owned(),
        measure: "io.bytes".to_owned(),
        groups: amounts.into_iter().enumerate().map(group).collect(),
        within: 0.1,
    }
}

fn promise(outside: &ExternalData) -> PromiseJudgement {
    judge_external(outside).trials[0].promises[0].clone()
}

fn total(amount: f64) -> Amounts {
    Amounts::Total { amount, seconds: 60.0 }
}

/// A rate that varies from second to second, by up to half of it.
fn series(rate: f64, seconds: u64, seed: u64) -> Amounts {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut sum = 0.0;
    let reading = |second: u64| {
        let before = sum;
        sum += rate * (0.5 + random.random::<f64>());
        (second * 1_000_000_000, before)
    };
    Amounts::Series((0..=seconds).map(reading).collect())
}

/// One measurement is a fact about itself, however far off, and no verdict.
#[test]
fn totals_are_facts() {
    let kept = promise(&outside(vec![(100.0, total(100e6)), (200.0, total(203e6))]));
    assert_eq!((kept.verdict, kept.needs_s), (Verdict::Undecided, None), "{}", kept.reason);
    let none =
        promise(&outside(vec![(100.0, total(0.0)), (100.0, total(4e6)), (100.0, total(2e6))]));
    assert_eq!(none.verdict, Verdict::Undecided, "{}", none.reason);
    assert!((none.worst_error.unwrap().value - 1.0).abs() < 1e-9);
}

#[test]
fn series_are_judged_like_samples() {
    let of = |rates: [f64; 3], seconds| {
        let weights = [100.0, 200.0, 400.0];
        let each = weights.into_iter().zip(rates).enumerate();
        promise(&outside(
            each.map(|(seed, (w, rate))| (w, series(rate, seconds, seed as u64))).collect(),
        ))
    };
    let kept = of([1e6, 2e6, 4e6], 600);
    assert_eq!(kept.verdict, Verdict::Undecided, "{}", kept.reason);
    assert_eq!(kept.was.unwrap().verdict, Verdict::Kept);
    let broken = of([2e6, 2e6, 3e6], 600);
    assert_eq!(broken.verdict, Verdict::Undecided, "{}", broken.reason);
    assert_eq!(broken.was.unwrap().verdict, Verdict::Broken);
}

fn with_facts(facts: impl Fn(usize, &mut ExternalFacts)) -> PromiseJudgement {
    let mut made = outside(vec![(100.0, total(100e6)), (200.0, total(200e6))]);
    for (index, group) in made.groups.iter_mut().enumerate() {
        facts(index, &mut group.facts);
    }
    promise(&made)
}

#[test]
fn groups_that_did_not_run_at_once_are_void() {
    let judged = with_facts(|index, facts| {
        facts.began_s = Some(1000.0 + 50.0 * index as f64);
        facts.ended_s = facts.began_s.map(|began| began + 60.0);
    });
    assert_eq!((judged.verdict, judged.causes[0].code.as_str()), (Verdict::Void, "C-NOT-TOGETHER"));
    let at_once = with_facts(|index, facts| {
        facts.began_s = Some(1000.0 + index as f64);
        facts.ended_s = facts.began_s.map(|began| began + 60.0);
    });
    assert_eq!(at_once.verdict, Verdict::Undecided, "{}", at_once.reason);
}

#[test]
fn evidence_against_the_numbers_voids_them() {
    let code = |facts: &dyn Fn(&mut ExternalFacts)| {
        let judged = with_facts(|index, one| {
            if index == 1 {
                facts(one);
            }
        });
        assert_eq!(judged.verdict, Verdict::Void, "{}", judged.reason);
        judged.causes[0].code.clone()
    };
    assert_eq!(code(&|facts| facts.failure = Some("ended with ENOSPC".to_owned())), "C-WORKLOAD");
    assert_eq!(code(&|facts| facts.paced = Some("rate_iops=10".to_owned())), "C-DEMAND");
    assert_eq!(
        code(&|facts| (facts.outstanding, facts.wanted) = (Some(3.0), Some(32.0))),
        "C-DEMAND"
    );
    assert_eq!(code(&|facts| facts.direct = Some(false)), "C-PAGE-CACHE");
}

#[test]
fn different_disks_and_a_group_alone_are_void() {
    let disks = with_facts(|index, facts| facts.disk = Some((format!("sd{index}"), 8.0)));
    assert_eq!((disks.verdict, disks.causes[0].code.as_str()), (Verdict::Void, "C-OTHER-DISK"));
    let alone = promise(&outside(vec![(100.0, total(1e6))]));
    assert_eq!((alone.verdict, alone.causes[0].code.as_str()), (Verdict::Void, "C-ALONE"));
}

#[test]
fn a_group_with_zero_in_many_readings_was_outside() {
    let idle = Amounts::Series((0..=600).map(|second| (second * 1_000_000_000, 0.0)).collect());
    let judged = promise(&outside(vec![(100.0, idle), (100.0, series(1e6, 600, 3))]));
    assert_eq!(judged.verdict, Verdict::Undecided, "{}", judged.reason);
    assert_eq!(judged.was.unwrap().verdict, Verdict::Broken);
}

#[test]
fn external_series_are_checked_for_gaps() {
    let group = |index: u64| {
        let seen = (0..600_u64).filter(|tenth| index == 0 || !(200..300).contains(tenth));
        let total = |tenth: u64| (10_000 * tenth + (tenth * 7919) % 3000) as f64;
        ExternalGroup {
            name: format!("g{index}"),
            weight: 1.0,
            amounts: Amounts::Series(
                seen.map(|tenth| (tenth * 100_000_000, total(tenth))).collect(),
            ),
            facts: ExternalFacts::default(),
        }
    };
    let judged = judge_external(&ExternalData {
        title: "test".to_owned(),
        measure: "io.bytes".to_owned(),
        groups: vec![group(0), group(1)],
        within: 0.1,
    });
    let promise = &judged.trials[0].promises[0];
    assert_eq!(promise.verdict, Verdict::Void, "{}", promise.reason);
    assert!(promise.reason.contains("silent for up to 10.1 s"), "{}", promise.reason);
}

fn varying(rates: impl Fn(u64) -> [f64; 2], seconds: u64) -> ExternalData {
    let group = |index: usize| {
        let mut sum = 0.0;
        let reading = |tenth: u64| {
            let before = sum;
            let noise = 1.0 + 0.1 * ((tenth * 7919 + index as u64 * 31) % 100) as f64 / 100.0;
            sum += rates(tenth / 10)[index] * noise;
            (tenth * 100_000_000, before)
        };
        ExternalGroup {
            name: format!("g{}", index + 1),
            weight: 1.0,
            amounts: Amounts::Series((0..=10 * seconds).map(reading).collect()),
            facts: ExternalFacts::default(),
        }
    };
    ExternalData {
        title: "test".to_owned(),
        measure: "io.bytes".to_owned(),
        groups: vec![group(0), group(1)],
        within: 0.1,
    }
}

#[test]
fn external_numbers_have_window_checks_too() {
    let of = |outside: &ExternalData| judge_external(outside).trials.remove(0).promises.remove(0);
    // The first group has far too much for 23 s of 40, and far too little afterwards.
    let turning = of(&varying(|second| if second < 23 { [9.0, 1.0] } else { [1.0, 9.0] }, 40));
    let was = turning.was.unwrap();
    assert_eq!((turning.verdict, was.verdict), (Verdict::Undecided, Verdict::Broken));
    let short = of(&varying(|_| [1.0, 1.0], 1));
    assert!(
        short.verdict == Verdict::Void && short.reason.contains("`window`"),
        "{}",
        short.reason
    );
}
