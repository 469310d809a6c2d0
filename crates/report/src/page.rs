//! The page of a run, and its text for a terminal.

mod across;
mod answer;
mod changes;
pub(crate) mod comparison;
pub(crate) mod host;
mod knobs;
mod memory;
mod picture;
mod shares;
mod trial;
mod waiting;
mod workloads;

use std::collections::BTreeSet;

use assay_host::facts::Available;
use assay_judge::verdict::{Judgement, TrialJudgement, Verdict};
use assay_record::run_folder::Manifest;
use assay_sys::escape::page::{Cell, MIN_WIDTH, Page, Parts, Rows, Section, Tag, joined, wrap};
use assay_sys::escape::shell_words;

use crate::across::{self as promises_across, Across};
use crate::html::{self, FIGURES};
use crate::trial::{Trial, trials};
use crate::{Samples, claims, figure, wording};

/// The report as one HTML document that loads no external resources, with the section on the search if it is the run of one.
///
/// `samples` may be shorter than the manifest, or empty: a figure whose samples are missing is
/// replaced by the reason for it.
#[must_use]
pub fn html(
    manifest: &Manifest,
    judgement: &Judgement,
    samples: &Samples,
    search: Option<Section>,
) -> String {
    let trials = trials(manifest, judgement, samples);
    let mut sections: Vec<Section> = search.into_iter().collect();
    sections.extend(across::references(&judgement.references));
    let overview: Vec<_> =
        figure::overview(&trials).into_iter().chain(figure::classes(&trials)).collect();
    if !overview.is_empty() {
        sections.push(Section::new("trials", "All trials", |page| page.figures(overview)));
    }
    sections.extend(across::sections(judgement, manifest));
    let is_only = lines(judgement, &trials).len() == 1;
    sections.extend(trials.iter().map(|trial| trial::section(trial, is_only)));
    sections.extend([
        host::section(&manifest.host),
        changes::section(manifest, judgement),
        Section::new("study", "The study", |page| page.code(manifest.study_text.as_str()))
            .listed("Study")
            .folded(manifest.study.as_str()),
        again(
            manifest,
            "This page belongs to the run folder, next to the samples and the output of every workload. In that \
             folder, `assay judge .` judges the same samples again, and `assay report .` writes this page again.",
        ),
    ]);
    let lines: Vec<(Tag, Cell, String)> = lines(judgement, &trials);
    let mut head = head(manifest, judgement, &trials);
    if lines.len() > 1 {
        head.table(
            Rows::new(&lines)
                .left("verdict", 0, |(tag, ..)| tag.clone())
                .left("trial", 0, |(_, trial, _)| trial.clone())
                .prose("why", |(.., why)| why.clone()),
        );
    }
    let kicker =
        vec!["assay report".to_owned(), manifest.study.clone(), manifest.started_at.clone()];
    let page = Page {
        title: format!("{}: {}", judgement.verdict.word(), manifest.title),
        kicker,
        heading: manifest.title.clone(),
        question: manifest.question.clone(),
        verdict: Some(answer::answer(manifest, judgement, &trials)),
        head,
        sections,
    };
    html::document(&page, &FIGURES)
}

/// The judgement as text for a terminal of `width` columns, with ANSI colours if `color`.
///
/// With more than sixteen groups only the sixteen with the largest errors are listed, followed
/// by one line for each weight.
#[must_use]
pub fn text(manifest: &Manifest, judgement: &Judgement, width: usize, color: bool) -> String {
    let trials = trials(manifest, judgement, &[]);
    let mut sections: Vec<Section> = trials.iter().map(trial::brief).collect();
    // With many trials, bars are only in the report.
    if let ([trial], [section]) = (trials.as_slice(), sections.as_mut_slice()) {
        let picture =
            trial.judgement.and_then(|judged| picture::table(judged, width.max(MIN_WIDTH)));
        picture.into_iter().for_each(|picture| section.parts.table(picture));
    }
    sections.extend(across::sections(judgement, manifest));
    sections.splice(0..0, across::references(&judgement.references));
    let page = Page {
        heading: manifest.title.clone(),
        question: manifest.question.clone(),
        verdict: Some(answer::verdict(judgement, &trials)),
        head: head(manifest, judgement, &trials),
        sections,
        ..Page::default()
    };
    let restored = restored(judgement.restored.or(manifest.restored));
    let restored = wrap(&restored, width.max(MIN_WIDTH), "  ");
    format!("{}\n{}", page.text(width, color), joined(&restored))
}

/// Of how many trials the head says how the machine was divided.
const FEW: usize = 4;

/// What a founding document states and this run says of it, or how the machine was divided; and what to know before
/// any number: that it comes from a guest, or that trials are missing.
fn head(manifest: &Manifest, judgement: &Judgement, trials: &[Trial<'_>]) -> Parts {
    Parts::of(|page| {
        let claims = claims::sentences(&manifest.study, judgement);
        let few = if claims.is_empty() && trials.len() <= FEW { trials } else { &[] };
        claims.into_iter().for_each(|claim| page.text(claim));
        let all: Vec<_> = trials.iter().map(|trial| &trial.record.factors).collect();
        for trial in few {
            let promises = trial.judgement.into_iter().flat_map(|judged| &judged.promises);
            let mut valid = promises.filter(|promise| promise.verdict != Verdict::Void);
            let Some(text) = valid.find_map(promises_across::division) else { continue };
            page.text(match promises_across::varying(&trial.record.factors, &all) {
                levels if levels.is_empty() => wording::sentence(&text),
                levels => format!("{levels}: {text}."),
            });
        }
        if let Some(guest) = &manifest.guest {
            page.styled("note warning", format!("{} ({})", guest.caveat(), guest.line()));
        }
        if let Some(reason) = &manifest.ended_early {
            page.styled("note warning", format!("ended early: {reason}"));
        }
    })
}

/// Whether the host was restored.
pub(crate) fn restored(restored: Option<bool>) -> String {
    match restored {
        Some(true) => "restored: yes",
        Some(false) => "restored: no, run `assay restore` to restore the rest",
        None => {
            "restored: not known, the run did not record it; run `assay restore`, which does nothing \
             if nothing is left"
        }
    }
    .to_owned()
}

/// A line for each promise across trials and for each trial.
fn lines(judgement: &Judgement, trials: &[Trial<'_>]) -> Vec<(Tag, Cell, String)> {
    let promises = promises_across::promises(&judgement.comparisons).into_iter();
    let across = promises.flat_map(|Across { number, judged }| {
        judged.iter().map(move |one| {
            let (held, heading) = (promises_across::held(one), promises_across::heading(one));
            let name = if held.is_empty() { heading } else { format!("{heading} ({held})") };
            (
                wording::tag(one.verdict),
                (name, promises_across::anchor(number)),
                wording::sentence(&one.reason),
            )
        })
    });
    let of_trials = trials.iter().map(|trial| {
        let not_judged = || wording::sentence(&trial.why_not_judged());
        let name = (wording::factors(&trial.record.factors), trial.section());
        (trial.tag(), name, trial.judgement.map_or_else(not_judged, why))
    });
    let link = |(tag, (name, id), why): (_, (_, String), _)| {
        (tag, Cell::Links(vec![(name, format!("#{id}"))]), why)
    };
    across.chain(of_trials).map(link).collect()
}

/// `6 trials: 2 kept, 4 broken`.
fn tally(trials: &[Trial<'_>]) -> String {
    let words = ["kept", "broken", "undecided", "void", "no promise", "not judged"];
    let counted = words.into_iter().filter_map(|word| {
        let count = trials.iter().filter(|trial| trial.tag().word == word).count();
        (count > 0).then(|| format!("{count} {word}"))
    });
    format!("{} trials: {}", trials.len(), counted.collect::<Vec<_>>().join(", "))
}

/// The reason, with the state of a memory limit if no promise of the trial covers it.
fn why(judged: &TrialJudgement) -> String {
    let reason = wording::trial_reason(judged);
    match wording::limit_on_memory(judged).filter(|_| judged.promises.is_empty()) {
        Some(limit) => format!("{reason} Memory limit: {limit}."),
        None => reason,
    }
}

/// What is needed to repeat this run, or to judge it again.
pub(crate) fn again(manifest: &Manifest, about: &str) -> Section {
    let facts = [
        ("Recorded by", format!("assay {}", manifest.assay)),
        ("Started", manifest.started_at.clone()),
        ("Seed", manifest.seed.to_string()),
        ("Command", shell_words(&manifest.command)),
        ("Kernel", manifest.host.kernel.clone()),
        ("Workloads ran by", programs(manifest)),
        ("Manifest format", manifest.schema.to_string()),
    ];
    let section = Section::new("again", "Reproduce", |page| {
        page.on_page(|page| {
            page.facts(facts);
            if manifest.recording.is_none() {
                page.text("The same study with the same seed; if the command names a file, it is the study above:");
                page.code(again_command(manifest));
            }
            page.text(about);
            page.text(
                "Every figure is a Vega-Lite specification with its data inside: save it from the menu at the upper \
                 right, or find it in the page source in the `script` element named after the figure.",
            );
        });
    });
    section.folded("its command, seed and versions")
}

/// The command of the run with its seed.
fn again_command(manifest: &Manifest) -> String {
    let seed = format!(" --seed {}", manifest.seed);
    let command = wording::command(manifest, &["--seed"]).map(|command| command + &seed);
    command.unwrap_or_else(|| shell_words(&manifest.command))
}

/// The programs of its workloads with their versions, as recorded before the run.
fn programs(manifest: &Manifest) -> String {
    let groups = manifest.trials.iter().flat_map(|trial| &trial.groups);
    let used: BTreeSet<&str> =
        groups.flat_map(|group| &group.workloads).map(|one| one.tool.as_str()).collect();
    let programs: Vec<String> = used
        .into_iter()
        .map(|name| match manifest.host.tools.get(name).map(|tool| &tool.found) {
            Some(Available::Value(version)) if version.contains(name) => version.clone(),
            Some(Available::Value(version)) => format!("{name} {version}"),
            Some(Available::NotAvailable(why)) => format!("{name} (version not available: {why})"),
            None => name.to_owned(),
        })
        .collect();
    if programs.is_empty() { "none".to_owned() } else { programs.join(", ") }
}
