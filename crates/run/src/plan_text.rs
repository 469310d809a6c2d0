//! A plan as text, as `assay check` shows it.

use assay_judge::verdict::wording::count;
use assay_record::run_folder::{
    AcrossRecord, ComparisonRecord, Levels, PairsRecord, PromiseRecord, Reference, ReferenceRecord,
    RelationRecord,
};
use assay_study::plan::{Plan, Trial, changes, script};
use assay_sys::escape::line;
use assay_sys::units::{Percent, format_duration};

use crate::before_run::{needs_text, replaced};
use crate::load::Loaded;

/// Number of groups of a trial that are printed; the rest is only counted.
const SHOWN: usize = 8;

/// What is said of a study that requests evidence.
const EVIDENCE: &str = "evidence: eBPF programs record where each group waits; what the kernel refuses is named in the report";

/// A plan for readers: trials, changes of the host and how each is restored, promises, refusals.
#[must_use]
pub fn plan_text(loaded: &Loaded, plan: &Plan) -> String {
    let study = &loaded.study;
    let mut lines = vec![format!("{}: {}", study.name, study.title)];
    let total = plan.slots.len() as u32 * study.design.at_most;
    lines.push(format!(
        "{} x {}, each at most {}: at most {}{}",
        count(plan.trials.len(), "trial"),
        count(study.design.repeats as usize, "repeat"),
        format_duration(study.design.at_most),
        format_duration(total),
        if study.disks.is_empty() { "" } else { " and the set-up of disks" },
    ));
    lines.push(needs_text(plan));
    if study.sampling.evidence {
        lines.push(EVIDENCE.to_owned());
    }
    lines.extend(replaced(plan));
    for (index, trial) in plan.trials.iter().enumerate() {
        lines.push(String::new());
        lines.push(format!("trial {} of {}: {}", index + 1, plan.trials.len(), factors(trial)));
        describe(trial, &mut lines);
    }
    across(plan, &mut lines);
    lines.push(String::new());
    if plan.refusals.is_empty() {
        lines.push("this host can do it; nothing was touched".to_owned());
    } else {
        lines.push("what this host cannot do".to_owned());
        for refusal in &plan.refusals {
            lines.push(format!("  {}", refusal.what));
            lines.push(format!("    hint: {}", refusal.remedy));
        }
    }
    lines.join("\n")
}

/// One repeat of each trial as a script, for those who want to do it by hand.
#[must_use]
pub fn steps_text(name: &str, plan: &Plan) -> String {
    let (trials, repeats) = (plan.trials.len(), plan.slots.len() / plan.trials.len().max(1));
    let head = format!("{name} by hand, as root; a run takes {}", count(repeats, "repeat"));
    let refusals =
        plan.refusals.iter().map(|refusal| format!("this host cannot: {}", refusal.what));
    // A comment ends with its line.
    let mut lines: Vec<String> =
        std::iter::once(head).chain(refusals).map(|text| format!("# {}", line(&text))).collect();
    for (number, trial) in (1..).zip(&plan.trials) {
        let of_trial = format!("trial {number} of {trials}: {}", factors(trial));
        lines.push(format!("\n# {}\n{}", line(&of_trial), script(trial)));
    }
    lines.join("\n")
}

/// Promises across trials, and reference values.
fn across(plan: &Plan, lines: &mut Vec<String>) {
    if !plan.comparisons.is_empty() {
        lines.push(String::new());
        lines.push("promises across trials".to_owned());
        lines.extend(plan.comparisons.iter().map(|one| format!("  {}", describe_across(one))));
    }
    if !plan.references.is_empty() {
        lines.push(String::new());
        lines.push("reference values, shown next to the results and never judged".to_owned());
        let line = |one: &ReferenceRecord| {
            format!("  {}: {} {} ({})", one.what, one.value, one.unit, one.source)
        };
        lines.extend(plan.references.iter().map(line));
    }
}

fn describe_across(promise: &ComparisonRecord) -> String {
    let relation = match &promise.is {
        AcrossRecord::Ratio { of, to, at_least, at_most } => {
            let bound = |word: &str, bound: Option<f64>| {
                bound.map(|bound| format!("{word} {bound}")).into_iter()
            };
            let bounds: Vec<String> =
                bound("at least", *at_least).chain(bound("at most", *at_most)).collect();
            format!("under {} / under {}: {}", levels(of), levels(to), bounds.join(" and "))
        }
        AcrossRecord::Equal { over, pairs, within } => {
            let pairs = match pairs {
                PairsRecord::All => "each with each",
                PairsRecord::First => "each with the first",
            };
            let within = Percent::from_fraction(*within);
            format!("equal at every level of {over} ({pairs}), within {within}")
        }
    };
    let group = promise.group.as_ref().map_or_else(String::new, |group| format!(" of {group}"));
    format!("{}{group}, {relation}", promise.measure)
}

fn levels(levels: &Levels) -> String {
    let named: Vec<String> =
        levels.iter().map(|(name, level)| format!("{name} = {level}")).collect();
    named.join(", ")
}

fn factors(trial: &Trial) -> String {
    let named: Vec<String> =
        trial.factors.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if named.is_empty() { "no factors".to_owned() } else { named.join(", ") }
}

fn describe(trial: &Trial, lines: &mut Vec<String>) {
    lines.push("  knobs on this host".to_owned());
    let knobs: Vec<_> = trial
        .groups
        .iter()
        .flat_map(|group| group.knobs.iter().map(move |knob| (group, knob)))
        .collect();
    for (group, knob) in knobs.iter().take(SHOWN) {
        let record = &knob.record;
        let obeyed =
            record.obeyed_by.as_ref().map(|by| format!(", obeyed by {by}")).unwrap_or_default();
        let note = record.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        lines.push(format!(
            "    {}: {} = {} -> {} = {}{obeyed}{note}",
            group.name, record.knob, record.asked, record.file, record.written
        ));
    }
    rest(knobs.len(), lines);
    lines.push("  changes of the host, and how each is restored".to_owned());
    let changes = changes(trial);
    if changes.is_empty() {
        lines.push("    none: groups that exist are only read".to_owned());
    }
    // Groups are similar; the kinds of change are not, so show more of them.
    for one in changes.iter().take(4 * SHOWN) {
        let inverse = Some(&one.inverse).filter(|text| !text.is_empty());
        let inverse = inverse.map(|text| format!("   [{text}]")).unwrap_or_default();
        lines.push(format!("    {}{inverse}", one.change));
    }
    rest_of(changes.len(), 4 * SHOWN, lines);
    lines.push("  promises".to_owned());
    lines.extend(trial.promises.iter().map(|promise| format!("    {}", describe_promise(promise))));
    for (controller, why) in &trial.absent {
        lines.push(format!("  not sampled: {controller}: {why}"));
    }
}

fn rest(count: usize, lines: &mut Vec<String>) {
    rest_of(count, SHOWN, lines);
}

fn rest_of(count: usize, shown: usize, lines: &mut Vec<String>) {
    if count > shown {
        lines.push(format!("    and {} more like these", count - shown));
    }
}

fn describe_promise(promise: &PromiseRecord) -> String {
    if let RelationRecord::Within(time) = promise.is {
        let time = time.map(|seconds| format!("{} ms", seconds * 1e3));
        let time = time.unwrap_or_else(|| "what weights and quotas explain".to_owned());
        return format!("{} is within {time}", promise.measure);
    }
    let to = match promise.is.to() {
        Reference::Nothing => None,
        Reference::Knob(knob) => Some(knob.to_owned()),
        Reference::Value(bound) => Some(amount(&promise.measure, bound)),
    };
    let relation = promise.is.kind().in_words(to.as_deref());
    format!("{} is {relation}, within {}", promise.measure, Percent::from_fraction(promise.within))
}

/// A bound with its unit; memory held is an amount, other kernel measures are rates.
fn amount(measure: &str, bound: f64) -> String {
    if matches!(measure, "memory.current" | "memory.dirty") {
        return format!("{bound} bytes");
    }
    if !["io", "cpu", "memory"].iter().any(|family| measure.starts_with(&format!("{family}."))) {
        return bound.to_string();
    }
    format!("{bound} per second")
}
