//! The runs that tests and the gallery look at.

use assay_facts::Available;
use assay_judge::Verdict;
use assay_record::Fault;

use crate::fixture::{KEPT, Run, Shape, run};

/// Four groups, everything as promised.
pub(crate) fn kept() -> Run {
    run(&[KEPT])
}

/// Four groups that keep and eight that break.
pub(crate) fn broken() -> Run {
    let broken = Shape { groups: 8, verdict: Verdict::Broken, collapse: 0.7, mixed: true, ..KEPT };
    run(&[KEPT, broken])
}

/// More repeats are needed.
pub(crate) fn undecided() -> Run {
    run(&[Shape { verdict: Verdict::Undecided, collapse: 0.05, repeats: 1, ..KEPT }])
}

/// Nothing was contended.
pub(crate) fn void() -> Run {
    run(&[Shape { verdict: Verdict::Void, collapse: 0.5, ..KEPT }])
}

/// The user pressed Ctrl-C in the second trial, and one change could not be taken back.
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

/// No samples at all; the host says why for one source.
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

/// The whole series of E 4.3, short.
pub(crate) fn series() -> Run {
    let collapse = [(4, 0.004), (8, 0.01), (16, 0.03), (32, 0.25), (64, 0.6), (128, 0.85)];
    let shapes = collapse.map(|(groups, collapse)| {
        let verdict = if collapse < 0.1 { Verdict::Kept } else { Verdict::Broken };
        Shape { groups, verdict, collapse, mixed: true, ..KEPT }
    });
    run(&shapes)
}
