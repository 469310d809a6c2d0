//! The result for scripts: every search, and correct statistics.

use serde_json::{Value, json};

use crate::graph500::outcome::{Outcome, Searched, column};
use crate::graph500::statistics::{Quartiles, Summary, harmonic, summary};

/// The object described in docs/load/compute.md.
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
        "metrics": {
            "generation_s": outcome.generation,
            "construction_s": outcome.construction,
        },
    });
    let kernels = [("bfs", &outcome.searches), ("sssp", &outcome.paths)];
    for (name, searches) in kernels.into_iter().filter(|(_, searches)| !searches.is_empty()) {
        document[name] = kernel(searches);
        let (mean, deviation) = harmonic(&column(searches, Searched::rate));
        document["metrics"][format!("{name}_harmonic_mean_teps")] = mean.into();
        document["metrics"][format!("{name}_harmonic_stddev_teps")] = deviation.into();
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
        "seconds": summary_json(&column(searches, |search| search.seconds)),
        "nedge": summary_json(&column(searches, |search| search.edges as f64)),
        "teps": summary_json(&rates),
        "searches": rows,
    })
}

fn summary_json(values: &[f64]) -> Value {
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
