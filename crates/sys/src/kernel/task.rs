//! Parsers of /proc/PID/task/TID for one thread, for use many times a second (proc_pid_stat(5),
//! Documentation/scheduler/sched-stats.rst). They do not allocate.

use crate::kernel::counters::number;

/// The fields of `stat` needed by samplers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat<'t> {
    /// The command name, without its parentheses. It may contain blanks and parentheses itself.
    pub name: &'t [u8],
    /// The state letter: `R`, `S`, `D`, `T`, `Z` and others.
    pub state: u8,
    /// The parent of the process.
    pub parent: u32,
    /// Page faults without disk I/O.
    pub minor_faults: u64,
    /// Page faults with disk I/O.
    pub major_faults: u64,
    /// Threads of the process.
    pub threads: u64,
    /// Start time in clock ticks after boot: together with the id it identifies a thread uniquely.
    pub started: u64,
    /// The CPU on which it last ran.
    pub cpu: u16,
}

/// Fields of `stat` by the numbers of the manual page; the state is field 3 and the first after the
/// name.
const STATE: usize = 3;
const PARENT: usize = 4;
const MINOR_FAULTS: usize = 10;
const MAJOR_FAULTS: usize = 12;
const THREADS: usize = 20;
const STARTED: usize = 22;
const CPU: usize = 39;

const NEEDED: [usize; 6] = [PARENT, MINOR_FAULTS, MAJOR_FAULTS, THREADS, STARTED, CPU];

/// Parses a `stat` file; `None` if it is truncated or malformed.
#[must_use]
pub fn stat(text: &[u8]) -> Option<Stat<'_>> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let name = text.get(open + 1..close)?;
    let mut values = [0_u64; CPU + 1];
    let mut state = 0;
    // A closing parenthesis without a following blank means a damaged line.
    let words = text.get(close + 1..)?.strip_prefix(b" ")?.split(|byte| *byte == b' ');
    for (field, word) in (STATE..).zip(words) {
        if field == STATE {
            let [letter @ b'A'..=b'z'] = word else { return None };
            state = *letter;
        } else {
            // Some fields are negative, such as tpgid, but none of those needed.
            values[field] = match number(word) {
                Some(value) => value,
                None if NEEDED.contains(&field) => return None,
                None => 0,
            };
        }
        if field == CPU {
            return Some(Stat {
                name,
                state,
                parent: u32::try_from(values[PARENT]).ok()?,
                minor_faults: values[MINOR_FAULTS],
                major_faults: values[MAJOR_FAULTS],
                threads: values[THREADS],
                started: values[STARTED],
                cpu: u16::try_from(values[CPU]).ok()?,
            });
        }
    }
    None
}

/// The counters in `schedstat` of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SchedStat {
    /// Nanoseconds on a CPU. The time of a running thread since the last tick may be missing.
    pub run_ns: u64,
    /// Nanoseconds for which it was runnable and waited.
    pub wait_ns: u64,
    /// Number of times it was scheduled.
    pub slices: u64,
}

/// Parses a `schedstat` file.
#[must_use]
pub fn schedstat(text: &[u8]) -> Option<SchedStat> {
    let [run_ns, wait_ns, slices] = crate::kernel::counters::fields::<3>(text, "")?;
    Some(SchedStat { run_ns, wait_ns, slices })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str) -> String {
        let mut fields: Vec<String> = (4..=52).map(|field| field.to_string()).collect();
        fields[8 - 4] = "-1".to_owned();
        format!("7 ({name}) R {}\n", fields.join(" "))
    }

    #[test]
    fn a_name_with_blanks_and_parentheses_hides_no_field() {
        let text = line("a) R 1 (b)");
        let stat = stat(text.as_bytes()).unwrap();
        assert_eq!(stat.name, b"a) R 1 (b)");
        assert_eq!((stat.state, stat.parent, stat.threads), (b'R', 4, 20));
        assert_eq!((stat.minor_faults, stat.major_faults), (10, 12));
        assert_eq!((stat.started, stat.cpu), (22, 39));
    }

    #[test]
    fn a_truncated_line_is_rejected() {
        let text = line("x");
        let end = text.find(" 39").unwrap();
        for cut in 0..end {
            assert_eq!(stat(&text.as_bytes()[..cut]), None, "{cut} bytes");
        }
        assert_eq!(stat(b") ("), None);
    }

    #[test]
    fn schedstat_needs_all_three_numbers() {
        let parsed = schedstat(b"119959 2360268 2\n").unwrap();
        assert_eq!((parsed.run_ns, parsed.wait_ns, parsed.slices), (119_959, 2_360_268, 2));
        assert_eq!(schedstat(b"1 2\n"), None);
    }

    #[test]
    fn the_running_kernel_agrees_with_both_parsers() {
        let root = crate::kernel::Root::real();
        let text = root.read("/proc/thread-self/stat").unwrap();
        let parsed = stat(text.as_bytes()).unwrap();
        assert!(parsed.threads >= 1 && parsed.started > 0, "{parsed:?}");
        assert_eq!(parsed.state, b'R');
    }
}
