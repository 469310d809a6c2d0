//! `assay run --list founding`: what the founding documents state, and what the newest runs here say of it.

use std::path::Path;

use assay_judge::verdict::{Judgement, Verdict};
use assay_record::run_folder::{RunFolder, summaries};
use assay_report::{division, number};
use assay_sys::escape::page::{Page, Parts};
use assay_sys::exit::{Code, Error};
use assay_sys::files::Dir;
use serde::Serialize;
use serde_json::Value;

use crate::output;

/// A statement of a document, and the promise of a shipped study that makes it again.
struct Claim {
    document: &'static str,
    says: &'static str,
    published: &'static str,
    study: &'static str,
    /// The level of a factor to which it belongs.
    under: Option<(&'static str, &'static str)>,
    measure: &'static str,
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
const CLAIMS: &[Claim] = &[
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

/// The document of `assay run --list founding -o json`.
#[derive(Debug, Serialize)]
struct Founding {
    /// Version of this format.
    schema: u32,
    /// The statements, in the order of the documents.
    claims: Vec<Repeated>,
}

/// A statement of a founding document, and what the newest run that repeats it says.
#[derive(Debug, Serialize)]
struct Repeated {
    /// The document, or its section.
    document: &'static str,
    /// What it states.
    says: &'static str,
    /// Its figure, as published.
    published: &'static str,
    /// The shipped study that repeats it.
    study: &'static str,
    /// `reproduced`, `not reproduced`, `undecided`, `void here` or `not run`.
    result: &'static str,
    /// Our figure, if there is one.
    ours: Option<String>,
    /// When the run began, RFC 3339, UTC.
    at: Option<String>,
}

/// Shows the statements with the newest runs in `runs/`.
pub(super) fn run(as_json: bool) -> Result<Code, Error> {
    let runs = judged_runs(Path::new("runs"));
    let claims: Vec<Repeated> = CLAIMS.iter().map(|claim| repeated(claim, &runs)).collect();
    if as_json {
        output::json(&Founding { schema: 1, claims })?;
        return Ok(Code::Kept);
    }
    let head = Parts::of(|page| {
        for of_document in claims.chunk_by(|a, b| a.document == b.document) {
            page.styled("says", of_document[0].document);
            page.list(of_document.iter().map(|one| {
                let ours = one.ours.as_ref().map_or_else(String::new, |ours| format!(", {ours}"));
                format!("{} ({}): {}{ours}", one.says, one.published, one.result)
            }));
        }
    });
    let heading = "What the founding documents state, and the newest runs in runs/".to_owned();
    let page = Page { heading, head, ..Page::default() };
    output::data_painted(|color| page.text(output::width(), color));
    Ok(Code::Kept)
}

/// A run of a study that has claims, with its time.
struct JudgedRun {
    study: String,
    at: String,
    judgement: Judgement,
}

/// The runs that can be read, newest first.
fn judged_runs(folder: &Path) -> Vec<JudgedRun> {
    let Ok(folder) = Dir::open(folder) else { return Vec::new() };
    let Ok(all) = summaries(&folder) else { return Vec::new() };
    let of_claims = all.filter(|(_, run)| CLAIMS.iter().any(|claim| claim.study == run.study));
    let mut runs: Vec<JudgedRun> = of_claims
        .filter_map(|(dir, run)| {
            let judgement = RunFolder::from_dir(dir).ok()?.read_json("verdict.json").ok()?;
            Some(JudgedRun { study: run.study, at: run.started_at, judgement })
        })
        .collect();
    runs.sort_by(|a, b| b.at.cmp(&a.at));
    runs
}

fn repeated(claim: &Claim, runs: &[JudgedRun]) -> Repeated {
    let of_study = runs.iter().filter(|run| run.study == claim.study);
    let newest = of_study.filter_map(|run| Some((run, found(claim, &run.judgement)?))).next();
    let (at, result, ours) = match newest {
        None => (None, "not run", None),
        Some((run, (verdict, ours))) => (Some(run.at.clone()), result(claim, verdict), ours),
    };
    let &Claim { document, says, published, study, .. } = claim;
    Repeated { document, says, published, study, result, ours, at }
}

fn result(claim: &Claim, verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Undecided => "undecided",
        Verdict::Void => "void here",
        decided if decided == claim.by => "reproduced",
        Verdict::Kept | Verdict::Broken => "not reproduced",
    }
}

/// The verdict of the promise of a claim, with our figure; `None` if the run has no such promise.
fn found(claim: &Claim, judgement: &Judgement) -> Option<(Verdict, Option<String>)> {
    let across = judgement.comparisons.iter();
    let across: Vec<_> =
        across.filter(|one| one.measure == claim.measure && one.is == claim.is).collect();
    if !across.is_empty() {
        let ratios = across.iter().flat_map(|one| &one.pairs).filter_map(|pair| pair.ratio);
        let furthest = ratios.max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()));
        let verdict = Verdict::worst(across.iter().map(|one| one.verdict));
        return Some((verdict, furthest.map(|ratio| format!("{ratio:.2} times"))));
    }
    let is_at_level = |factors: &std::collections::BTreeMap<String, Value>| {
        claim.under.is_none_or(|(factor, level)| match factors.get(factor) {
            Some(Value::String(text)) => text == level,
            Some(other) => level.parse().is_ok_and(|level: Value| level == *other),
            None => false,
        })
    };
    let trials = judgement.trials.iter().filter(|trial| is_at_level(&trial.factors));
    let promises = trials.flat_map(|trial| &trial.promises);
    let promises: Vec<_> =
        promises.filter(|one| one.measure == claim.measure && one.is == claim.is).collect();
    let first = promises.first()?;
    let ours =
        division(first).or_else(|| first.groups.first().map(|group| number::four(group.share)));
    Some((Verdict::worst(promises.iter().map(|one| one.verdict)), ours))
}

#[cfg(test)]
mod tests;
