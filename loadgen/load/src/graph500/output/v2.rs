//! The key list of 2.1.4, line by line as `omp-csr` prints it, followed by keys of our own: kernel
//! 3 under the names of the specification 2.0, and corrected quartiles.

use crate::graph500::c_format::exponential;
use crate::graph500::outcome::{Outcome, Searched, column};
use crate::graph500::size::{A, B, C};
use crate::graph500::statistics::{Quartiles, Summary, harmonic, summary};

pub(super) fn text(outcome: &Outcome) -> String {
    let size = outcome.size;
    let mut text = format!(
        "SCALE: {}\nnvtx: {}\nedgefactor: {}\n",
        size.scale,
        size.labels(),
        size.edgefactor
    );
    let mut line = |key: &str, value: f64| text.push_str(&entry(key, value));
    line("terasize", size.tuples() as f64 * 16.0 / 1e12);
    // The reference computes D as the remainder of the others, with its rounding.
    for (key, value) in [("A", A), ("B", B), ("C", C), ("D", 1.0 - (A + B + C))] {
        line(key, value);
    }
    line("generation_time", outcome.generation);
    line("construction_time", outcome.construction);
    text.push_str(&format!("nbfs: {}\n", outcome.searches.len()));
    text.push_str(&kernel("", &outcome.searches));
    if !outcome.paths.is_empty() {
        text.push_str(&kernel("sssp_", &outcome.paths));
    }
    text.push_str(&corrected("", &outcome.searches));
    if !outcome.paths.is_empty() {
        text.push_str(&corrected("sssp_", &outcome.paths));
    }
    text.push_str(&format!("validated: {}\n", if outcome.validated { "yes" } else { "no" }));
    text
}

fn entry(key: &str, value: f64) -> String {
    format!("{key}: {}\n", exponential(value))
}

/// The three quantities with the quartiles of 2.1.4.
fn kernel(prefix: &str, searches: &[Searched]) -> String {
    let mut text = String::new();
    for (name, values) in quantities(searches) {
        let stats = summary(&values, Quartiles::OneTooHigh);
        let mut line =
            |key: &str, value| text.push_str(&entry(&format!("{prefix}{key}_{name}"), value));
        line("min", stats.min);
        for (key, value) in quartiles(&stats) {
            line(key, value);
        }
        line("max", stats.max);
        if name == "TEPS" {
            let (mean, deviation) = harmonic(&values);
            line("harmonic_mean", mean);
            line("harmonic_stddev", deviation);
        } else {
            line("mean", stats.mean);
            line("stddev", stats.deviation);
        }
    }
    text
}

/// The same quartiles at their correct positions.
fn corrected(prefix: &str, searches: &[Searched]) -> String {
    let mut text = String::new();
    for (name, values) in quantities(searches) {
        for (key, value) in quartiles(&summary(&values, Quartiles::Right)) {
            text.push_str(&entry(&format!("corrected_{prefix}{key}_{name}"), value));
        }
    }
    text
}

fn quartiles(summary: &Summary) -> [(&'static str, f64); 3] {
    [
        ("firstquartile", summary.first_quartile),
        ("median", summary.median),
        ("thirdquartile", summary.third_quartile),
    ]
}

fn quantities(searches: &[Searched]) -> [(&'static str, Vec<f64>); 3] {
    [
        ("time", column(searches, |search| search.seconds)),
        ("nedge", column(searches, |search| search.edges as f64)),
        ("TEPS", column(searches, Searched::rate)),
    ]
}
