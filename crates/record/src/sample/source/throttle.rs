//! `throttle`: in how many periods a CPU quota limited a group, and for how long, from the `cpu.stat` of the
//! controller `cpu` (Documentation/scheduler/sched-bwc.rst).

use assay_sys::kernel::counters::keyed;
use assay_sys::kernel::{RereadFile, Root};

use super::{Depth, Rows, Source, boxed, keep, names};
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};
use crate::sample::target::{Targets, ThrottleTarget};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "throttle",
    inclusion: Inclusion::Always,
    open: |root, targets| boxed(Throttle::open(root, targets)),
};

/// Throttling of groups with a quota and of the groups around them.
pub(super) struct Throttle {
    table: TableInfo,
    groups: Vec<RereadFile>,
    buffer: Vec<u8>,
}

impl Throttle {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        let throttles = targets.throttles.as_ref().map_err(Clone::clone)?;
        if throttles.is_empty() {
            return Err("no group has a CPU quota".to_owned());
        }
        let open = |target: &ThrottleTarget| keep(root, &target.path);
        let groups = throttles.iter().map(open).collect::<Result<_, _>>()?;
        let subjects = throttles.iter().map(|target| target.name.clone()).collect();
        let columns = names(&["periods", "throttled_periods", "throttled_ns"]);
        Ok(Self { table: TableInfo::new(INFO.name, columns, subjects), groups, buffer: Vec::new() })
    }
}

/// Periods, throttled periods, and throttled nanoseconds. v2 counts microseconds, v1 nanoseconds under
/// another name.
fn counters(text: &[u8]) -> [Option<u64>; 3] {
    let v2 = keyed(text, "throttled_usec").and_then(|usec| usec.checked_mul(1000));
    let time = v2.or_else(|| keyed(text, "throttled_time"));
    [keyed(text, "nr_periods"), keyed(text, "nr_throttled"), time]
}

impl Source for Throttle {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn read(&mut self, rows: &mut Rows, depth: Depth) {
        if depth == Depth::Essential {
            return;
        }
        for (index, file) in self.groups.iter().enumerate() {
            let values = file.read_record(&mut self.buffer).map_or([None; 3], counters);
            rows.add(index, &values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::counters;

    #[test]
    fn both_versions_give_nanoseconds() {
        let v2 = b"usage_usec 9\nnr_periods 4\nnr_throttled 3\nthrottled_usec 20\n";
        assert_eq!(counters(v2), [Some(4), Some(3), Some(20_000)]);
        let v1 = b"nr_periods 4\nnr_throttled 3\nthrottled_time 20\n";
        assert_eq!(counters(v1), [Some(4), Some(3), Some(20)]);
    }

    #[test]
    fn counters_are_null_without_the_controller() {
        assert_eq!(counters(b"usage_usec 9\nuser_usec 9\n"), [None; 3]);
    }
}
