//! The key list of 3.0, as its MPI reference prints it. Rates are summarized as seconds per edge
//! and inverted, so that the minimum rate is the inverse of the maximum time per edge.

use crate::graph500::c_format::general;
use crate::graph500::outcome::{Outcome, Searched, column};
use crate::graph500::statistics::{Quartiles, Summary, summary};

pub(super) fn text(outcome: &Outcome) -> String {
    if !outcome.validated {
        // With SKIP_VALIDATION the reference omits the validation and prints the rest.
        return body(outcome);
    }
    body(outcome) + &validation(outcome)
}

fn body(outcome: &Outcome) -> String {
    let mut text = line("SCALE:", &outcome.size.scale.to_string());
    text += &line("edgefactor:", &outcome.size.edgefactor.to_string());
    text += &line("NBFS:", &outcome.searches.len().to_string());
    text += &line("graph_generation:", &general(outcome.generation, 6));
    // One process; its threads are in the JSON.
    text += &line("num_mpi_processes:", "1");
    text += &line("construction_time:", &general(outcome.construction, 6));
    for (kernel, searches) in kernels(outcome) {
        text += &block(kernel, "time", &column(searches, |search| search.seconds), 6);
    }
    text += &block("", "nedge", &column(&outcome.searches, |search| search.edges as f64), 11);
    for (kernel, searches) in kernels(outcome) {
        text += &rates(kernel, searches);
    }
    text
}

fn validation(outcome: &Outcome) -> String {
    kernels(outcome)
        .map(|(kernel, searches)| {
            let seconds = column(searches, |search| search.validation.unwrap_or(0.0));
            block(kernel, "validate", &seconds, 6)
        })
        .collect()
}

/// The kernels that were run, with the prefix of their keys.
fn kernels(outcome: &Outcome) -> impl Iterator<Item = (&'static str, &[Searched])> {
    [("bfs  ", &outcome.searches[..]), ("sssp ", &outcome.paths[..])]
        .into_iter()
        .filter(|(_, searches)| !searches.is_empty())
}

/// Values begin in column 33.
fn line(key: &str, value: &str) -> String {
    format!("{key:<32}{value}\n")
}

fn block(kernel: &str, name: &str, values: &[f64], digits: usize) -> String {
    let stats = summary(values, Quartiles::Pairs);
    five(&stats)
        .into_iter()
        .chain([("mean", stats.mean), ("stddev", stats.deviation)])
        .map(|(key, value)| line(&format!("{kernel}{key}_{name}:"), &general(value, digits)))
        .collect()
}

fn five(stats: &Summary) -> [(&'static str, f64); 5] {
    [
        ("min", stats.min),
        ("firstquartile", stats.first_quartile),
        ("median", stats.median),
        ("thirdquartile", stats.third_quartile),
        ("max", stats.max),
    ]
}

fn rates(kernel: &str, searches: &[Searched]) -> String {
    let seconds_per_edge = column(searches, |search| search.seconds / search.edges as f64);
    let stats = summary(&seconds_per_edge, Quartiles::Pairs);
    let turned = Summary {
        min: stats.max,
        first_quartile: stats.third_quartile,
        third_quartile: stats.first_quartile,
        max: stats.min,
        ..stats
    };
    let mut text: String = five(&turned)
        .into_iter()
        .map(|(key, value)| line(&format!("{kernel}{key}_TEPS:"), &general(1.0 / value, 6)))
        .collect();
    let deviation =
        stats.deviation / (stats.mean * stats.mean * (searches.len() as f64 - 1.0).sqrt());
    // The exclamation mark is in the original, too.
    text += &line(&format!("{kernel}harmonic_mean_TEPS:     !"), &general(1.0 / stats.mean, 6));
    text + &line(&format!("{kernel}harmonic_stddev_TEPS:"), &general(deviation, 6))
}
