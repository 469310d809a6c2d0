//! Interventions: one change of a study, made to test whether it causes a broken promise.

mod changes;

use std::fmt;
use std::time::Duration;

use assay_host::knob::WEIGHT_MODE;

use crate::syntax::{Bindings, Scalar, Study};

/// One change of a study. Names are those of `assay diagnose`.
#[derive(Debug, Clone, PartialEq)]
pub enum Intervention {
    /// An attribute of the queue of every disk.
    Queue {
        /// The name of the intervention.
        name: &'static str,
        /// Path below `queue/`.
        attribute: String,
        /// The value to write.
        value: String,
    },
    /// The scheduler of every disk. Attributes below `iosched/` stay if it is the study's own
    /// scheduler.
    Scheduler(String),
    /// The number of outstanding requests of each fio workload, times `times / by`.
    Depth {
        /// The name of the intervention.
        name: &'static str,
        /// Multiplied by this
        times: u32,
        /// and divided by this; the result is at least 1.
        by: u32,
    },
    /// More requests in the pool of every disk, and fewer outstanding, since the pool alone cannot hold all.
    Room {
        /// `nr_requests`.
        requests: u32,
        /// The iodepth of each fio workload is divided by this.
        by: u32,
    },
    /// A longer repeat.
    Longer(Duration),
    /// A disk that completes `by` times fewer requests per second: the rate of a null_blk is
    /// lowered, and for other disks each request asks for `by` times the bytes.
    Slower {
        /// The factor.
        by: u32,
    },
    /// All groups on these CPUs.
    Cpus(String),
    /// What weights of CPU divide, as kernels before 7.3 do.
    WeightMode(&'static str),
    /// O_DIRECT in every fio workload.
    Direct,
    /// The weights of every group, times `times / by`: proportions stay the same, absolute values
    /// do not.
    Weights {
        /// Multiplied by this
        times: u32,
        /// and divided by this.
        by: u32,
    },
    /// The weights rotated among the groups, each to its neighbour: an error then follows the
    /// weight, or stays with the group and its program.
    Permute,
    /// Queue attributes at their defaults; only the scheduler of the study is kept.
    Plain,
    /// No change: the trial runs again.
    Repeat,
}

impl Intervention {
    /// Its stable name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Queue { name, .. } | Self::Depth { name, .. } => name,
            Self::Room { .. } => "room",
            Self::Scheduler(_) => "scheduler",
            Self::Longer(_) => "longer",
            Self::Slower { .. } => "slower",
            Self::Cpus(_) => "one-cpu",
            Self::WeightMode(_) => "weight-mode",
            Self::Direct => "direct",
            Self::Weights { .. } => "weights",
            Self::Permute => "permute",
            Self::Plain => "defaults",
            Self::Repeat => "repeat",
        }
    }

    /// What it changes. Two interventions that change the same thing cannot be combined.
    #[must_use]
    pub fn touches(&self) -> &str {
        match self {
            Self::Queue { attribute, .. } => attribute,
            Self::Depth { .. } => "iodepth",
            other => other.name(),
        }
    }

    /// Whether both can be applied at once. A scheduler replaces its attributes.
    #[must_use]
    pub fn goes_with(&self, other: &Self) -> bool {
        let replaces = |one: &Self, other: &Self| {
            matches!(one, Self::Scheduler(_)) && other.touches().starts_with("iosched/")
                || matches!(one, Self::Plain)
                || matches!(one, Self::Room { .. })
                    && matches!(other.touches(), "nr_requests" | "iodepth")
        };
        self.touches() != other.touches() && !replaces(self, other) && !replaces(other, self)
    }

    /// What to write into a study to make the change permanent; `None` if it is not a remedy.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Queue { attribute, value, .. } => {
                Some(format!("queue = {{ \"{attribute}\" = {value} }} under [disks.*]"))
            }
            Self::Scheduler(name) => Some(format!("scheduler = \"{name}\" under [disks.*]")),
            Self::Depth { times, by, .. } if times > by => {
                Some(format!("{times} times the iodepth"))
            }
            Self::Depth { by, .. } => Some(format!("a {by}th of the iodepth")),
            Self::Room { requests, by } => Some(format!(
                "queue = {{ nr_requests = {requests} }} under [disks.*] and the iodepth divided by {by}"
            )),
            Self::Longer(length) => {
                Some(format!("at_most = \"{} s\" under [design]", length.as_secs()))
            }
            Self::Slower { by } => Some(format!("requests {by} times as large (`bs`)")),
            Self::Cpus(cpus) => Some(format!("\"cpuset.cpus\" = \"{cpus}\" in the groups")),
            Self::WeightMode(mode) => {
                Some(format!("sysctls = {{ \"{WEIGHT_MODE}\" = \"{mode}\" }}"))
            }
            Self::Direct => Some("direct = 1 in the workload".to_owned()),
            Self::Weights { .. } | Self::Permute | Self::Plain | Self::Repeat => None,
        }
    }

    /// Applies the change to the study. The factors of the trial in question resolve templates.
    ///
    /// # Errors
    /// The reason why the study cannot be changed this way.
    pub fn apply(&self, study: &mut Study, factors: &Bindings) -> Result<(), String> {
        match self {
            Self::Queue { attribute, value, .. } => changes::set_queue(study, attribute, value),
            Self::Scheduler(name) => changes::set_scheduler(study, name),
            Self::Depth { times, by, .. } => changes::scale_depth(study, factors, *times, *by),
            Self::Room { requests, by } => {
                changes::set_queue(study, "nr_requests", &requests.to_string())?;
                changes::scale_depth(study, factors, 1, *by)
            }
            Self::Longer(length) => {
                study.design.at_most = *length;
                Ok(())
            }
            Self::Slower { by } => changes::slow_down(study, factors, *by),
            Self::Cpus(cpus) => {
                changes::pin(&mut study.groups, cpus);
                Ok(())
            }
            Self::WeightMode(mode) => {
                changes::set_setting(study, WEIGHT_MODE, mode);
                Ok(())
            }
            Self::Direct => changes::set_argument(study, "direct", &Scalar::Integer(1)),
            Self::Weights { times, by } => changes::scale_weights(study, factors, *times, *by),
            Self::Permute => match changes::permute_weights(&mut study.groups, factors)? {
                true => Ok(()),
                false => Err("all sibling groups have the same weight".to_owned()),
            },
            Self::Plain => changes::drop_attributes(study),
            Self::Repeat => Ok(()),
        }
    }
}

impl fmt::Display for Intervention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue { attribute, value, .. } => write!(f, "`{attribute}` = {value}"),
            Self::Scheduler(name) => write!(f, "scheduler {name}"),
            Self::Depth { times, by, .. } if times > by => write!(f, "iodepth x {times}"),
            Self::Depth { by, .. } => write!(f, "iodepth / {by}"),
            Self::Room { requests, by } => {
                write!(f, "`nr_requests` = {requests} with iodepth / {by}")
            }
            Self::Longer(length) => write!(f, "{} s instead", length.as_secs()),
            Self::Slower { by } => write!(f, "a disk that does {by} times fewer requests"),
            Self::Cpus(cpus) => write!(f, "all groups on CPU {cpus}"),
            Self::WeightMode(mode) => write!(f, "`{WEIGHT_MODE}` = {mode}"),
            Self::Direct => f.write_str("direct I/O"),
            Self::Weights { times, by } if times > by => write!(f, "weights x {times}"),
            Self::Weights { by, .. } => write!(f, "weights / {by}"),
            Self::Permute => f.write_str("weights exchanged among the groups"),
            Self::Plain => f.write_str("the scheduler's own defaults"),
            Self::Repeat => f.write_str("once more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::Tool;
    use crate::template::Templated;
    use crate::{combinations, parse, shipped};

    fn scaling() -> (Study, Bindings) {
        let study = shipped().iter().find(|study| study.name == "io-weight-scaling").unwrap();
        let study = parse(study.name, study.text, &|_| Err(String::new())).0.unwrap();
        let factors = combinations(&study).remove(0);
        (study, factors)
    }

    fn depth(study: &Study) -> Scalar {
        let Tool::Fio { args } = &study.workloads["mixed"].tool else { panic!() };
        let (_, value) = args.iter().find(|(name, _)| name == "iodepth").unwrap();
        value.resolve(&Bindings::new()).unwrap()
    }

    #[test]
    fn an_iodepth_set_by_a_factor_is_scaled() {
        let (mut study, factors) = scaling();
        let quarter = Intervention::Depth { name: "iodepth", times: 1, by: 4 };
        quarter.apply(&mut study, &factors).unwrap();
        assert_eq!(depth(&study), Scalar::Integer(8));
        // It cannot fall below 1.
        let most = Intervention::Depth { name: "iodepth", times: 1, by: 100 };
        most.apply(&mut study, &factors).unwrap();
        assert!(most.apply(&mut study, &factors).unwrap_err().contains("iodepth"));
    }

    #[test]
    fn requests_grow_where_the_speed_of_a_disk_cannot_be_set() {
        let (mut study, factors) = scaling();
        Intervention::Slower { by: 16 }.apply(&mut study, &factors).unwrap();
        let Tool::Fio { args } = &study.workloads["mixed"].tool else { panic!() };
        let sizes: Vec<_> = args.iter().filter(|(name, _)| name == "bs").collect();
        assert_eq!(sizes.len(), 1);
        assert_eq!(sizes[0].1, Templated::Value(Scalar::Integer(65_536)));
    }

    #[test]
    fn an_attribute_replaces_that_of_the_study() {
        let (mut study, factors) = scaling();
        let attribute = "iosched/low_latency".to_owned();
        let on = Intervention::Queue { name: "low-latency", attribute, value: "1".to_owned() };
        on.apply(&mut study, &factors).unwrap();
        let queue = &study.disks["scratch"].queue;
        let set: Vec<_> = queue.iter().filter(|(name, _)| name.contains("latency")).collect();
        assert_eq!(set.len(), 1);
        assert_eq!(set[0].1, Templated::Value(Scalar::Integer(1)));
    }

    #[test]
    fn bfq_is_set_without_low_latency() {
        let (mut study, factors) = scaling();
        Intervention::Scheduler("none".to_owned()).apply(&mut study, &factors).unwrap();
        let attributes = |study: &Study| -> Vec<String> {
            let names = study.disks["scratch"].queue.iter().map(|(name, _)| name.clone());
            names.filter(|name| name.starts_with("iosched/")).collect()
        };
        assert_eq!(attributes(&study), Vec::<String>::new());
        Intervention::Scheduler("bfq".to_owned()).apply(&mut study, &factors).unwrap();
        assert_eq!(attributes(&study), ["iosched/low_latency"]);
    }

    #[test]
    fn weights_are_scaled_as_long_as_they_stay_whole_numbers() {
        let (mut study, factors) = scaling();
        Intervention::Weights { times: 1, by: 100 }.apply(&mut study, &factors).unwrap();
        let weights: Vec<String> = study.groups[0].knobs[0]
            .1
            .iter()
            .map(|value| value.resolve(&factors).unwrap().to_string())
            .collect();
        assert_eq!(weights, ["1", "2", "4", "8"]);
        let more = Intervention::Weights { times: 1, by: 10 };
        assert!(more.apply(&mut study, &factors).unwrap_err().contains("whole number"));
    }

    #[test]
    fn different_weights_rotate_and_equal_weights_are_refused() {
        let (mut study, factors) = scaling();
        Intervention::Permute.apply(&mut study, &factors).unwrap();
        let weights = |study: &Study| -> Vec<String> {
            let values = study.groups[0].knobs[0].1.iter();
            values.map(|value| value.resolve(&factors).unwrap().to_string()).collect()
        };
        assert_eq!(weights(&study), ["200", "400", "800", "100"]);
        study.groups[0].knobs[0].1.truncate(1);
        assert!(Intervention::Permute.apply(&mut study, &factors).is_err());
    }

    #[test]
    fn a_scheduler_conflicts_with_iosched_attributes_and_defaults_with_everything() {
        let queue = |attribute: &str| Intervention::Queue {
            name: "queue",
            attribute: attribute.to_owned(),
            value: "1".to_owned(),
        };
        let none = Intervention::Scheduler("none".to_owned());
        assert!(!none.goes_with(&queue("iosched/slice_idle")));
        assert!(none.goes_with(&queue("nr_requests")));
        assert!(!Intervention::Plain.goes_with(&queue("nr_requests")));
        assert!(!queue("nr_requests").goes_with(&queue("nr_requests")));
        assert!(queue("iosched/slice_idle").goes_with(&queue("nr_requests")));
    }

    #[test]
    fn the_mode_of_weights_replaces_the_studys_own() {
        let (mut study, factors) = scaling();
        for mode in ["up", "smp"] {
            Intervention::WeightMode(mode).apply(&mut study, &factors).unwrap();
        }
        let smp = Templated::Value(Scalar::Text("smp".to_owned()));
        assert_eq!(study.settings.values, [(WEIGHT_MODE.to_owned(), smp)]);
    }

    #[test]
    fn pinning_twice_leaves_one_cpuset() {
        let (mut study, factors) = scaling();
        for cpus in ["0", "1"] {
            Intervention::Cpus(cpus.to_owned()).apply(&mut study, &factors).unwrap();
        }
        let knobs = &study.groups[0].knobs;
        assert_eq!(knobs.iter().filter(|(knob, _)| knob == "cpuset.cpus").count(), 1);
    }
}
