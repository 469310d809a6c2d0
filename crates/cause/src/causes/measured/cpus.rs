//! Waiting for CPUs, from the answer about each group.

use assay_blame::{Answer, CpuPart, Culprit, Evidence, Part, Verdict};
use assay_host::facts::Available;
use assay_judge::repeat::is_part;

use super::{CpuWait, OnCpu};

/// Percent of the waiting of unknown class with which nothing is said of any class.
const MOST_UNSEEN: f64 = 5.0;

/// Waiting of these groups for CPUs, or why it is not known.
pub(super) fn waits(evidence: &Evidence, names: &[String]) -> Result<Vec<CpuWait>, String> {
    let answers = match &evidence.cpu {
        Available::Value(answers) => answers,
        Available::NotAvailable(why) => return Err(why.clone()),
    };
    let of = |name: &String| {
        let parts = answers.iter().filter(|answer| is_part(&answer.target, name)).map(wait);
        parts.reduce(added).ok_or_else(|| format!("the events do not cover `{name}`"))
    };
    names.iter().map(of).collect()
}

/// CPUs that all groups of the study together kept busy of this one on average; `None` where the events do not have it.
pub(in crate::causes) fn all_ran_on(evidence: &Evidence, cpu: usize) -> Option<f64> {
    let Available::Value(answers) = &evidence.cpu else { return None };
    let one = |answer: &Answer| {
        let valid = answer.verdict == Verdict::Valid;
        wait(answer).ran_on(cpu).filter(|_| valid)
    };
    answers.iter().map(one).sum()
}

/// The waiting of two groups as that of the one around them.
fn added(mut sum: CpuWait, more: CpuWait) -> CpuWait {
    sum.waited += more.waited;
    sum.is_doubtful |= more.is_doubtful;
    sum.quota += more.quota;
    sum.stolen += more.stolen;
    for (name, waited) in more.foreign {
        match sum.foreign.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known += waited,
            None => sum.foreign.push((name, waited)),
        }
    }
    sum.foreign.sort_by(|a, b| b.1.total_cmp(&a.1));
    for one in more.cpus {
        match sum.cpus.iter_mut().find(|known| known.cpu == one.cpu) {
            Some(known) => {
                known.ran = known.ran.zip(one.ran).map(|(known, more)| known + more);
                known.waited += one.waited;
                known.foreign += one.foreign;
            }
            None => sum.cpus.push(one),
        }
    }
    sum
}

/// How long a group waited is known by the kernel's own counter as well, where the parts are in doubt.
fn wait(answer: &Answer) -> CpuWait {
    let in_all = |waited_ns: u64| CpuWait {
        seconds: answer.seconds,
        waited: waited_ns as f64 * 1e-9,
        is_doubtful: true,
        ..CpuWait::default()
    };
    match answer.verdict {
        Verdict::Void => in_all(answer.run_delay_ns),
        Verdict::Valid if answer.percent(Culprit::Unseen) > MOST_UNSEEN => in_all(answer.waited_ns),
        Verdict::Valid => by_class(answer),
    }
}

fn by_class(answer: &Answer) -> CpuWait {
    let mut foreign: Vec<(String, f64)> = Vec::new();
    let (mut quota, mut stolen) = (0.0, 0.0);
    for part in &answer.parts {
        let seconds = part.ns as f64 * 1e-9;
        match part.culprit {
            Culprit::OwnQuota => quota += seconds,
            Culprit::Hypervisor => stolen += seconds,
            _ if is_foreign(part) => foreign.push((name(part), seconds)),
            _ => {}
        }
    }
    foreign.sort_by(|a, b| b.1.total_cmp(&a.1));
    let seconds = |ns: u64| ns as f64 * 1e-9;
    let on = |part: &CpuPart| OnCpu {
        cpu: part.cpu,
        ran: part.ran_ns.map(seconds),
        waited: seconds(part.waited_ns),
        foreign: seconds(
            part.parts.iter().filter(|part| is_foreign(part)).map(|part| part.ns).sum(),
        ),
    };
    CpuWait {
        seconds: answer.seconds,
        waited: seconds(answer.waited_ns),
        is_doubtful: false,
        quota,
        stolen,
        foreign,
        cpus: answer.cpus.iter().map(on).collect(),
    }
}

/// Whether something else ran than groups of the study. These have their names of the study, all others a path.
fn is_foreign(part: &Part) -> bool {
    match part.culprit {
        Culprit::Group => part.group.as_ref().is_none_or(|group| group.starts_with('/')),
        Culprit::Ungrouped | Culprit::KernelThreads | Culprit::Interrupts => true,
        _ => false,
    }
}

fn name(part: &Part) -> String {
    part.group.clone().unwrap_or_else(|| part.culprit.words().to_owned())
}
