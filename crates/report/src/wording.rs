//! Wording shared by page and terminal.

use std::collections::BTreeMap;

use assay_judge::verdict::wording::levels;
use assay_judge::verdict::{
    FleetPromise, GroupJudgement, Interval, Judgement, PromiseJudgement, TrialJudgement, Verdict,
};
use assay_record::run_folder::Manifest;
use assay_record::terms::{Measure, PROGRESS, RelationKind};
use assay_sys::escape::page::{Tag, Tone};
use assay_sys::escape::shell_word;
use serde_json::Value;

pub(crate) use assay_judge::verdict::wording::{count, level};

use crate::number::{self, Unit};

/// Why some promises differ from what the weights alone would give.
pub(crate) fn feasible<'j>(
    judged: &'j TrialJudgement,
    promise: &PromiseJudgement,
) -> Option<&'j str> {
    let differs = promise.groups.iter().any(|group| group.share_by_weight.is_some());
    fact(judged, "feasible").filter(|_| differs)
}

/// A fact by name.
fn fact<'j>(judged: &'j TrialJudgement, name: &str) -> Option<&'j str> {
    judged.facts.iter().find(|fact| fact.fact == name).map(|fact| fact.evidence.as_str())
}

/// Whether memory limits were reached: otherwise numbers under them mean nothing, so it is shown
/// next to the numbers although it is not a validity check.
pub(crate) fn limit_on_memory(judged: &TrialJudgement) -> Option<&str> {
    fact(judged, "limit")
}

/// The colour of a verdict.
pub(crate) const fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Kept => Tone::Good,
        Verdict::Broken => Tone::Bad,
        Verdict::Undecided => Tone::Open,
        Verdict::Void => Tone::Void,
    }
}

/// A verdict with its colour and a mark, for skimming and for those who see no colours.
pub fn tag(one: Verdict) -> Tag {
    let mark = match one {
        Verdict::Kept => "\u{2713}",
        Verdict::Broken => "\u{2717}",
        Verdict::Undecided => "?",
        Verdict::Void => "\u{2205}",
    };
    Tag::new(tone(one), mark, one.word())
}

/// The meaning of a run's verdict, for the headline; `is_complete` unless
/// it lacks a trial.
pub(crate) fn meaning(judgement: &Judgement, is_complete: bool) -> &'static str {
    match judgement.verdict {
        _ if judgement.promises_nothing() => "The study has no promises, so there is no verdict.",
        Verdict::Kept if !is_complete => {
            "In the trials that took place, the machine was divided as promised."
        }
        Verdict::Kept => "The machine was divided as promised.",
        Verdict::Broken => "The machine was not divided as promised.",
        Verdict::Undecided => "These repeats leave it open; more may tell.",
        Verdict::Void => "This run could not have shown whether the promise holds.",
    }
}

/// The factors of a trial, `groups = 8, iodepth = 32`.
pub(crate) fn factors(factors: &BTreeMap<String, Value>) -> String {
    if factors.is_empty() { "the only trial".to_owned() } else { levels(factors) }
}

/// The factors of a trial that vary between trials; all factors if none varies.
pub(crate) fn varying(trial: &BTreeMap<String, Value>, all: &[&BTreeMap<String, Value>]) -> String {
    let varies = |name: &str| all.iter().any(|other| other.get(name) != trial.get(name));
    let shown: BTreeMap<String, Value> = trial
        .iter()
        .filter(|(name, _)| varies(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    factors(if shown.is_empty() { trial } else { &shown })
}

/// Whether a promise is about shares, not rates.
pub(crate) fn is_about_shares(promise: &PromiseJudgement) -> bool {
    // Of metrics, what other tools measured too, only what a knob divides is about shares.
    promise.relation().is_some_and(RelationKind::divides)
        && (promise.divides_by_knob() || !is_metric(&promise.measure))
}

/// Whether a measure is a workload metric and not a kernel counter.
pub(crate) fn is_metric(measure: &str) -> bool {
    let family = measure.split('.').next().unwrap_or(measure);
    !matches!(family, "io" | "cpu" | "memory")
}

/// A promise as a sentence fragment: measure, relation, margin.
#[must_use]
pub fn promise(promise: &PromiseJudgement) -> String {
    let to = promise.to.as_deref();
    promise_text(&promise.measure, &promise.is, to, promise.within)
}

/// Same as [`promise`], for a promise judged on many hosts.
pub(crate) fn fleet_promise(promise: &FleetPromise) -> String {
    let to = promise.to.as_deref();
    promise_text(&promise.measure, &promise.is, to, promise.within)
}

fn promise_text(measure: &str, is: &str, to: Option<&str>, within: f64) -> String {
    let to = to.map(|to| limit(measure, to));
    let relation = match RelationKind::parse(is) {
        Some(RelationKind::Equal) => "equal for all groups".to_owned(),
        // A time, which has no margin.
        Some(RelationKind::Within) => {
            let time = to.unwrap_or_else(|| "what weights and quotas explain".to_owned());
            return format!("{measure} within {time}");
        }
        Some(kind) => kind.in_words(to.as_deref()),
        // Of a later version.
        None => [is, to.as_deref().unwrap_or_default()].join(" "),
    };
    format!("{measure} {relation}, within {} %", number::plain(within * 100.0))
}

/// A bound for display: the name of a knob, or a number with its unit.
fn limit(measure: &str, bound: &str) -> String {
    bound.parse::<f64>().map_or_else(
        |_| bound.to_owned(),
        |number| match Measure::parse(measure) {
            Some(gauge) if gauge.is_gauge() => Unit::for_rate(measure, number).with_label(number),
            None if is_metric(measure) => number::four(number),
            None if measure == PROGRESS => format!("{} ms", number::four(number * 1e3)),
            _ => format!("{bound} per second"),
        },
    )
}

/// The promise that decides the verdict of a trial.
pub(crate) fn decisive(trial: &TrialJudgement) -> Option<&PromiseJudgement> {
    let decides = |promise: &&PromiseJudgement| promise.verdict == trial.verdict;
    trial.promises.iter().find(decides).or(trial.promises.first())
}

/// The result of a trial in one sentence: the reason of the deciding promise.
pub(crate) fn trial_reason(trial: &TrialJudgement) -> String {
    decisive(trial).map_or_else(
        || "No promise covers this trial alone.".to_owned(),
        |promise| sentence(&promise.reason),
    )
}

/// A text with a capital at its beginning, unless it begins with a name.
pub(crate) fn capitalised(text: &str) -> String {
    let first_word = text.split_whitespace().next().unwrap_or_default();
    let is_name =
        first_word.contains(['.', '_', '/', '`']) || first_word.chars().any(|c| c.is_ascii_digit());
    match text.chars().next() {
        Some(first) if !is_name => first.to_uppercase().chain(text.chars().skip(1)).collect(),
        _ => text.to_owned(),
    }
}

/// A fragment as a sentence: capitalised, with a final period.
pub(crate) fn sentence(fragment: &str) -> String {
    let mut text = capitalised(fragment.trim());
    if !text.ends_with(['.', '!', '?']) && !text.is_empty() {
        text.push('.');
    }
    text
}

/// `1.2 % (0.8 to 1.9 %)`; the bounds only if there are some.
pub fn error_interval(Interval { value, low, high }: Interval) -> String {
    let value = number::percent(value, 1);
    match high.is_finite() {
        true => {
            format!("{value} % ({} to {} %)", number::percent(low, 1), number::percent(high, 1))
        }
        false => format!("{value} %"),
    }
}

/// The largest error of a promise.
pub(crate) fn worst_error(promise: &PromiseJudgement) -> Option<String> {
    promise.worst_error.map(error_interval)
}

/// The total rate of a promise with its unit.
pub(crate) fn total_rate(promise: &PromiseJudgement) -> Option<String> {
    promise.total_rate.map(|rate| Unit::for_rate(&promise.measure, rate).with_label(rate))
}

/// The spans with the largest deviations, as multiples of the promised value: at most `most` of
/// them, the worst group first.
pub(crate) fn worst_spans(promise: &PromiseJudgement, most: usize) -> Option<String> {
    let mut spans: Vec<(&str, f64, assay_judge::verdict::WorstSpan)> = promise
        .groups
        .iter()
        .filter(|group| group.expected_share > 0.0)
        .filter_map(|group| {
            let span = group.worst_span?;
            Some((group.name.as_str(), span.share / group.expected_share, span))
        })
        .collect();
    spans.sort_by(|a, b| (b.1 - 1.0).abs().total_cmp(&(a.1 - 1.0).abs()));
    let seconds = spans.first()?.2.seconds;
    let off = |times: f64| {
        let more = if times < 1.0 { "under" } else { "over" };
        format!("{} % {more}", number::percent((times - 1.0).abs(), 0))
    };
    let each: Vec<String> = spans
        .iter()
        .take(most)
        .map(|(name, times, span)| {
            format!(
                "{name} {} (repeat {}, from {})",
                off(*times),
                span.repeat,
                number::seconds(span.from_s)
            )
        })
        .collect();
    Some(format!("worst {}: {}", number::seconds(seconds), each.join(", ")))
}

/// What would probably decide an undecided promise; documents of older versions know only its window.
pub(crate) fn needs(promise: &PromiseJudgement, run: &Manifest) -> Option<String> {
    let window = || {
        let needs = number::seconds(promise.needs_s?);
        Some(format!("A window of about {needs} would probably decide it."))
    };
    needs_repeats(promise.needs_repeats, run).or_else(window)
}

/// Number of groups per verdict: `30 kept, 2 broken`.
pub(crate) fn tally(groups: &[&GroupJudgement]) -> String {
    let counted = [Verdict::Kept, Verdict::Broken, Verdict::Undecided, Verdict::Void].map(|one| {
        let count = groups.iter().filter(|group| group.verdict == one).count();
        (count > 0).then(|| format!("{count} {}", one.word()))
    });
    counted.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// A list of names, cut after the first few: `task1, task5, task9 and 29 more`.
pub(crate) fn names(names: &[&str], shown: usize) -> String {
    if names.len() <= shown + 1 {
        return names.join(", ");
    }
    format!("{} and {} more", names[..shown].join(", "), names.len() - shown)
}

/// How many repeats would probably decide, and the command that makes them.
pub(crate) fn needs_repeats(repeats: Option<usize>, run: &Manifest) -> Option<String> {
    let repeats = repeats?;
    let command = command(run, &["--repeats", "-n"])
        .map_or_else(String::new, |it| format!(" To run them: `{it} --repeats {repeats}`"));
    Some(format!("About {repeats} repeats would probably decide it.{command}"))
}

/// The shell command that starts this study again: the command line of its run without the output folder, which is in
/// use, and without these options. `None` if it was not `assay run`.
pub(crate) fn command(manifest: &Manifest, without: &[&str]) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    let mut rest = manifest.command.iter();
    while let Some(word) = rest.next() {
        let value = without.iter().chain(&["--out"]).find_map(|option| {
            word.strip_prefix(option).filter(|value| {
                !option.starts_with("--") || value.is_empty() || value.starts_with('=')
            })
        });
        match value {
            Some("") => drop(rest.next()),
            Some(_) => {}
            None => words.push(shell_word(word)),
        }
    }
    let program = words.first_mut()?;
    // A reader has the program somewhere else.
    *program = program.rsplit('/').next().unwrap_or_default().to_owned();
    words.get(1).is_some_and(|word| word == "run").then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_become_sentences_and_names_are_unchanged() {
        assert_eq!(sentence("the window was empty"), "The window was empty.");
        assert_eq!(sentence("io.bytes follow io.weight."), "io.bytes follow io.weight.");
        assert_eq!(sentence("task4 got less"), "task4 got less.");
        assert_eq!(sentence(""), "");
    }

    #[test]
    fn bounds_are_formatted_as_knobs_rates_or_amounts() {
        assert_eq!(limit("cpu.time", "cpu.max"), "cpu.max");
        assert_eq!(limit("io.bytes", "1000"), "1000 per second");
        assert_eq!(limit("memory.current", "1048576"), "1.000 MiB");
    }

    #[test]
    fn many_names_are_cut_but_counted() {
        assert_eq!(names(&["a", "b", "c"], 2), "a, b, c");
        assert_eq!(names(&["a", "b", "c", "d"], 2), "a, b and 2 more");
    }

    #[test]
    fn factors_are_formatted_as_in_the_study() {
        let factors_of = [("bs".to_owned(), Value::from("4k")), ("groups".to_owned(), 8.into())];
        assert_eq!(factors(&factors_of.into()), "bs = 4k, groups = 8");
        assert_eq!(factors(&BTreeMap::new()), "the only trial");
    }
}
