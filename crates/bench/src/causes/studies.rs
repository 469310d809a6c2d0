//! Studies with and without a cause: a pair for each, which differ in one thing, or the same study with and without
//! busy processes beside it. They take hold on two quiet CPUs and a loop disk.

mod cpu;
mod io;

use super::sign::Sign;
use crate::pairs::Pair;

/// A cause that can be put into a run.
pub(super) struct Injected {
    pub(super) code: &'static str,
    /// What differs in runs with it.
    pub(super) what: &'static str,
    /// Seconds in which a run with it is decided, unless others are requested.
    pub(super) seconds: u64,
    /// Body of the study with and without it.
    study: fn(bool, Pair) -> String,
    /// CPUs of the pair that each have a busy process beside runs with it.
    pub(super) hogs: &'static [usize],
    /// What shows, without the events that the rule uses, that it took hold.
    pub(super) sign: Sign,
}

pub(super) const ALL: [Injected; 8] = [
    Injected {
        code: "C-CPU-QUOTA",
        what: "a quota of 0.2 CPUs",
        seconds: 6,
        study: cpu::quota,
        hogs: &[],
        sign: Sign::Fails("quota"),
    },
    Injected {
        code: "C-CPU-OTHERS",
        what: "two busy processes on the second CPU, where each group has a thread that must stay",
        seconds: 6,
        study: cpu::a_thread_on_each,
        hogs: &[1, 1],
        sign: Sign::Fails("others"),
    },
    Injected {
        code: "C-CPU-IMBALANCE",
        what: "seven threads of the heaviest group on one CPU and one on the other, instead of four on each",
        seconds: 6,
        study: cpu::uneven_threads,
        hogs: &[],
        sign: Sign::Gains("other", 1.15),
    },
    Injected {
        code: "C-CPU",
        what: "two busy processes on each CPU",
        seconds: 6,
        study: io::many_requests,
        hogs: &[0, 0, 1, 1],
        sign: Sign::Fails("cpu"),
    },
    Injected {
        code: "C-DEMAND",
        what: "the heaviest group limits itself",
        seconds: 6,
        study: io::demand,
        hogs: &[],
        sign: Sign::Fails("demand"),
    },
    Injected {
        code: "C-TAG-CAP",
        what: "a pool of 256 instead of 1024",
        seconds: 14,
        study: io::tag_cap,
        hogs: &[],
        sign: Sign::Loses("light", 0.85),
    },
    Injected {
        code: "C-WAKER",
        what: "the lightest reader pauses for 20 ms; without it BFQ takes nothing below 100 ms for a pause",
        seconds: 10,
        study: io::waker,
        hogs: &[],
        sign: Sign::Gains("", 1.3),
    },
    Injected {
        code: "C-DEVICE-QUEUE",
        what: "a scheduler that holds nothing back",
        seconds: 6,
        study: io::device_queue,
        hogs: &[],
        sign: Sign::Gains("task1", 1.5),
    },
];

impl Injected {
    /// The length of its runs.
    pub(super) fn seconds(&self, requested: Option<u64>) -> u64 {
        requested.unwrap_or(self.seconds)
    }
}

/// The study with or without a cause, on a pair of CPUs, with one repeat of this length.
pub(super) fn study(cause: &Injected, with: bool, cpus: Pair, seconds: u64) -> String {
    format!(
        "title = \"{} {}\"\n[design]\nrepeats = 1\nat_most = \"{seconds} s\"\n[sampling]\nevidence = true\n{}",
        if with { "With" } else { "Without" },
        cause.code,
        (cause.study)(with, cpus)
    )
}

/// The knob that gives a group a pair of CPUs.
fn on(cpus: Pair) -> String {
    format!("\"cpuset.cpus\" = \"{},{}\"", cpus[0], cpus[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_studies_have_no_errors_and_the_causes_have_rules() {
        for cause in &ALL {
            assert!(assay_judge::cause_entry(cause.code).is_some(), "{}", cause.code);
            for with in [true, false] {
                let nothing = |_: &str| Err("no files here".to_owned());
                let study = study(cause, with, [2, 3], cause.seconds(None));
                let (_, findings) = assay_study::parse("cause", &study, &nothing);
                let errors: Vec<String> = findings
                    .into_iter()
                    .map(|found| format!("{}: {}", cause.code, found.message))
                    .collect();
                assert_eq!(errors, Vec::<String>::new());
            }
        }
    }

    #[test]
    fn a_requested_length_goes_before_the_usual_one() {
        let text = |requested| study(&ALL[0], true, [0, 1], ALL[0].seconds(requested));
        assert!(text(None).contains("at_most = \"6 s\""));
        assert!(text(Some(30)).contains("at_most = \"30 s\""));
    }

    #[test]
    fn what_is_put_in_makes_the_study_another_or_is_beside_it() {
        for cause in &ALL {
            let [with, without] = [true, false].map(|with| (cause.study)(with, [0, 1]));
            assert_eq!(with == without, !cause.hogs.is_empty(), "{}", cause.code);
        }
    }
}
