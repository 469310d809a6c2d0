//! What the founding documents state, each with the promise of a shipped study that makes the statement again.

use assay_judge::verdict::wording::percent;
use assay_judge::verdict::{Interval, Judgement, Verdict};
use serde_json::Value;

use crate::across::division;
use crate::number::Unit;
use crate::wording;

/// A statement of a document, and the promise of a shipped study that makes it again.
#[derive(Debug)]
pub struct Claim {
    /// The document, or its section.
    pub document: &'static str,
    /// What it states.
    pub says: &'static str,
    /// Its figure.
    pub published: &'static str,
    /// The study.
    pub study: &'static str,
    /// The level of a factor to which it belongs.
    pub under: Option<(&'static str, &'static str)>,
    /// The measure of the promise.
    pub measure: &'static str,
    is: &'static str,
    /// The verdict by which it is reproduced: some documents state that something fails.
    by: Verdict,
}

const fn claim(
    [document, says, published]: [&'static str; 3],
    study: &'static str,
    [measure, is]: [&'static str; 2],
) -> Claim {
    Claim { document, says, published, study, under: None, measure, is, by: Verdict::Kept }
}

impl Claim {
    const fn under(self, factor: &'static str, level: &'static str) -> Self {
        Self { under: Some((factor, level)), ..self }
    }
}

const SHARES: [&str; 2] = ["io.bytes", "proportional"];

/// The documents are those of docs/founding.md.
pub const CLAIMS: &[Claim] = &[
    claim(
        ["thesis, 4.1", "weights divide a disk", "1 : 1.99, two groups of four"],
        "io-weight-job",
        SHARES,
    ),
    claim(
        ["thesis, 4.2", "so they do beside YCSB that reads", "1 : 2.03 : 4.07 : 8.12"],
        "io-weight-ycsb",
        SHARES,
    )
    .under("run", "read"),
    claim(["thesis, 4.2", "and beside YCSB that updates", "no figure"], "io-weight-ycsb", SHARES)
        .under("run", "update"),
    claim(
        ["thesis, 4.3", "they do among 16 groups", "a curve"],
        "io-weight-scaling",
        ["io.ios", "proportional"],
    )
    .under("groups", "16"),
    Claim {
        by: Verdict::Broken,
        ..claim(
            ["thesis, 4.3", "not among 32", "a curve"],
            "io-weight-scaling",
            ["io.ios", "proportional"],
        )
        .under("groups", "32")
    },
    claim(
        [
            "memory limit",
            "makes no difference to graph500",
            "2.93, 2.59, 2.72e9 TEPS under 15, 20, 25 GB",
        ],
        "memory-limit",
        ["graph.bfs_harmonic_mean_teps", "equal"],
    ),
    claim(
        ["memory limit", "nor to a file server", "3466, 3507, 3479 ops/s"],
        "memory-limit",
        ["files.ops_per_s", "equal"],
    ),
    claim(
        ["NUMA", "interleaving speeds streamcluster up", "1.20 times"],
        "numa-placement",
        ["streamcluster.distances_per_s", "ratio"],
    ),
    claim(
        ["NUMA", "and slows blackscholes not down", "1.02 times"],
        "numa-placement",
        ["blackscholes.options_per_s", "ratio"],
    ),
    claim(
        ["stressapptest", "--local_numa chooses among nodes", "13639 MB/s, remote 13978"],
        "numa-local-remote",
        ["copy.nodes_seen", "at_least"],
    )
    .under("local", "true"),
    claim(
        ["caches", "each level is slower than the one before", "0.33, 0.89, 1.1, 2.8 ns"],
        "cache-ladder",
        ["chase.random_least_rise", "at_least"],
    ),
    claim(
        ["caches", "the first ends where sysfs says", "48 KiB"],
        "cache-ladder",
        ["chase.random_l1_capacity_part", "at_least"],
    ),
    claim(
        ["caches", "so does the last", "6 MiB"],
        "cache-ladder",
        ["chase.random_l3_capacity_part", "at_least"],
    ),
    claim(
        ["page cache", "a first reading comes from the disk", "1.117 s for 1 GiB"],
        "page-cache",
        ["file.first_read_disk_part", "at_least"],
    ),
    claim(
        ["page cache", "a second from memory", "0.134 s"],
        "page-cache",
        ["file.second_read_memory_part", "at_least"],
    ),
    claim(
        ["writing", "dirty pages stay below vm.dirty_*", "no figure"],
        "writeback",
        ["memory.dirty", "at_most"],
    ),
    claim(
        ["drop_caches", "3 drops the page cache", "1.63 GiB"],
        "cache-drop",
        ["file.from_disk_bytes", "at_least"],
    )
    .under("drop", "3"),
    claim(
        ["SMT", "two threads on a core do less than on two", "a build in 73 s for 93"],
        "smt",
        ["build.files_per_s", "ratio"],
    ),
];

/// What a run says of a claim.
#[derive(Debug)]
pub struct Found {
    /// `reproduced`, `not reproduced`, `undecided` or `void here`.
    pub result: &'static str,
    /// Our figure, if there is one.
    pub ours: Option<String>,
}

impl Claim {
    fn is(&self, verdict: Verdict, ours: Option<String>) -> Found {
        let result = match verdict {
            Verdict::Undecided => "undecided",
            Verdict::Void => "void here",
            decided if decided == self.by => "reproduced",
            Verdict::Kept | Verdict::Broken => "not reproduced",
        };
        Found { result, ours }
    }

    /// What the run says of it; `None` if it has no such promise.
    #[must_use]
    pub fn found(&self, judgement: &Judgement) -> Option<Found> {
        let across = judgement.comparisons.iter();
        let across: Vec<_> =
            across.filter(|one| one.measure == self.measure && one.is == self.is).collect();
        if !across.is_empty() {
            let ratios = across.iter().flat_map(|one| &one.pairs).filter_map(|pair| pair.ratio);
            let furthest = ratios.max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()));
            let verdict = Verdict::worst(across.iter().map(|one| one.verdict));
            return Some(self.is(verdict, furthest.map(|ratio| format!("{ratio:.2} times"))));
        }
        let is_at_level = |factors: &std::collections::BTreeMap<String, Value>| {
            self.under.is_none_or(|(factor, level)| match factors.get(factor) {
                Some(Value::String(text)) => text == level,
                Some(other) => level.parse().is_ok_and(|level: Value| level == *other),
                None => false,
            })
        };
        let trials = judgement.trials.iter().filter(|trial| is_at_level(&trial.factors));
        let promises = trials.flat_map(|trial| &trial.promises);
        let promises: Vec<_> =
            promises.filter(|one| one.measure == self.measure && one.is == self.is).collect();
        let first = promises.first()?;
        let off = |error: &Interval| format!("off by {}", percent(error.value));
        let ours = match first.divides_by_knob() {
            true => division(first).or_else(|| first.worst_error.as_ref().map(off)),
            false => first
                .groups
                .first()
                .map(|group| Unit::for_rate(self.measure, group.share).with_label(group.share)),
        };
        let verdict = Verdict::worst(promises.iter().map(|one| one.verdict));
        Some(self.is(verdict, ours))
    }

    /// The claim and what the run says of it, as a line.
    fn sentence(&self, found: &Found) -> String {
        let here = found.result.trim_end_matches(" here");
        // Of an invalid run no figure stands beside the document's.
        let ours = found.ours.iter().filter(|_| here != "void").map(|ours| format!(": {ours}"));
        let Self { document, says, published, .. } = self;
        let line = format!(
            "{document}: {says} (published: {published}). Here {here}{}",
            ours.collect::<String>()
        );
        wording::sentence(&line)
    }
}

/// A line for each claim that this run of a study repeats.
pub(crate) fn sentences(study: &str, judgement: &Judgement) -> Vec<String> {
    let of_study = CLAIMS.iter().filter(|claim| claim.study == study);
    of_study.filter_map(|claim| Some(claim.sentence(&claim.found(judgement)?))).collect()
}

#[cfg(test)]
mod tests {
    use assay_judge::verdict::{GroupJudgement, PromiseJudgement, TrialJudgement};

    use super::*;

    #[test]
    fn a_run_is_said_to_reproduce_what_a_document_states_or_not() {
        let group = |knob, share| GroupJudgement { knob: Some(knob), share, ..Default::default() };
        let run = |verdict| {
            let promise = PromiseJudgement {
                measure: "io.bytes".to_owned(),
                is: "proportional".to_owned(),
                to: Some("io.weight".to_owned()),
                groups: vec![group(100.0, 0.3), group(200.0, 0.6)],
                verdict,
                ..Default::default()
            };
            let trial = TrialJudgement { promises: vec![promise], ..Default::default() };
            let judgement = Judgement { trials: vec![trial], ..Default::default() };
            sentences("io-weight-job", &judgement)
        };
        let states =
            "thesis, 4.1: weights divide a disk (published: 1 : 1.99, two groups of four).";
        let states = wording::sentence(states);
        let ours = "1.00 : 2.00 for io.weight 100 : 200.";
        assert_eq!(run(Verdict::Kept), [format!("{states} Here reproduced: {ours}")]);
        assert_eq!(run(Verdict::Broken), [format!("{states} Here not reproduced: {ours}")]);
        assert_eq!(run(Verdict::Void), [format!("{states} Here void.")]);
        assert_eq!(sentences("mine", &Judgement::default()), [""; 0]);
    }
}
