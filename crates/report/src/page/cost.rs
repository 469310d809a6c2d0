//! What observing cost: a number is only worth something beside the price of getting it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::number::{self, NONE};
use crate::trial::Trial;
use crate::wording;

/// The cost of sampling over the whole run.
#[derive(Serialize)]
pub(crate) struct Cost {
    rows: Vec<Row>,
    sources: Vec<Source>,
}

/// One repeat.
#[derive(Serialize)]
struct Row {
    trial: String,
    repeat: usize,
    interval_ms: String,
    rounds: u64,
    missed: u64,
    latest_ms: String,
    cpu_percent: String,
}

/// One source over all repeats.
#[derive(Serialize)]
struct Source {
    name: String,
    cpu_ms: String,
    part: String,
}

impl Cost {
    pub(crate) fn of(trials: &[Trial<'_>]) -> Self {
        let mut rows = Vec::new();
        let mut by_source: BTreeMap<&str, f64> = BTreeMap::new();
        for trial in trials {
            for (index, repeat) in trial.record.repeats.iter().enumerate() {
                let sampler = &repeat.sampler;
                let load = sampler.cpu_s / sampler.wall_s;
                rows.push(Row {
                    trial: wording::factors(&trial.record.factors),
                    repeat: index + 1,
                    interval_ms: number::fixed(sampler.interval_s * 1e3, 0),
                    rounds: sampler.rounds,
                    missed: sampler.missed,
                    latest_ms: number::fixed(sampler.latest_s * 1e3, 1),
                    cpu_percent: if sampler.wall_s > 0.0 {
                        number::percent(load, 2)
                    } else {
                        NONE.to_owned()
                    },
                });
                for (source, seconds) in &sampler.by_source_s {
                    *by_source.entry(source).or_default() += seconds;
                }
                if let Some(watch) = &repeat.watch {
                    *by_source.entry("knobs and queues, read again").or_default() += watch.cpu_s;
                }
                if let Some(shown) = repeat.shown_cpu_s {
                    *by_source.entry("looking and showing").or_default() += shown;
                }
            }
        }
        let total: f64 = by_source.values().sum();
        let sources = by_source.into_iter().map(|(name, seconds)| Source {
            name: name.to_owned(),
            cpu_ms: number::fixed(seconds * 1e3, 1),
            part: number::percent(if total > 0.0 { seconds / total } else { 0.0 }, 1),
        });
        Self { rows, sources: sources.collect() }
    }
}
