//! The result for scripts: every search, and statistics that are right.

use serde_json::{Value, json};

use crate::graph500::outcome::{Outcome, Searched, column};
use crate::graph500::statistics::{Quartiles, Summary, harmonic, summary};

/// The object of docs/load/graph500.md.
pub(crate) fn json(outcome: &Outcome) -> Value {
    let size = outcome.size;
    let mut document = json!({
        "dialect": outcome.dialect.name(),
        "scale": size.scale,
        "edgefactor": size.edgefactor,
        "seeds": [outcome.seeds.0, outcome.seeds.1],
        "threads": outcome.threads,
        "generation_s": outcome.generation,
        "construction_s": outcome.construction,
        "validated": outcome.validated,
        "bfs": kernel(&outcome.searches),
    });
    if !outcome.paths.is_empty() {
        document["sssp"] = kernel(&outcome.paths);
    }
    document
}

fn kernel(searches: &[Searched]) -> Value {
    let rates = column(searches, Searched::rate);
    let (mean, deviation) = harmonic(&rates);
    let rows: Vec<Value> = searches
        .iter()
        .map(|search| {
            json!({
                "root": search.root,
                "seconds": search.seconds,
                "nedge": search.edges,
                "teps": search.rate(),
                "validation_s": search.validation,
            })
        })
        .collect();
    json!({
        "harmonic_mean_teps": mean,
        "harmonic_stddev_teps": deviation,
        "seconds": of(&column(searches, |search| search.seconds)),
        "nedge": of(&column(searches, |search| search.edges as f64)),
        "teps": of(&rates),
        "searches": rows,
    })
}

fn of(values: &[f64]) -> Value {
    let Summary { min, first_quartile, median, third_quartile, max, mean, deviation } =
        summary(values, Quartiles::Right);
    json!({
        "min": min,
        "first_quartile": first_quartile,
        "median": median,
        "third_quartile": third_quartile,
        "max": max,
        "mean": mean,
        "stddev": deviation,
    })
}
