//! Shares and rates of the groups, repeat by repeat, and how finely they are counted.

use assay_run_folder::RelationRecord;
use assay_stats::Grid;
use assay_stats::start::Quantity as Estimand;
use assay_terms::Measure;

use super::RepeatLog;
use crate::repeat::Repeat;
use crate::subject::Subject;

/// Bytes of a page, in which memory is counted, and of the smallest usual request.
const PAGE: f64 = 4096.0;

/// The shares or rates of one repeat.
pub(super) struct Level {
    repeat: usize,
    of_groups: Vec<f64>,
    /// What is counted at once, of each group: less does not show.
    units: Vec<f64>,
}

impl Level {
    pub(super) fn log(&self, group: usize) -> RepeatLog {
        self.at_least(group, 0.0)
    }

    /// The same with one unit in place of less.
    pub(super) fn at_least_a_unit(&self, group: usize) -> RepeatLog {
        self.at_least(group, self.units[group])
    }

    fn at_least(&self, group: usize, least: f64) -> RepeatLog {
        let value = self.of_groups[group].max(least);
        let grain = (self.units[group] / value).ln_1p();
        RepeatLog { grain, ..RepeatLog::exact(self.repeat, value.ln()) }
    }
}

/// Those of all repeats.
pub(super) struct Levels {
    pub(super) counted: Vec<Level>,
    pub(super) left_out: Vec<Level>,
}

impl Levels {
    /// The numbers of one group.
    pub(super) fn of_group(&self, group: usize) -> Result<Vec<RepeatLog>, String> {
        let of = |level: &Level| match level.of_groups[group] > 0.0 {
            true => Ok(level.log(group)),
            false => Err(format!("it is zero in repeat {}, so there is no ratio", level.repeat)),
        };
        self.counted.iter().map(of).collect()
    }
}

/// The shares or rates of all groups, or of all `together`, in every repeat.
pub(super) fn levels(
    subject: &Subject<'_>,
    measure: Measure,
    relation: &RelationRecord,
    estimand: Estimand,
    together: bool,
) -> Result<Levels, String> {
    subject.passes(|scope| scope.concerns(measure, relation))?;
    if subject.repeats.is_empty() {
        return Err("no repeat can be judged".to_owned());
    }
    let of = |repeat: &Repeat<'_>| {
        let grid: Grid = repeat.resampled(measure, &subject.groups)?;
        let grid = if together { grid.together() } else { grid };
        let units = units(repeat, measure, &subject.groups, &grid);
        let whole = estimand.whole(&grid);
        if whole <= 0.0 {
            return Err(format!(
                "the measured groups have a total of zero in repeat {}",
                repeat.number
            ));
        }
        Ok(Level {
            repeat: repeat.number,
            of_groups: grid.totals().iter().map(|total| total / whole).collect(),
            units: units.iter().map(|unit| unit / whole).collect(),
        })
    };
    Ok(Levels {
        counted: subject.repeats.iter().map(of).collect::<Result<_, String>>()?,
        left_out: subject.left_out_with_samples().filter_map(|repeat| of(repeat).ok()).collect(),
    })
}

/// What is counted at once, of each column of a grid: a request, a page, and of CPU time a microsecond
/// (`usage_usec` of cpu.stat, Documentation/admin-guide/cgroup-v2.rst).
fn units(repeat: &Repeat<'_>, measure: Measure, groups: &[&str], grid: &Grid) -> Vec<f64> {
    let unit = match measure {
        Measure::IoBytes => return bytes_of_requests(repeat, groups, grid),
        Measure::IoIos | Measure::MemoryRefaults => 1.0,
        Measure::CpuTime => 1e-6,
        // The grid holds the area below the amount.
        Measure::MemoryCurrent | Measure::MemoryDirty => PAGE * grid.seconds(),
    };
    vec![unit; grid.width]
}

/// Mean bytes of a request, of each column of a grid of bytes.
fn bytes_of_requests(repeat: &Repeat<'_>, groups: &[&str], bytes: &Grid) -> Vec<f64> {
    let Ok(requests) = repeat.resampled(Measure::IoIos, groups) else {
        return vec![PAGE; bytes.width];
    };
    let requests = if requests.width == bytes.width { requests } else { requests.together() };
    let mean = |bytes: f64, requests: f64| (requests > 0.0).then(|| bytes / requests);
    let of_all = mean(bytes.totals().iter().sum(), requests.totals().iter().sum());
    let each = bytes.totals().iter().zip(requests.totals());
    each.map(|(bytes, requests)| mean(*bytes, *requests).or(of_all).unwrap_or(PAGE)).collect()
}
