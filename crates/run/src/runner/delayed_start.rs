//! Workloads that start later than the others: after another one has ended, or after a time.

use assay_record::run_folder::WorkloadResult;
use assay_study::plan::{AfterPlan, GroupPlan, Trial, WorkloadPlan};
use assay_sys::kernel::Error;

use crate::runner::outcome::not_started;
use crate::runner::processes::Process;
use crate::runner::start::Starter;

/// A workload that has not started yet.
struct Waiting<'t> {
    group: &'t GroupPlan,
    workload: &'t WorkloadPlan,
    after: &'t AfterPlan,
}

/// All workloads that have not started yet.
pub(crate) struct DelayedStart<'t> {
    waiting: Vec<Waiting<'t>>,
    /// Workloads that others wait for; their end does not end a window.
    awaited: Vec<&'t str>,
    /// Workloads that will never start, with the reason.
    cancelled: Vec<WorkloadResult>,
}

/// Whether a waiting workload can start.
enum Due {
    Now,
    NotYet,
    Never(String),
}

impl<'t> DelayedStart<'t> {
    pub(crate) fn new(trial: &'t Trial) -> Self {
        let all = trial.groups.iter().flat_map(|group| {
            group.workloads.iter().filter_map(move |workload| {
                Some(Waiting { group, workload, after: workload.after.as_ref()? })
            })
        });
        let waiting: Vec<Waiting<'t>> = all.collect();
        let awaited = waiting.iter().filter_map(|waiting| match waiting.after {
            AfterPlan::Workload(name) => Some(name.as_str()),
            AfterPlan::Time(_) => None,
        });
        Self { awaited: awaited.collect(), waiting, cancelled: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn awaits(&self, workload: &str) -> bool {
        self.awaited.contains(&workload)
    }

    /// Starts the workloads that are due `since_ns` after the common start.
    pub(crate) fn start_due(
        &mut self,
        since_ns: u64,
        starter: &Starter<'_>,
        processes: &mut Vec<Process>,
    ) -> Result<(), Error> {
        for waiting in std::mem::take(&mut self.waiting) {
            match due(waiting.after, since_ns, processes) {
                Due::Now => {
                    processes.push(starter.start(waiting.group, waiting.workload, false)?);
                }
                Due::NotYet => self.waiting.push(waiting),
                Due::Never(why) => self.cancelled.push(waiting.not_started(&why)),
            }
        }
        Ok(())
    }

    /// Workloads that had not started when the window ended.
    pub(crate) fn not_started_in_window(self) -> Vec<WorkloadResult> {
        let not_started_in_window = self.waiting.into_iter().map(|waiting| {
            let why = match waiting.after {
                AfterPlan::Workload(name) => {
                    format!("`{name}` had not ended when the window ended")
                }
                AfterPlan::Time(_) => "the window ended before its start time".to_owned(),
            };
            waiting.not_started(&why)
        });
        self.cancelled.into_iter().chain(not_started_in_window.collect::<Vec<_>>()).collect()
    }
}

impl Waiting<'_> {
    fn not_started(&self, why: &str) -> WorkloadResult {
        not_started(&self.workload.name, &self.group.name, why)
    }
}

fn due(after: &AfterPlan, since_ns: u64, processes: &mut [Process]) -> Due {
    let name = match after {
        AfterPlan::Time(length) if u128::from(since_ns) >= length.as_nanos() => return Due::Now,
        AfterPlan::Time(_) => return Due::NotYet,
        AfterPlan::Workload(name) => name,
    };
    // If it is not running, it is waiting itself.
    let awaited = processes.iter_mut().find(|process| process.workload == *name);
    let Some(process) = awaited else { return Due::NotYet };
    if process.is_running() {
        Due::NotYet
    } else if process.has_failed() {
        Due::Never(format!("`{name}` failed"))
    } else {
        Due::Now
    }
}
