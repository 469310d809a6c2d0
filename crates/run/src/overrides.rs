//! A study as a caller chooses it: its name or file, and what is overridden in it.

use std::time::Duration;

use assay_record::run_folder::{StopRecord, StudyChoiceRecord};
use assay_study::{
    DiskOverride, Scalar, Stop, Study, WarmUp, override_disk, override_scheduler, parse_scalar,
    permit_erasing, set_factors,
};
use assay_sys::diagnostic::Diagnostic;
use assay_sys::units::format_duration;

/// A study and its overrides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StudyChoice {
    /// A study file, or the name of a shipped study.
    pub study: String,
    /// More fio job files of the same study.
    pub more_job_files: Vec<String>,
    /// Whether the sizes and times of the document are used that the study repeats.
    pub published: bool,
    /// Values of factors, each as `FACTOR=VALUE[,VALUE]`.
    pub set: Vec<String>,
    /// Number of repeats of each trial.
    pub repeats: Option<u32>,
    /// Maximum length of a repeat.
    pub at_most: Option<Duration>,
    /// When a repeat ends.
    pub stop: Option<Stop>,
    /// Weights of the groups of a fio job file, in its order.
    pub weights: Option<Vec<u32>>,
    /// The disk to use.
    pub disk: Option<DiskOverride>,
    /// Permission to erase that disk: its serial number, size or signature. Not recorded: whatever the disk
    /// holds when the study is run again was not meant.
    pub erase: Option<String>,
    /// The I/O scheduler to use.
    pub scheduler: Option<String>,
    /// Whether to take evidence from inside the kernel, whatever the study says.
    pub evidence: bool,
    /// Seed for the order of trials and for random data.
    pub seed: u64,
}

impl StudyChoice {
    /// The study as written, with the seed 1.
    #[must_use]
    pub fn named(study: impl Into<String>) -> Self {
        Self { study: study.into(), seed: 1, ..Self::default() }
    }

    /// The record for a manifest.
    pub fn record(&self) -> StudyChoiceRecord {
        StudyChoiceRecord {
            study: self.study.clone(),
            published: self.published,
            set: self.set.clone(),
            repeats: self.repeats,
            at_most_s: self.at_most.map(|length| length.as_secs_f64()),
            stop: self.stop.map(|stop| match stop {
                Stop::AtMost => StopRecord::AtMost,
                Stop::Decided => StopRecord::Decided,
            }),
            disk: self.disk.as_ref().map(ToString::to_string),
            scheduler: self.scheduler.clone(),
            evidence: self.evidence,
        }
    }

    /// The choice in a manifest; `None` if its disk or length is unknown to this version.
    pub fn from_record(record: &StudyChoiceRecord, seed: u64) -> Option<Self> {
        let length = record.at_most_s.map(Duration::try_from_secs_f64);
        Some(Self {
            study: record.study.clone(),
            more_job_files: Vec::new(),
            published: record.published,
            set: record.set.clone(),
            repeats: record.repeats,
            at_most: length.transpose().ok()?,
            stop: record.stop.map(|stop| match stop {
                StopRecord::AtMost => Stop::AtMost,
                StopRecord::Decided => Stop::Decided,
            }),
            weights: None,
            disk: record.disk.as_deref().map(str::parse).transpose().ok()?,
            erase: None,
            scheduler: record.scheduler.clone(),
            evidence: record.evidence,
            seed,
        })
    }

    /// Applies the overrides to a study.
    pub fn apply(&self, study: &mut Study) -> Result<(), Vec<Diagnostic>> {
        let mut findings = self.apply_factors(study);
        let mut check = |result: Result<(), String>, option: &str| {
            if let Err(why) = result {
                let hint = format!("leave `{option}` out, or change the study file");
                findings.push(Diagnostic::error("A0003", format!("{option}: {why}")).hint(hint));
            }
        };
        if let Some(disk) = &self.disk {
            check(override_disk(study, disk), "--disk");
        }
        if let Some(word) = &self.erase {
            check(permit_erasing(study, word), "--erase");
        }
        if let Some(scheduler) = &self.scheduler {
            check(override_scheduler(study, scheduler), "--scheduler");
        }
        study.sampling.evidence |= self.evidence;
        let design = &mut study.design;
        design.repeats = self.repeats.unwrap_or(design.repeats);
        design.stop = self.stop.unwrap_or(design.stop);
        design.at_most = self.at_most.unwrap_or(design.at_most);
        if let WarmUp::Fixed(warm_up) = design.warm_up
            && warm_up >= design.at_most
        {
            let message = format!(
                "a warm-up of {} leaves nothing of a repeat of {}",
                format_duration(warm_up),
                format_duration(design.at_most)
            );
            let finding = Diagnostic::error("A0002", message);
            findings.push(finding.hint("give `--duration` a longer time"));
        }
        if findings.is_empty() { Ok(()) } else { Err(findings) }
    }

    fn apply_factors(&self, study: &mut Study) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        let mut factors = Vec::new();
        for setting in &self.set {
            let lacks = match setting.split_once('=') {
                Some((name, values)) if !name.trim().is_empty() && !values.trim().is_empty() => {
                    let values: Vec<Scalar> = values.split(',').map(parse_scalar).collect();
                    factors.push((name.trim().to_owned(), values));
                    continue;
                }
                Some((name, _)) if name.trim().is_empty() => "no factor before its `=`",
                Some(_) => "no value after its `=`",
                None => "no `=`",
            };
            let finding = Diagnostic::error("A0001", format!("`--set {setting}` has {lacks}"));
            findings.push(finding.hint("write `--set FACTOR=VALUE`"));
        }
        if let Err(more) = set_factors(study, factors) {
            findings.extend(more);
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_choice_is_read_back_as_it_was() {
        let choice = StudyChoice {
            set: vec!["groups=4,8".to_owned()],
            repeats: Some(3),
            at_most: Some(Duration::from_millis(2500)),
            stop: Some(Stop::Decided),
            disk: Some("null_blk:iops=500,depth=32".parse().unwrap()),
            scheduler: Some("bfq".to_owned()),
            evidence: true,
            seed: 7,
            ..StudyChoice::named("mine.toml")
        };
        assert_eq!(StudyChoice::from_record(&choice.record(), 7), Some(choice));
        let plain = StudyChoice::named("io-weight");
        assert_eq!(StudyChoice::from_record(&plain.record(), 1), Some(plain));
    }

    #[test]
    fn a_recorded_choice_that_makes_no_sense_is_refused() {
        let good = StudyChoice::named("x").record();
        let disk = StudyChoiceRecord { disk: Some("tape".to_owned()), ..good.clone() };
        let length = StudyChoiceRecord { at_most_s: Some(-1.0), ..good };
        for record in [disk, length] {
            assert_eq!(StudyChoice::from_record(&record, 1), None, "{record:?}");
        }
    }
}
