//! One knob: its name, its range, and whether a value fits.

use assay_units::{Bytes, IdSet, Limit};

/// The hierarchies that know a knob, under this name or another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// Named as on cgroup v2; v1 has a file of the same meaning.
    Both,
    /// Only on v1, under this name.
    V1Only,
    /// Only on v2.
    V2Only,
}

/// What the number in a knob counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A share relative to the siblings; no unit.
    Weight,
    /// Bytes.
    Bytes,
    /// Microseconds of CPU time in a period of microseconds.
    CpuBandwidth,
    /// Processes and threads.
    Tasks,
    /// A list of CPUs or memory nodes.
    Ids,
}

/// Which values a knob takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueRange {
    /// A whole number between these, both included.
    Integer {
        /// The smallest.
        low: u64,
        /// The largest.
        high: u64,
    },
    /// The same, or `max`.
    IntegerOrMax {
        /// The smallest.
        low: u64,
        /// The largest.
        high: u64,
    },
    /// An amount of data, or `max`.
    BytesOrMax,
    /// `QUOTA`, `QUOTA PERIOD`, `max` or `max PERIOD` in microseconds.
    CpuBandwidth,
    /// A list of ids, `0-3,8`.
    IdList,
    /// Any text; the kernel alone knows.
    Text,
}

/// One knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knob {
    /// The v2 name, or the v1 name of a knob that only v1 has.
    pub name: &'static str,
    /// Its controller by v2 name (`io`, not `blkio`).
    pub controller: &'static str,
    /// The hierarchies that know it.
    pub home: Home,
    /// What its number counts.
    pub unit: Unit,
    /// The values it takes.
    pub range: ValueRange,
    /// What the kernel sets in a new group, as it reads.
    pub default: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// The kernels that have it.
    pub since: &'static str,
}

/// Shortest CFS quota and period the kernel takes, in microseconds
/// (kernel/sched/core.c: min_cfs_quota_period).
const SHORTEST_PERIOD_US: u64 = 1_000;

/// Longest CFS period the kernel takes, in microseconds (max_cfs_quota_period).
const LONGEST_PERIOD_US: u64 = 1_000_000;

/// The period of a new group, in microseconds.
const DEFAULT_PERIOD_US: u64 = 100_000;

impl Knob {
    /// Whether `value` fits, or why not and what to write instead.
    pub fn check(&self, value: &str) -> Result<(), String> {
        let fits = match self.range {
            ValueRange::Integer { low, high } => within(value, low, high),
            ValueRange::IntegerOrMax { low, high } => is_max(value) || within(value, low, high),
            ValueRange::BytesOrMax => value.parse::<Limit<Bytes>>().is_ok(),
            ValueRange::CpuBandwidth => cpu_bandwidth(value).is_some(),
            ValueRange::IdList => value.parse::<IdSet>().is_ok_and(|ids| !ids.is_empty()),
            ValueRange::Text => true,
        };
        if fits {
            return Ok(());
        }
        Err(format!("`{}` takes {}, not `{value}`", self.name, self.range))
    }
}

impl std::fmt::Display for ValueRange {
    /// A phrase that follows "takes".
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer { low, high } => write!(f, "a whole number from {low} to {high}"),
            Self::IntegerOrMax { low, high } => {
                write!(f, "a whole number from {low} to {high}, or `max`")
            }
            Self::BytesOrMax => f.write_str("an amount of data such as `64 MiB`, or `max`"),
            Self::CpuBandwidth => f.write_str(
                "`QUOTA PERIOD` in microseconds such as `50000 100000` (quota at least 1000 or \
                 `max`, period 1000 to 1000000)",
            ),
            Self::IdList => f.write_str("a list of ids such as `0-3,8`"),
            Self::Text => f.write_str("any text"),
        }
    }
}

/// Quota (`None` for no limit) and period of a `cpu.max` text, both in microseconds.
pub(crate) fn cpu_bandwidth(value: &str) -> Option<(Option<u64>, u64)> {
    let mut words = value.split_whitespace();
    let quota = match words.next()? {
        "max" => None,
        number => Some(number.parse().ok().filter(|quota| *quota >= SHORTEST_PERIOD_US)?),
    };
    let period = words.next().map_or(Some(DEFAULT_PERIOD_US), |word| word.parse().ok())?;
    let periods = SHORTEST_PERIOD_US..=LONGEST_PERIOD_US;
    (words.next().is_none() && periods.contains(&period)).then_some((quota, period))
}

fn is_max(value: &str) -> bool {
    value.trim() == "max"
}

fn within(value: &str, low: u64, high: u64) -> bool {
    value.trim().parse::<u64>().is_ok_and(|number| (low..=high).contains(&number))
}

#[cfg(test)]
mod tests {
    use crate::find;

    fn fits(knob: &str, value: &str) -> bool {
        find(knob).unwrap().check(value).is_ok()
    }

    #[test]
    fn weights_end_where_the_kernel_ends_them() {
        for (knob, low, high) in [
            ("io.weight", 1, 10_000),
            ("io.bfq.weight", 1, 1_000),
            ("blkio.bfq.weight", 1, 1_000),
            ("blkio.weight", 10, 1_000),
            ("cpu.weight", 1, 10_000),
            ("cpu.shares", 2, 262_144),
        ] {
            assert!(fits(knob, &low.to_string()) && fits(knob, &high.to_string()), "{knob}");
            assert!(!fits(knob, &(low - 1).to_string()), "{knob}");
            assert!(!fits(knob, &(high + 1).to_string()), "{knob}");
        }
    }

    #[test]
    fn a_ladder_of_doublings_leaves_the_range_of_bfq_at_its_fifth_group() {
        let held: Vec<bool> =
            (0..6).map(|step| fits("io.bfq.weight", &(100 << step).to_string())).collect();
        assert_eq!(held, [true, true, true, true, false, false]);
    }

    #[test]
    fn the_message_names_the_range_and_the_value() {
        let message = find("io.bfq.weight").unwrap().check("1600").unwrap_err();
        assert!(message.contains("from 1 to 1000") && message.contains("`1600`"), "{message}");
    }

    #[test]
    fn limits_take_amounts_and_max_but_no_bare_words() {
        for value in ["max", "64 MiB", "1048576", "1g"] {
            assert!(fits("memory.max", value), "{value}");
        }
        assert!(!fits("memory.max", "unlimited"));
        assert!(fits("pids.max", "max") && fits("pids.max", "64") && !fits("pids.max", "-1"));
    }

    #[test]
    fn cpu_bandwidth_needs_a_quota_and_allows_a_period() {
        for value in ["50000 100000", "50000", "max", "max 1000"] {
            assert!(fits("cpu.max", value), "{value}");
        }
        for value in ["", "999", "50 %", "50000 999", "50000 1000001", "1000 1000 1000"] {
            assert!(!fits("cpu.max", value), "{value}");
        }
    }

    #[test]
    fn an_empty_list_of_cpus_is_refused() {
        assert!(fits("cpuset.cpus", "0-3,8"));
        assert!(!fits("cpuset.cpus", "") && !fits("cpuset.mems", "3-1"));
    }
}
