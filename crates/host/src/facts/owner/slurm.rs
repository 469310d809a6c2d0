//! Groups of Slurm's task/cgroup: `slurmstepd.scope/job_<j>/step_<s>/...` on v2, `slurm/uid_<u>/job_<j>/...` on v1.

use super::Owner;

/// Where in a path of Slurm the reader is.
#[derive(Debug, Default)]
pub(super) enum Slurm {
    #[default]
    Outside,
    Inside,
    Job(String),
}

impl Slurm {
    /// Reads the next name of the path; the owner, if it is a job or a step.
    pub(super) fn next(&mut self, part: &str) -> Option<Owner> {
        let is_top = |name: &str, top: &str| name == top || name.ends_with(&format!("_{top}"));
        if is_top(part, "slurmstepd.scope") || part == "slurm" || part.starts_with("slurm_") {
            // Within a step `slurm` holds the daemon of the step.
            if matches!(self, Self::Outside) {
                *self = Self::Inside;
            }
            return None;
        }
        match self {
            Self::Outside => None,
            Self::Inside => {
                let job = job(part)?;
                *self = Self::Job(job.clone());
                Some(Owner::SlurmJob { job, step: None })
            }
            Self::Job(job) => {
                let step = Some(part.strip_prefix("step_")?.to_owned());
                Some(Owner::SlurmJob { job: job.clone(), step })
            }
        }
    }
}

/// The job of `job_<number>`, or of `s<SLUID>`, the default since 26.05.
fn job(part: &str) -> Option<String> {
    let number = part.strip_prefix("job_");
    let sluid = || {
        let text = part.strip_prefix('s')?;
        let is_one = text.len() > 4
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && text.bytes().any(|byte| byte.is_ascii_digit());
        is_one.then_some(part)
    };
    number.or_else(sluid).map(str::to_owned)
}
