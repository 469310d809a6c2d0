//! Synthetic runs for tests and the gallery.

use assay_fleet::{FleetMerge, conclude, differences, leave_open, traits};
use assay_host::facts::Available;
use assay_judge::verdict::{
    ComparisonJudgement, FleetHost, FleetJudgement, LevelJudgement, PairJudgement,
    ReferenceJudgement, Verdict,
};
use assay_record::run_folder::{Fault, Phase};

use crate::fixture::{KEPT, Run, Shape, run};

/// Four groups, everything as promised.
pub(crate) fn kept() -> Run {
    run(&[KEPT])
}

/// Four groups that keep the promise and eight that break it.
pub(crate) fn broken() -> Run {
    let broken = Shape { groups: 8, verdict: Verdict::Broken, collapse: 0.7, mixed: true, ..KEPT };
    run(&[KEPT, broken])
}

/// One trial, which breaks its promise.
pub(crate) fn broken_alone() -> Run {
    run(&[Shape { groups: 8, verdict: Verdict::Broken, collapse: 0.7, mixed: true, ..KEPT }])
}

/// More repeats are needed.
pub(crate) fn undecided() -> Run {
    run(&[Shape { verdict: Verdict::Undecided, collapse: 0.05, repeats: 1, ..KEPT }])
}

/// Nothing was contended.
pub(crate) fn void() -> Run {
    run(&[Shape { verdict: Verdict::Void, collapse: 0.5, ..KEPT }])
}

/// Interrupted by Ctrl-C in the second trial, with one change that could not be restored.
pub(crate) fn interrupted() -> Run {
    let mut run =
        run(&[KEPT, Shape { groups: 8, repeats: 1, ..KEPT }, Shape { groups: 16, ..KEPT }]);
    run.manifest.ended_early = Some("interrupted by SIGINT in trial 2 of 3".to_owned());
    run.manifest.trials[1].repeats[0].fault = Some(Fault {
        kind: "interrupted".to_owned(),
        message: "stopped by SIGINT after 4.2 s".to_owned(),
    });
    run.manifest.trials[2].repeats.clear();
    run.judgement.trials.truncate(1);
    run.samples.truncate(1);
    run.samples.push(vec![vec![]]);
    run.manifest.changes[1].restored = Available::NotAvailable("EBUSY on write".to_owned());
    run.manifest.restored = Some(false);
    run.judgement.restored = Some(false);
    run
}

/// No samples; the host gives a reason for one source.
pub(crate) fn without_samples() -> Run {
    let mut run = run(&[KEPT]);
    run.samples = vec![vec![vec![]; 3]];
    for repeat in &mut run.manifest.trials[0].repeats {
        let reason = "this kernel was built without CONFIG_BLK_CGROUP";
        repeat.not_available.insert("io".to_owned(), reason.to_owned());
        repeat.workloads.clear();
    }
    run
}

/// 128 groups for ten minutes, sampled ten times a second.
pub(crate) fn large() -> Run {
    run(&[Shape {
        groups: 128,
        seconds: 600,
        repeats: 1,
        verdict: Verdict::Broken,
        collapse: 0.8,
        mixed: true,
    }])
}

/// All trials of the series of E 4.3, shortened.
pub(crate) fn series() -> Run {
    let collapse = [(4, 0.004), (8, 0.01), (16, 0.03), (32, 0.25), (64, 0.6), (128, 0.85)];
    let shapes = collapse.map(|(groups, collapse)| {
        let verdict = if collapse < 0.1 { Verdict::Kept } else { Verdict::Broken };
        Shape { groups, verdict, collapse, mixed: true, ..KEPT }
    });
    run(&shapes)
}

/// Four groups whose workloads report the phases `fill` and `warm`.
pub(crate) fn with_phases() -> Run {
    let mut run = kept();
    for repeat in &mut run.manifest.trials[0].repeats {
        let phase = |name: &str, from: u64, to: u64| Phase {
            name: name.to_owned(),
            begin_ns: repeat.released_ns + from * 1_000_000_000,
            end_ns: repeat.released_ns + to * 1_000_000_000,
        };
        let phases = vec![phase("fill", 0, 8), phase("warm", 8, 20)];
        for result in &mut repeat.workloads {
            result.phases = phases.clone();
        }
    }
    run
}

/// The same study on three hosts, the last of which has another kernel and breaks the promise, and
/// on a fourth that was lost.
pub(crate) fn fleet() -> FleetJudgement {
    let runs = [("node1", 0.01), ("node2", 0.02), ("node3", 0.7)].map(|(node, collapse)| {
        let verdict = if collapse < 0.1 { Verdict::Kept } else { Verdict::Broken };
        let mut run = run(&[KEPT, Shape { groups: 8, verdict, collapse, ..KEPT }]);
        if verdict == Verdict::Broken {
            run.manifest.host.kernel = "6.12.0".to_owned();
        }
        (node, run)
    });
    let mut merge = FleetMerge::default();
    runs.iter().for_each(|(node, run)| merge.add(node, &run.judgement));
    let (mut trials, mut comparisons) = merge.finish();
    let host = |task: usize, node: &str, run: Option<&Run>| FleetHost {
        task,
        node: node.to_owned(),
        why: run.is_none().then(|| "its node failed (NodeDown)".to_owned()),
        verdict: run.map(|run| run.judgement.verdict),
        code: None,
        seed: 1 + task as u64,
        run: Some(format!("nodes/{node}/17_{task}")),
        restored: run.map(|_| true),
        traits: run.map(|run| traits(&run.manifest)).unwrap_or_default(),
    };
    let ended = runs.iter().enumerate().map(|(task, (node, run))| host(task, node, Some(run)));
    let hosts: Vec<FleetHost> = ended.chain([host(3, "node4", None)]).collect();
    leave_open(&hosts, &mut trials, &mut comparisons);
    let (verdict, reason) = conclude(&hosts);
    let manifest = &runs[0].1.manifest;
    FleetJudgement {
        schema: 1,
        study: manifest.study.clone(),
        title: manifest.title.clone(),
        question: manifest.question.clone(),
        started_at: manifest.started_at.clone(),
        verdict,
        reason,
        restored: None,
        differences: differences(&hosts),
        hosts,
        trials,
        comparisons,
        not_available: [("folder /copies/x".to_owned(), "it has no manifest.json".to_owned())]
            .into(),
    }
}

fn at(limit: f64) -> assay_record::run_folder::Levels {
    [("limit".to_owned(), limit.into())].into()
}

fn level(limit: f64, value: f64) -> LevelJudgement {
    LevelJudgement {
        factors: at(limit),
        repeats: 3,
        value: Some(value),
        low: Some(value * 0.93),
        high: Some(value * 1.08),
        not_available: None,
    }
}

fn pair(of: f64, to: f64, ratio: f64, verdict: Verdict) -> PairJudgement {
    PairJudgement {
        of: at(of),
        to: at(to),
        repeats: 3,
        ratio: Some(ratio),
        low: Some(ratio * 0.97),
        high: Some(ratio * 1.03),
        verdict,
    }
}

/// A study of memory limits: a promise across trials that is broken, one that a single repeat
/// leaves undecided, and references.
pub(crate) fn across() -> Run {
    let mut run = kept();
    let equal = ComparisonJudgement {
        measure: "bfs.harmonic_mean_teps".to_owned(),
        group: None,
        is: "equal".to_owned(),
        over: vec!["limit".to_owned()],
        held: [("threads".to_owned(), 2.into())].into(),
        at_least: None,
        at_most: None,
        within: Some(0.05),
        verdict: Verdict::Broken,
        reason: "`bfs.harmonic_mean_teps` under limit = 2 is 1.62 times that under limit = 0.6"
            .to_owned(),
        needs_repeats: None,
        levels: vec![level(0.6, 1.21e8), level(2.0, 1.96e8)],
        pairs: vec![pair(2.0, 0.6, 1.62, Verdict::Broken)],
    };
    let mut open = equal.clone();
    open.is = "ratio".to_owned();
    (open.within, open.at_least) = (None, Some(1.5));
    open.verdict = Verdict::Undecided;
    open.reason = "a single repeat says nothing of how far others would be from it".to_owned();
    open.needs_repeats = Some(7);
    open.levels[0] = LevelJudgement {
        value: None,
        low: None,
        high: None,
        not_available: Some("`box.bfs` failed: killed by SIGKILL".to_owned()),
        ..level(0.6, 1.0)
    };
    (open.pairs[0].low, open.pairs[0].high) = (None, None);
    open.pairs[0].verdict = Verdict::Undecided;
    run.judgement.comparisons = vec![equal, open];
    run.judgement.references = vec![
        ReferenceJudgement {
            what: "graph500 under memory.max = 25 GB".to_owned(),
            value: 2.723e9,
            unit: "TEPS".to_owned(),
            source: "000_99957449e91ef60d.txt".to_owned(),
            measure: Some("bfs.harmonic_mean_teps".to_owned()),
            group: None,
            under: at(2.0),
            to: assay_record::run_folder::Levels::new(),
            ours: vec![level(2.0, 1.96e8)],
        },
        ReferenceJudgement {
            what: "AnonHugePages during the run".to_owned(),
            value: 16.59,
            unit: "GB".to_owned(),
            source: "000_99957449e91ef60d.txt".to_owned(),
            measure: None,
            group: None,
            under: assay_record::run_folder::Levels::new(),
            to: assay_record::run_folder::Levels::new(),
            ours: vec![],
        },
    ];
    run.judgement.verdict = Verdict::Broken;
    run
}
