//! From the recorded loads and the judged proof to the document.

use assay_intervention::iocost::{
    IoCost, Proof, hwdb, model_line, model_words, percentile, qos_line, qos_words,
};
use assay_run_folder::Manifest;
use assay_study::DiskOverride;
use assay_verdict::Judgement;

use super::schedule::{IoCostSchedule, Measured};

/// What stands for the numbers of a disk that could not be read.
const NO_NUMBERS: &str = "MAJ:MIN";

/// The parameters of a disk, with what is missing.
pub(super) fn found(
    disk: &DiskOverride,
    schedule: &IoCostSchedule<'_>,
    manifest: &Manifest,
    judgement: &Judgement,
) -> IoCost {
    let Measured { values, device, rotational } = schedule.measured(manifest);
    let percentile = percentile(rotational);
    let words = model_words(&values);
    let qos = qos_words(&values, percentile);
    let numbers = schedule.numbers().unwrap_or(NO_NUMBERS).to_owned();
    let model_name = model_name(manifest, &device);
    let mut not_available = schedule.missing(manifest);
    if model_name.is_none() {
        let why = "the disk has no model name in sysfs";
        not_available.insert("hwdb".to_owned(), why.to_owned());
    }
    let proof = proof(schedule, judgement);
    if let Err(why) = &proof {
        not_available.insert("proof".to_owned(), why.clone());
    }
    let entry = model_name.as_ref().zip(words.as_ref());
    IoCost {
        schema: 1,
        disk: disk.to_string(),
        hwdb: entry.map(|(name, words)| hwdb(name, words, &qos)).unwrap_or_default(),
        model: words.as_ref().map(|words| model_line(&numbers, words)),
        qos: words.as_ref().map(|_| qos_line(&numbers, &qos)),
        device,
        numbers,
        model_name,
        measured: values,
        percentile,
        proof: proof.ok(),
        not_available,
        ended_early: false,
    }
}

fn model_name(manifest: &Manifest, device: &str) -> Option<String> {
    let disk = manifest.host.disks.iter().find(|disk| disk.name == device)?;
    disk.model.clone().filter(|model| !model.trim().is_empty())
}

fn proof(schedule: &IoCostSchedule<'_>, judgement: &Judgement) -> Result<Proof, String> {
    let (study, trial) = schedule.proof()?;
    let trial = judgement.trials.get(trial).ok_or("its trial was not judged")?;
    let reason = trial.promises.first().map(|promise| promise.reason.clone());
    Ok(Proof {
        study: study.to_owned(),
        verdict: trial.verdict,
        reason: reason.unwrap_or_default(),
        repeats: trial.repeats,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The lines are what the tables of knobs accept, whatever was measured.
    #[test]
    fn lines_are_accepted_by_the_table_of_knobs() {
        let both: BTreeMap<String, f64> = [
            ("rbps", 1.9e9),
            ("rseqiops", 1e5),
            ("rrandiops", 9e4),
            ("rlat", 812.0),
            ("wbps", 1e9),
            ("wseqiops", 8e4),
            ("wrandiops", 7e4),
            ("wlat", 1912.0),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into();
        let reads = both.clone().into_iter().filter(|(key, _)| key.starts_with('r')).collect();
        for values in [both, reads] {
            let model = model_line("8:0", &model_words(&values).unwrap());
            let qos = qos_line("8:0", &qos_words(&values, percentile(true)));
            for (knob, line) in [("io.cost.model", model), ("io.cost.qos", qos)] {
                assay_knob::find(knob).unwrap().check(&line).unwrap();
            }
        }
    }
}
