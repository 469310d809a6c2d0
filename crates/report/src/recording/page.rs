//! The page of a recording.

use serde::Serialize;

use super::Recorded;
use super::section::Section;
use crate::error::Error;
use crate::figure::{self, Figure};
use crate::number;
use crate::page::{Code, Cost, Fact, Host, filled, origin};

/// Data of the page.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    started_at: &'a str,
    about: Vec<Fact>,
    sections: Vec<Section>,
    figures: Vec<Figure>,
    sources: Vec<Source>,
    lacking: Vec<Fact>,
    host: Host,
    cost: Cost,
    origin: Vec<Fact>,
    code: Code,
}

/// Account of one source.
#[derive(Serialize)]
struct Source {
    name: String,
    period: String,
    rounds: u64,
    rows: u64,
    cpu_us: String,
}

pub(super) fn render(recorded: &Recorded<'_>) -> Result<String, Error> {
    let manifest = recorded.manifest;
    let sampler = &recorded.repeat.sampler;
    let sources = sampler.sources.iter().map(|(name, source)| Source {
        name: name.clone(),
        period: number::plain(source.period_s),
        rounds: source.rounds,
        rows: source.rows,
        cpu_us: number::fixed(source.cpu_s * 1e6 / source.rounds.max(1) as f64, 1),
    });
    let lacking = recorded.repeat.not_available.iter().map(|(name, why)| Fact::new(name, why));
    let page = Page {
        title: &manifest.title,
        started_at: &manifest.started_at,
        about: about(recorded),
        sections: recorded.sections(),
        figures: figure::recorded(&recorded.trial)?,
        sources: sources.collect(),
        lacking: lacking.collect(),
        host: Host::new(&manifest.host),
        cost: Cost::new(std::slice::from_ref(&recorded.trial)),
        origin: origin(manifest),
        code: Code::for_figures(),
    };
    filled("recording.html", page)
}

fn about(recorded: &Recorded<'_>) -> Vec<Fact> {
    let sampler = &recorded.repeat.sampler;
    let mut facts = vec![
        Fact::new("Recorded", number::seconds(recorded.seconds())),
        Fact::new("Rounds", format!("{}, {} missed", sampler.rounds, sampler.missed)),
        Fact::new("Interval", format!("{} ms", number::fixed(sampler.interval_s * 1e3, 0))),
    ];
    if sampler.wall_s > 0.0 {
        let part = number::percent(sampler.cpu_s / sampler.wall_s, 2);
        facts.push(Fact::new("Cost of sampling", format!("{part} % of one CPU")));
    }
    if let Some(recording) = &recorded.manifest.recording {
        facts.push(Fact::new("Followed", format!("{} {}", recording.kind, recording.of)));
        if let Some(ended) = &recording.ended {
            facts.push(Fact::new("Ended", ended.clone()));
        }
    }
    facts
}
