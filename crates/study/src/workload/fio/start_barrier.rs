//! The start barrier of fio: makes all fio processes start their I/O at once.
//!
//! fio lays out its files, allocates its buffers and forks its jobs before it does any I/O, which
//! takes from milliseconds to minutes. `exec_prerun` runs after all this and before the job's clock
//! starts (fio 3.33, backend.c, `thread_main`). Its command reports the job's process id and stops
//! that process with SIGSTOP; when every job of every group has stopped, the runner sends SIGCONT
//! to all of them in one burst.
//!
//! Other processes may write into the FIFO too. Each report therefore begins with a word or a blank
//! and is written at once: text before it on the same line does not corrupt it.

/// Name of the FIFO in the directory in which fio runs.
pub const BARRIER_FILE: &str = "barrier";

/// The value of `exec_prerun`. fio passes it to `sh -c`, whose parent is the job's process, with a
/// redirection appended; a `;` would begin a comment in a job file, hence `&&`.
#[must_use]
pub fn barrier_command(fifo: &str) -> String {
    format!("echo at $PPID >>{fifo} && kill -STOP $PPID")
}

/// The process id in one line of the FIFO: its last word.
#[must_use]
pub fn parse_barrier_line(line: &str) -> Option<u32> {
    line.split_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_before_a_report_does_not_corrupt_it() {
        for (line, id) in [
            ("at 123", Some(123)),
            (" 123", Some(123)),
            ("123", Some(123)),
            ("xxxat 123", Some(123)),
            ("9 at at 123", Some(123)),
            ("9 123", Some(123)),
            ("", None),
            ("xx", None),
            ("at", None),
            ("at 123x", None),
        ] {
            assert_eq!(parse_barrier_line(line), id, "{line}");
        }
    }
}
