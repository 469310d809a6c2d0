//! The HTML page: its data for the templates, and rendering.

mod across;
mod changes;
mod code;
mod compare_runs;
mod cost;
mod headline;
mod host;
mod knobs;
mod memory_table;
mod numastat;
mod origin;
mod prose;
mod queues;
mod shares;
mod topology;
mod trial;
mod tuning;
mod waiting;
mod workloads;

use assay_intervention::Tuning;
use assay_run_folder::Manifest;
use assay_verdict::Judgement;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use crate::error::Error;
use crate::figure::{self, Figure};
use crate::{Samples, trial as trials_of_run};

pub(crate) use code::Code;
pub use compare_runs::render as comparison;
pub(crate) use cost::Cost;
pub(crate) use host::Host;
pub(crate) use origin::origin;

/// A label with its value, for lists of facts.
#[derive(Serialize)]
pub(crate) struct Fact {
    label: String,
    value: String,
}

impl Fact {
    pub(crate) fn new(label: &str, value: impl Into<String>) -> Self {
        Self { label: label.to_owned(), value: value.into() }
    }
}

/// Data of the page.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    study: &'a str,
    question: Option<&'a str>,
    started_at: &'a str,
    headline: headline::Headline,
    tuning: Option<tuning::TuningView>,
    comparisons: Vec<across::AcrossView>,
    references: Vec<across::ReferenceView>,
    overview: Option<Figure>,
    classes: Vec<Figure>,
    trials: Vec<trial::TrialView<'a>>,
    host: Host,
    cost: Cost,
    changes: changes::Changes,
    study_text: &'a str,
    origin: Vec<Fact>,
    command: String,
    code: Code,
}

/// The whole page.
pub(crate) fn render(
    manifest: &Manifest,
    judgement: &Judgement,
    samples: &Samples,
    tuning: Option<&Tuning>,
) -> Result<String, Error> {
    let trials = trials_of_run::trials(manifest, judgement, samples);
    let views: Result<Vec<_>, Error> = trials.iter().map(trial::TrialView::new).collect();
    let page = Page {
        title: &manifest.title,
        study: &manifest.study,
        question: manifest.question.as_deref(),
        started_at: &manifest.started_at,
        headline: headline::Headline::new(manifest, judgement, &trials),
        tuning: tuning.map(tuning::TuningView::new).transpose()?,
        comparisons: across::comparisons(judgement)?,
        references: across::references(judgement),
        overview: figure::overview(&trials)?,
        classes: figure::classes(&trials)?,
        trials: views?,
        host: Host::new(&manifest.host),
        cost: Cost::new(&trials),
        changes: changes::Changes::new(manifest, judgement),
        study_text: &manifest.study_text,
        origin: origin(manifest),
        command: origin::command(manifest),
        code: Code::for_figures(),
    };
    filled("report.html", page)
}

/// A template with its data.
pub(crate) fn filled(template: &str, data: impl Serialize) -> Result<String, Error> {
    environment()
        .and_then(|environment| environment.get_template(template)?.render(data))
        .map_err(|cause| Error::new(format!("render {template}"), cause))
}

fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    // A misspelt field must fail in tests instead of leaving a gap in a report.
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // Escape regardless of the template's name: user texts must never become markup.
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.add_filter("prose", |text: &str| prose::prose(text));
    for (name, text) in [
        ("report.html", include_str!("templates/report.html")),
        ("macros.html", include_str!("templates/macros.html")),
        ("against.html", include_str!("templates/against.html")),
        ("audit.html", include_str!("templates/audit.html")),
        ("sections.html", include_str!("templates/sections.html")),
        ("index.html", include_str!("templates/index.html")),
        ("across.html", include_str!("templates/across.html")),
        ("tuning.html", include_str!("templates/tuning.html")),
        ("trial.html", include_str!("templates/trial.html")),
        ("shares.html", include_str!("templates/shares.html")),
        ("details.html", include_str!("templates/details.html")),
        ("host.html", include_str!("templates/host.html")),
        ("fleet.html", include_str!("templates/fleet.html")),
        ("recording.html", include_str!("templates/recording.html")),
    ] {
        environment.add_template(name, text)?;
    }
    Ok(environment)
}
