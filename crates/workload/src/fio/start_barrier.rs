//! How all fio processes start their I/O at once.
//!
//! fio lays out its files, allocates its buffers and forks its jobs before it does any I/O, and
//! that takes from milliseconds to minutes. `exec_prerun` runs after all this and before the
//! job's clock starts (fio 3.33, backend.c, `thread_main`). The command given there reports the
//! job's process id and stops that process with SIGSTOP; when every job of every group has
//! stopped, the engine sends SIGCONT to all of them in one burst.
//!
//! Somebody else may write into the FIFO too. So what says who has come begins with a word or a blank, and
//! is written at once: what stands in front of it on the same line takes nothing from it.

/// Name of the FIFO, in the directory that fio runs in.
pub const GATE_FILE: &str = "gate";

/// The value of `exec_prerun`. fio hands it to `sh -c`, whose parent is the job's process, with
/// a redirection appended; a `;` would begin a comment in a job file, hence `&&`.
#[must_use]
pub fn gate_line(gate: &str) -> String {
    format!("echo at $PPID >>{gate} && kill -STOP $PPID")
}

/// The process id in one line that came through the gate: its last word.
#[must_use]
pub fn parse_gate_line(line: &str) -> Option<u32> {
    line.split_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_has_written_in_front_takes_nothing_from_who_has_come() {
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
            assert_eq!(parse_gate_line(line), id, "{line}");
        }
    }
}
