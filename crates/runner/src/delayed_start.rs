//! Workloads that do not start with all others: when another one has ended, or after a time.

use assay_kernel::Error;
use assay_plan::{AfterPlan, GroupPlan, Trial, WorkloadPlan};
use assay_run_folder::WorkloadResult;

use crate::outcome::not_started;
use crate::processes::Process;
use crate::start::Starter;

/// One that has not started yet.
struct Waiting<'t> {
    group: &'t GroupPlan,
    workload: &'t WorkloadPlan,
    after: &'t AfterPlan,
}

/// All that have not started yet.
pub(crate) struct DelayedStart<'t> {
    waiting: Vec<Waiting<'t>>,
    /// Names that somebody waits for; the end of these does not end a window.
    awaited: Vec<&'t str>,
    /// Those that never will, with the reason.
    given_up: Vec<WorkloadResult>,
}

/// Whether what it waits for has come.
enum Due {
    Now,
    NotYet,
    Never(String),
}

impl<'t> DelayedStart<'t> {
    pub(crate) fn of(trial: &'t Trial) -> Self {
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
        Self { awaited: awaited.collect(), waiting, given_up: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn awaits(&self, workload: &str) -> bool {
        self.awaited.contains(&workload)
    }

    /// Starts what is due `since_ns` after the common start.
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
                Due::Never(why) => self.given_up.push(waiting.not_started(&why)),
            }
        }
        Ok(())
    }

    /// Those that did not start, now that the window is over.
    pub(crate) fn left(self) -> Vec<WorkloadResult> {
        let left = self.waiting.into_iter().map(|waiting| {
            let why = match waiting.after {
                AfterPlan::Workload(name) => {
                    format!("`{name}` had not ended when the window was over")
                }
                AfterPlan::Time(_) => "the window was over before its time came".to_owned(),
            };
            waiting.not_started(&why)
        });
        self.given_up.into_iter().chain(left.collect::<Vec<_>>()).collect()
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
    // Where there is none, it waits for something itself.
    let found = processes.iter_mut().find(|process| process.workload == *name);
    let Some(process) = found else { return Due::NotYet };
    if process.is_running() {
        Due::NotYet
    } else if process.has_failed() {
        Due::Never(format!("`{name}` failed"))
    } else {
        Due::Now
    }
}
