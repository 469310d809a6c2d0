//! Runs of one study on one host, with the same settings: what they say together.

use std::ffi::OsString;
use std::path::PathBuf;

use assay_judge::verdict::wording::count;
use assay_judge::verdict::{Judgement, Verdict};
use assay_record::run_folder::{Manifest, Run, RunFolder, runs};
use assay_run::observer::Observer;
use assay_run::recorded_run::open_run;
use assay_sys::exit::Error;

use crate::judge_together;

/// Whether the starts of both are starts of the same: one study, host, kernel, version and length, and the same settings.
fn is_again(a: &Manifest, b: &Manifest) -> bool {
    let trials = |run: &Manifest| -> Vec<_> {
        let each = run.trials.iter();
        each.map(|one| {
            (one.factors.clone(), one.at_most_s.to_bits(), one.groups.clone(), one.promises.clone())
        })
        .collect()
    };
    a.study_text == b.study_text
        && (&a.host.host_name, &a.host.kernel, &a.guest)
            == (&b.host.host_name, &b.host.kernel, &b.guest)
        && trials(a) == trials(b)
}

/// Starts that were inside, of all: of each trial by its promise with the fewest.
fn starts(judgement: &Judgement) -> (usize, usize) {
    let fewest = judgement.trials.iter().filter_map(|trial| {
        let was = trial.promises.iter().filter_map(|promise| promise.was.as_ref());
        was.min_by_key(|was| was.repeats_kept).map(|was| (was.repeats_kept, was.repeats))
    });
    fewest.fold((0, 0), |(inside, of), one| (inside + one.0, of + one.1))
}

/// `The 4th run of this study here: 1 kept, 3 undecided; together 31 of 38 starts were inside.` `None` for the first.
#[must_use]
pub fn earlier_runs(folder: &RunFolder, run: &Manifest, judgement: &Judgement) -> Option<String> {
    let around = folder.dir().current_parent().ok()?;
    let of_run = |name: OsString| -> Option<(String, Judgement)> {
        let other = RunFolder::from_dir(around.dir_on_mount(&name).ok()?).ok()?;
        let manifest = other.read_manifest().ok()?;
        let before = manifest.started_at < run.started_at && is_again(&manifest, run);
        before.then(|| Some((manifest.started_at, other.read_json("verdict.json").ok()?)))?
    };
    let mut all: Vec<(String, Judgement)> =
        runs(&around).ok()?.into_iter().filter_map(of_run).collect();
    if all.is_empty() || judgement.promises_nothing() {
        return None;
    }
    all.push((run.started_at.clone(), judgement.clone()));
    let verdicts = [Verdict::Kept, Verdict::Broken, Verdict::Undecided, Verdict::Void].map(|one| {
        let number = all.iter().filter(|(_, judged)| judged.verdict == one).count();
        (number > 0).then(|| format!("{number} {}", one.word()))
    });
    let verdicts: Vec<String> = verdicts.into_iter().flatten().collect();
    let (inside, of) = all
        .iter()
        .map(|(_, judged)| starts(judged))
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let mut days: Vec<&str> = all.iter().filter_map(|(at, _)| at.get(..10)).collect();
    days.dedup();
    let days =
        if days.len() > 1 { format!(" on {}", count(days.len(), "day")) } else { String::new() };
    Some(format!(
        "the {} run of this study here{days}: {}; together {inside} of {} were inside",
        nth(all.len()),
        verdicts.join(", "),
        count(of, "start")
    ))
}

fn nth(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// Judges several runs of one study together; the manifest is that of the first.
///
/// # Errors
/// A folder holds no run, or they are not runs of one study on one host with the same settings.
pub fn judge_runs(
    paths: &[PathBuf],
    observer: &mut dyn Observer,
) -> Result<(Manifest, Judgement), Error> {
    let all: Vec<Run> =
        paths.iter().map(|path| Ok(open_run(path, observer)?.1)).collect::<Result<_, Error>>()?;
    let first = &all[0].manifest;
    for (path, run) in paths.iter().zip(&all).skip(1) {
        if !is_again(first, &run.manifest) {
            let why = format!(
                "{} is no run of the same study, host, kernel and settings",
                path.display()
            );
            return Err(Error::usage(why).note(format!("as {}", paths[0].display())));
        }
        if all.iter().filter(|other| other.manifest.started_at == run.manifest.started_at).count()
            > 1
        {
            return Err(Error::usage(format!("{} was named twice", path.display())));
        }
    }
    let runs: Vec<_> = all.iter().map(|run| (&run.manifest, run.samples.as_slice())).collect();
    let judgement = judge_together(&runs).ok_or_else(|| Error::usage("no run was named"))?;
    Ok((first.clone(), judgement))
}

#[cfg(test)]
mod tests {
    use super::nth;

    #[test]
    fn ordinals() {
        let all = [1, 2, 3, 4, 11, 12, 21, 112].map(nth);
        assert_eq!(all, ["1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "112th"]);
    }
}
