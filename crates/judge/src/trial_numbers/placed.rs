//! The part of threads and pages that was in place, repeat by repeat.

use std::f64::consts::LN_2;

use assay_run_folder::{PlacementRecord, PromiseRecord, RelationRecord};
use assay_terms::PlacementMeasure;

use super::{RepeatLog, TrialNumber, blank};
use crate::checks::Scope;
use crate::placement::{self, Counted};
use crate::repeat::Repeat;
use crate::subject::Subject;

/// One number for every workload with a placement, if that is what is promised.
pub(super) fn numbers(subject: &Subject<'_>, promise: &PromiseRecord) -> Vec<TrialNumber> {
    let what = PlacementMeasure::parse(&promise.measure);
    let Some(what) = what.filter(|_| promise.is == RelationRecord::Placed) else {
        return Vec::new();
    };
    let placed = subject.trial.placements.iter();
    let measured = placed.filter(|asked| subject.groups.contains(&asked.group.as_str()));
    measured.map(|asked| number(subject, &promise.measure, (what, asked))).collect()
}

fn number(
    subject: &Subject<'_>,
    name: &str,
    of: (PlacementMeasure, &PlacementRecord),
) -> TrialNumber {
    let logs = |repeats: &[Repeat<'_>]| -> Result<Vec<RepeatLog>, String> {
        let (_, counted) = placement::counted(subject, of, repeats)?;
        let each = repeats.iter().zip(&counted);
        Ok(each.map(|(repeat, counted)| log(repeat.number, counted)).collect())
    };
    let counted = match &subject.repeats[..] {
        [] => Err("no repeat can be judged".to_owned()),
        repeats => subject.passes(|scope| scope == Scope::All).and_then(|()| logs(repeats)),
    };
    let left_out = subject.left_out_with_samples();
    let left_out = left_out.filter_map(|repeat| logs(std::slice::from_ref(repeat)).ok());
    TrialNumber {
        found: counted,
        left_out: left_out.flatten().collect(),
        ..blank(name, "in_place", Some(&of.1.workload), true)
    }
}

/// As in the verdict the part is rounded to a grain, now up and now down (docs/judging.md, Placement);
/// less than a grain may be one.
fn log(repeat: usize, counted: &Counted) -> RepeatLog {
    let part = counted.held / counted.of;
    if part < counted.grain {
        return RepeatLog { grain: LN_2, ..RepeatLog::exact(repeat, counted.grain.ln()) };
    }
    let least_error = counted.grain / 12.0_f64.sqrt() / part;
    RepeatLog { least_error, ..RepeatLog::exact(repeat, part.ln()) }
}
