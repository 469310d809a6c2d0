//! One trial with its record, judgement and samples.

use assay_judge::verdict::{Judgement, PromiseJudgement, TrialJudgement, Verdict};
use assay_record::run_folder::{Manifest, RepeatRecord, Table, TrialRecord};
use assay_sys::escape::page::{Tag, Tone};

use crate::Samples;
use crate::number::NONE;
use crate::subjects::Subjects;
use crate::wording;

/// One trial.
pub(crate) struct Trial<'a> {
    /// Number in headings, from 1.
    pub(crate) number: usize,
    /// The factors in which it differs from other trials, for narrow columns.
    pub(crate) short: String,
    pub(crate) record: &'a TrialRecord,
    /// The run it belongs to.
    pub(crate) run: &'a Manifest,
    /// `None` if the judgement has no entry for these factors.
    pub(crate) judgement: Option<&'a TrialJudgement>,
    /// One entry for each repeat that has samples.
    samples: &'a [Vec<Table>],
    pub(crate) subjects: Subjects,
}

/// All trials of a run in the order of the manifest.
pub(crate) fn trials<'a>(
    manifest: &'a Manifest,
    judgement: &'a Judgement,
    samples: &'a Samples,
) -> Vec<Trial<'a>> {
    let all: Vec<_> = manifest.trials.iter().map(|trial| &trial.factors).collect();
    let records = manifest.trials.iter().enumerate();
    records
        .map(|(index, record)| {
            let judgement = judgement.trials.iter().find(|trial| trial.factors == record.factors);
            Trial {
                number: index + 1,
                short: wording::varying(&record.factors, &all),
                record,
                run: manifest,
                judgement,
                samples: samples.get(index).map_or(&[], Vec::as_slice),
                subjects: Subjects::new(record, judgement),
            }
        })
        .collect()
}

impl<'a> Trial<'a> {
    /// The only trial of a recording, which has no promises and no judgement; `None` if the
    /// manifest has none.
    pub(crate) fn recorded(manifest: &'a Manifest, samples: &'a Samples) -> Option<Self> {
        let record = manifest.trials.first()?;
        Some(Self {
            number: 1,
            short: manifest.study.clone(),
            record,
            run: manifest,
            judgement: None,
            samples: samples.first().map_or(&[], Vec::as_slice),
            subjects: Subjects::new(record, None),
        })
    }

    /// The id of its section.
    pub(crate) fn section(&self) -> String {
        format!("trial-{}", self.number)
    }

    /// The id of an element of this trial in the page, `trial-1-bandwidth`.
    pub(crate) fn anchor(&self, part: &str) -> String {
        format!("trial-{}-{part}", self.number)
    }

    /// The promise over this measure, if there is one.
    pub(crate) fn promise(&self, measure: &str) -> Option<&'a PromiseJudgement> {
        self.judgement?.promises.iter().find(|promise| promise.measure == measure)
    }

    /// Its verdict; `None` for a trial without a promise.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        let judged = self.judgement.filter(|judged| !judged.promises.is_empty());
        judged.map(|judged| judged.verdict)
    }

    /// The verdict, or its substitute.
    pub(crate) fn tag(&self) -> Tag {
        match (self.verdict(), self.judgement) {
            (Some(verdict), _) => wording::tag(verdict),
            (None, Some(_)) => Tag::new(Tone::Void, NONE, "no promise"),
            (None, None) => Tag::new(Tone::Void, NONE, "not judged"),
        }
    }

    /// Whether it is void, so that its numbers prove nothing.
    pub(crate) fn is_void(&self) -> bool {
        self.verdict() == Some(Verdict::Void)
    }

    /// The table of one source, for each repeat that has it. Repeats count from 1.
    pub(crate) fn tables(&self, source: &str) -> Vec<(usize, &'a RepeatRecord, &'a Table)> {
        let repeats = self.record.repeats.iter().zip(self.samples).enumerate();
        repeats
            .filter_map(|(index, (repeat, tables))| {
                let table = tables.iter().find(|table| table.source == source)?;
                (!table.time_ns.is_empty()).then_some((index + 1, repeat, table))
            })
            .collect()
    }

    /// The reason why a source has no data.
    pub(crate) fn why_missing(&self, source: &str) -> String {
        if self.record.repeats.is_empty() {
            return "no repeat of this trial took place".to_owned();
        }
        let host = self.record.repeats.iter().find_map(|repeat| repeat.not_available.get(source));
        if let Some(reason) = host {
            return reason.clone();
        }
        let fault = self.record.repeats.iter().find_map(|repeat| repeat.fault.as_ref());
        match fault {
            Some(fault) => format!("no `{source}` samples in this run; {}", fault.message),
            None => format!("this run has no `{source}` samples for this trial"),
        }
    }

    /// The reason why it was not judged, from its record.
    pub(crate) fn why_not_judged(&self) -> String {
        let fault = self.record.repeats.iter().find_map(|repeat| repeat.fault.as_ref());
        match fault {
            Some(fault) => fault.message.clone(),
            None if self.record.repeats.is_empty() => "this trial did not take place".to_owned(),
            None => "the judgement has no entry for this trial; judge the run again".to_owned(),
        }
    }

    /// Seconds of a repeat that are not judged, from the release of its first workload.
    pub(crate) fn lead_s(&self, repeat: &RepeatRecord) -> f64 {
        let barrier = repeat.all_released_ns.saturating_sub(repeat.released_ns) as f64 / 1e9;
        barrier + self.judgement.map_or(0.0, |trial| trial.warm_up_s)
    }

    /// The judged window of a repeat in nanoseconds; `None` if it is empty.
    pub(crate) fn window(&self, repeat: &RepeatRecord) -> Option<(u64, u64)> {
        let from = repeat.released_ns + (self.lead_s(repeat) * 1e9) as u64;
        (from < repeat.stopped_ns).then_some((from, repeat.stopped_ns))
    }
}
