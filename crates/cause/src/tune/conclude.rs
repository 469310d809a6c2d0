//! Draws the conclusions of a search and its confirmation.

use assay_judge::Samples;
use assay_judge::verdict::{Interval, Judgement, Verdict};
use assay_record::run_folder::{AcrossRecord, ComparisonRecord, Levels, Manifest, Table};

use super::assessment::is_work;
use super::{Measured, NotTried, Outcome, SettingResult, Tuning, sentence};
use crate::judge;

/// A setting with its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct TriedSetting {
    /// Its name.
    pub name: String,
    /// The change in words.
    pub change: String,
    /// Number of things it changes.
    pub changes: usize,
    /// Lines to write into the study.
    pub lines: Vec<String>,
    /// Index of its search trial; `None` if it never ran.
    pub search: Option<usize>,
    /// Index of its confirmation trial.
    pub confirmation: Option<usize>,
    /// Rung after which it was dropped.
    pub left_out_after: Option<u32>,
}

/// The run of a search.
#[derive(Debug, Clone)]
pub struct SearchRun<'r> {
    /// The manifest of the run.
    pub manifest: &'r Manifest,
    /// Its samples.
    pub samples: &'r Samples,
    /// The run as judged.
    pub judgement: &'r Judgement,
    /// Settings, the unchanged one first.
    pub tried: Vec<TriedSetting>,
    /// Settings that the host does not allow.
    pub not_tried: Vec<NotTried>,
    /// Whether the user ended it early.
    pub ended_early: bool,
}

/// Judges a search; only fresh data decides whether a setting keeps the promise.
///
/// `None` when not even the unchanged setting was tried.
#[must_use]
pub fn tuning(tuned: &SearchRun<'_>) -> Option<Tuning> {
    let first = tuned.tried.first()?;
    let base =
        tuned.judgement.trials.get(first.confirmation.or(first.search)?)?.promises.first()?;
    let settings: Vec<SettingResult> =
        tuned.tried.iter().filter_map(|tried| result(tuned, tried)).collect();
    let of_work = is_work(&base.measure);
    let mut not_tried = tuned.not_tried.clone();
    let is_tried =
        |tried: &&TriedSetting| settings.iter().any(|setting| setting.name == tried.name);
    not_tried.extend(tuned.tried.iter().filter(|tried| !is_tried(tried)).map(|tried| NotTried {
        name: tried.name.clone(),
        why: "time ran out before it was tried".to_owned(),
        for_time: true,
    }));
    let chosen = choose(&settings, of_work);
    let outcome = match chosen {
        Some(_) => Outcome::Found,
        None if all_break(&settings) && !not_tried.iter().any(|one| one.for_time) => {
            Outcome::NoneKeeps
        }
        None => Outcome::Undecided,
    };
    let mut found = Tuning {
        schema: 1,
        study: tuned.judgement.study.clone(),
        measure: base.measure.clone(),
        within: base.within,
        outcome,
        chosen: chosen.map(|index| settings[index].name.clone()),
        lines: chosen.map(|index| settings[index].lines.clone()).unwrap_or_default(),
        settings,
        not_tried,
        ended_early: tuned.ended_early,
        sentence: String::new(),
    };
    found.sentence = sentence::summary(&found);
    Some(found)
}

fn result(tuned: &SearchRun<'_>, tried: &TriedSetting) -> Option<SettingResult> {
    let measured = |trial: Option<usize>| Measured::from_trial(tuned.judgement.trials.get(trial?)?);
    let (search, confirmation) = (measured(tried.search), measured(tried.confirmation));
    if search.is_none() && confirmation.is_none() {
        return None;
    }
    let base = tuned.tried.first().filter(|base| base.name != tried.name);
    let pair = base.and_then(|base| Some((tried.confirmation?, base.confirmation?)));
    let before = pair.and_then(|(_, base)| measured(Some(base)));
    Some(SettingResult {
        name: tried.name.clone(),
        change: tried.change.clone(),
        changes: tried.changes,
        lines: tried.lines.clone(),
        rate_ratio: pair.and_then(|(of, to)| rate_ratio(tuned.manifest, tuned.samples, of, to)),
        error_ratio: before.and_then(|before| error_ratio(confirmation.as_ref()?, &before)),
        search,
        left_out_after: tried.left_out_after,
        confirmation,
    })
}

/// Rates within this ratio count as the same.
const SAME_RATE: f64 = 0.98;

/// The fastest setting whose fresh repeats keep the promise; among about equally fast ones the one
/// with the fewest changes. The unchanged study wins unless another is significantly faster. Without a
/// rate of work all are equally fast, and of those with equally many changes the most exact one wins.
fn choose(settings: &[SettingResult], of_work: bool) -> Option<usize> {
    let keeps = |setting: &SettingResult| {
        setting.confirmation.as_ref().is_some_and(|data| data.verdict == Verdict::Kept)
    };
    let unchanged_keeps = settings.first().is_some_and(keeps);
    let surely_faster =
        |setting: &SettingResult| setting.rate_ratio.is_some_and(|ratio| ratio.low > 1.0);
    let fresh = |index: usize| settings[index].confirmation.as_ref();
    let rate =
        |index: usize| fresh(index).and_then(|data| data.rate.filter(|_| of_work)).unwrap_or(0.0);
    let error = |index: usize| {
        fresh(index).and_then(|data| data.error).map_or(f64::INFINITY, |one| one.value)
    };
    let able: Vec<usize> = (0..settings.len())
        .filter(|index| keeps(&settings[*index]))
        .filter(|index| !unchanged_keeps || *index == 0 || surely_faster(&settings[*index]))
        .collect();
    let fastest = able.iter().map(|index| rate(*index)).fold(0.0, f64::max);
    let about = able.into_iter().filter(|index| rate(*index) >= SAME_RATE * fastest);
    about.min_by(|&one, &other| {
        let changes = |index: usize| settings[index].changes;
        let by_rate = changes(one).cmp(&changes(other)).then(rate(other).total_cmp(&rate(one)));
        by_rate.then(error(one).total_cmp(&error(other)))
    })
}

/// Whether each setting is broken. That is wrong only if a setting keeps the promise although its own
/// bounds exclude it, so no multiplicity correction is needed (an intersection-union test; Berger 1982).
fn all_break(settings: &[SettingResult]) -> bool {
    let breaks = |setting: &SettingResult| {
        setting.best_data().is_some_and(|data| data.verdict == Verdict::Broken)
    };
    !settings.is_empty() && settings.iter().all(breaks)
}

/// Ratio of two errors with a conservative interval: it holds whatever the correlation of the two.
fn error_ratio(with: &Measured, without: &Measured) -> Option<Interval> {
    let (with, without) = (with.error?, without.error?);
    let over = |one: f64, other: f64| if other > 0.0 { one / other } else { f64::INFINITY };
    (without.value > 0.0).then(|| Interval {
        value: with.value / without.value,
        low: over(with.low, without.high),
        high: over(with.high, without.low),
    })
}

/// Rate of one trial relative to another, by pairs of repeats, with the bounds of the rule; `None`
/// with too few pairs, or where the promise is not about work.
fn rate_ratio(manifest: &Manifest, samples: &Samples, of: usize, to: usize) -> Option<Interval> {
    let promise =
        manifest.trials.get(of)?.promises.first().filter(|promise| is_work(&promise.measure))?;
    let levels = |trial: usize| -> Option<Levels> {
        let (name, value) = manifest.trials.get(trial)?.factors.get_key_value(CHANGED)?;
        Some([(name.clone(), value.clone())].into())
    };
    let comparison = ComparisonRecord {
        measure: promise.measure.clone(),
        group: None,
        is: AcrossRecord::Ratio {
            of: levels(of)?,
            to: levels(to)?,
            at_least: Some(0.0),
            at_most: None,
        },
    };
    let two: Vec<Vec<Vec<Table>>> =
        [of, to].iter().map(|trial| samples.get(*trial).cloned().unwrap_or_default()).collect();
    let manifest = Manifest {
        trials: [of, to].iter().map(|trial| manifest.trials[*trial].clone()).collect(),
        comparisons: vec![comparison],
        references: Vec::new(),
        ..manifest.clone()
    };
    let judged = judge(&manifest, &two);
    let pair = judged.comparisons.first()?.pairs.first()?.clone();
    Some(Interval { value: pair.ratio?, low: pair.low?, high: pair.high? })
}

/// Name of the factor that distinguishes settings, as in `assay-plan`.
const CHANGED: &str = "changed";
