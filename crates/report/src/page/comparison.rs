//! A comparison of two runs.

use assay_judge::verdict::{
    ComparedRun, Equivalence, MeasureComparison, RunComparison, TrialComparison,
};
use assay_record::run_folder::Levels;
use assay_sys::escape::page::{PAGE, Page, Parts, Rows, Section, Tag, Tone, Verdict};

use crate::across::interval;
use crate::html::{self, FIGURES};
use crate::{compare_runs, figure, number, wording};

/// Maximum rows of a trial on a terminal; the page and the JSON document have all.
const ROWS: usize = 24;

/// A comparison of two runs for a terminal of `width` columns, with ANSI colours if `color`.
#[must_use]
pub fn text(comparison: &RunComparison, width: usize, color: bool) -> String {
    page(comparison).text(width, color)
}

/// The page of a comparison of two runs.
#[must_use]
pub fn html(comparison: &RunComparison) -> String {
    html::document(&page(comparison), &FIGURES)
}

fn page(comparison: &RunComparison) -> Page {
    let RunComparison { a, b, verdict, within, confidence, .. } = comparison;
    let design = match (comparison.paired, comparison.baseline) {
        (true, _) => "repeats in pairs that ran next to each other",
        (false, true) => "A is the baseline: only what became worse counts",
        (false, false) => "runs one after the other",
    };
    let percent = |part: f64| number::plain(part * 100.0);
    let margin = format!("{} % margin, {} % confidence", percent(*within), percent(*confidence));
    let alone = |side: &str, trials: &[Levels]| {
        let levels: Vec<String> = trials.iter().map(wording::factors).collect();
        let levels: Vec<&str> = levels.iter().map(String::as_str).collect();
        (!levels.is_empty())
            .then(|| format!("trials only in {side}: {}", wording::names(&levels, 6)))
    };
    let heading = format!("{} against {}", a.run, b.run);
    let trials = comparison.trials.iter().enumerate();
    Page {
        title: format!("{}: {heading}", compare_runs::word(*verdict)),
        kicker: vec!["assay compare".to_owned(), margin, design.to_owned()],
        verdict: Some(Verdict::new(tag(*verdict), compare_runs::meaning(comparison))),
        head: Parts::of(|page| {
            page.styled("reason", wording::sentence(&comparison.reason));
            let notes = comparison.notes.iter().map(|note| format!("note: {note}"));
            let alone = [alone("A", &comparison.only_in_a), alone("B", &comparison.only_in_b)];
            for note in notes.chain(alone.into_iter().flatten()) {
                page.styled("note", note);
            }
        }),
        sections: std::iter::once(compared(comparison))
            .chain(trials.map(|(index, trial)| section(*within, index + 1, trial)))
            .collect(),
        heading,
        question: None,
    }
}

/// Both runs, and in what else they differ.
fn compared(comparison: &RunComparison) -> Section {
    let side = |name: &str, run: &ComparedRun| {
        format!(
            "{name}: {} ({}, {}, {} on {}, recorded by assay {}, {})",
            run.run,
            run.study,
            run.started_at,
            run.kernel,
            run.host,
            run.assay,
            run.verdict.word()
        )
    };
    Section::new("runs", "What is compared", |page| {
        page.text(side("A", &comparison.a));
        page.text(side("B", &comparison.b));
        if comparison.differences.is_empty() {
            page.text("Host, kernel, study and settings are the same in both.");
        } else {
            page.text("differences:");
        }
        let differences = comparison.differences.iter();
        page.list(differences.map(|one| format!("{}: {} against {}", one.what, one.a, one.b)));
    })
    .listed("Runs")
}

fn section(within: f64, number: usize, trial: &TrialComparison) -> Section {
    Section::new(format!("trial-{number}"), compare_runs::heading(trial), |page| {
        if let Some(why) = &trial.not_comparable {
            page.styled("note void", format!("not comparable: {why}"));
        }
        page.list(trial.promises.iter().map(|change| {
            format!(
                "{}: {} in A, {} in B; worst error {} in A, {} in B",
                compare_runs::promise(change),
                change.a.verdict.word(),
                change.b.verdict.word(),
                compare_runs::error(&change.a),
                compare_runs::error(&change.b)
            )
        }));
        page.figures(vec![figure::ratios(number, trial, within)]);
        page.on_terminal(|page| most_relevant(trial, page));
        let (deciding, others): (Vec<_>, Vec<_>) =
            trial.measures.iter().partition(|one| one.decides);
        page.on_page(|page| {
            if !deciding.is_empty() {
                page.heading("", "Deciding measures");
                page.table(measures(&deciding));
            }
            if !others.is_empty() {
                page.fold(format!("Other measures: {}", others.len()), false, |page| {
                    page.table(measures(&others));
                });
            }
        });
    })
    .tagged(tag(trial.verdict))
}

/// What a terminal has room for.
fn most_relevant(trial: &TrialComparison, page: &mut Parts) {
    let (shown, hidden) = compare_runs::listed(trial, ROWS);
    if !shown.is_empty() {
        page.table(measures(&shown));
    }
    if hidden > 0 {
        page.text(format!("{} more not shown; -o json has all", wording::count(hidden, "measure")));
    }
}

fn measures<'r>(rows: &'r [&MeasureComparison]) -> Rows<'r, &'r MeasureComparison> {
    let repeats = |one: &&MeasureComparison| match one.a.repeats == one.b.repeats {
        true => one.a.repeats.to_string(),
        false => format!("{} / {}", one.a.repeats, one.b.repeats),
    };
    let needed = |one: &&MeasureComparison| {
        one.needs_repeats.map_or_else(String::new, |needs| format!("about {needs}"))
    };
    Rows::new(rows)
        .left("measure", 0, |one| compare_runs::measure(one))
        .left("group", 0, |one| compare_runs::group(one))
        .right("A", 3, |one| compare_runs::value(one, &one.a))
        .right("B", 3, |one| compare_runs::value(one, &one.b))
        .right("B/A", 0, |one| number::or_none(one.ratio, number::three))
        .right("interval", 2, |one| interval(one.low, one.high, number::three))
        .left("differs", 4, |one| compare_runs::difference(one))
        .left("verdict", 0, |one| {
            let role = if one.decides { "" } else { " (not deciding)" };
            Tag { word: format!("{}{role}", compare_runs::word(one.verdict)), ..tag(one.verdict) }
        })
        .right("repeats", PAGE, repeats)
        .right("needed", PAGE, needed)
        .missing(|one| one.not_available.clone().filter(|_| one.ratio.is_none()))
}

fn tag(equivalence: Equivalence) -> Tag {
    let (tone, mark) = match equivalence {
        Equivalence::Equal => (Tone::Good, "="),
        Equivalence::Better => (Tone::Good, "\u{2191}"),
        Equivalence::Worse => (Tone::Bad, "\u{2193}"),
        Equivalence::Different => (Tone::Bad, "\u{2260}"),
        Equivalence::Undecided => (Tone::Open, "?"),
        Equivalence::NotComparable => (Tone::Void, "\u{2205}"),
    };
    Tag::new(tone, mark, compare_runs::word(equivalence))
}
