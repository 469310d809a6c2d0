//! The page of a recording.

use assay_sys::escape::page::{Page, Parts, Rows, Section};

use super::Recorded;
use crate::figure;
use crate::number;
use crate::page::{again, host};

pub(super) fn page(recorded: &Recorded<'_>) -> Page {
    let manifest = recorded.manifest;
    let numbers = recorded.sections().into_iter().enumerate().map(|(index, one)| {
        let id = format!("numbers-{}", one.id);
        let section = Section::new(id, one.title, |page| {
            match &one.not_available {
                Some(why) => page.missing(why),
                None => page.facts(one.rows.into_iter().map(|row| (row.label, row.shown))),
            }
            page.list(one.lines);
        });
        Section { listed: (index == 0).then(|| "Numbers".to_owned()), ..section }
    });
    let over_time = Section::new("figures", "Over time", |page| {
        page.figures(figure::recorded(&recorded.trial));
    });
    let first = [over_time].into_iter().chain(numbers);
    let last = [
        sources(recorded),
        host::section(&manifest.host),
        again(
            manifest,
            "This page belongs to the run folder, next to the samples. In that folder, `assay report .` writes it again.",
        ),
    ];
    Page {
        title: manifest.title.clone(),
        kicker: vec!["assay record".to_owned(), manifest.started_at.clone()],
        heading: manifest.title.clone(),
        question: Some("A recording without a study: no promises, no verdict.".to_owned()),
        verdict: None,
        head: Parts::of(|page| page.facts(about(recorded))),
        sections: first.chain(last).collect(),
    }
}

fn about(recorded: &Recorded<'_>) -> Vec<(&'static str, String)> {
    let sampler = &recorded.repeat.sampler;
    let mut facts = vec![
        ("Recorded", number::seconds(recorded.seconds())),
        ("Rounds", format!("{}, {} missed", sampler.rounds, sampler.missed)),
        ("Interval", format!("{} ms", number::fixed(sampler.interval_s * 1e3, 0))),
    ];
    if sampler.wall_s > 0.0 {
        let part = number::percent(sampler.cpu_s / sampler.wall_s, 2);
        facts.push(("Cost of sampling", format!("{part} % of one CPU")));
    }
    if let Some(recording) = &recorded.manifest.recording {
        facts.push(("Followed", format!("{} {}", recording.kind, recording.of)));
        facts.extend(recording.ended.clone().map(|ended| ("Ended", ended)));
    }
    facts
}

/// What each source read, and which had nothing to read.
fn sources(recorded: &Recorded<'_>) -> Section {
    let sources: Vec<_> = recorded.repeat.sampler.sources.iter().collect();
    let lacking: Vec<_> = recorded.repeat.not_available.iter().collect();
    Section::new("sources", "Sources", |page| {
        page.on_page(|page| {
            page.table(
                Rows::new(&sources)
                    .left("source", 0, |(name, _)| format!("`{name}`"))
                    .right(("every", "s"), 0, |(_, source)| number::plain(source.period_s))
                    .right("reads", 0, |(_, source)| source.rounds.to_string())
                    .right("rows", 0, |(_, source)| source.rows.to_string())
                    .right(("CPU per read", "us"), 0, |(_, source)| {
                        number::fixed(source.cpu_s * 1e6 / source.rounds.max(1) as f64, 1)
                    }),
            );
            if !lacking.is_empty() {
                let summary =
                    format!("Not available on this machine, or not requested: {}", lacking.len());
                page.fold(summary, true, |page| {
                    let table =
                        Rows::new(&lacking).left("what", 0, |(name, _)| format!("`{name}`"));
                    page.table(table.prose("why", |(_, why)| (*why).clone()));
                });
            }
        });
        // Missing single columns are in the page and in the JSON document.
        let whole =
            lacking.iter().filter(|(name, _)| !name.contains('.') || name.starts_with("threads."));
        page.on_terminal(|page| {
            for (name, why) in whole {
                page.text(format!("{name}: not available: {why}"));
            }
        });
    })
}
