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

use super::job::Job;

/// Name of the FIFO in the directory in which fio runs.
pub const BARRIER_FILE: &str = "barrier";

/// Lets each process of a job wait at the barrier, after its own `exec_prerun`. fio passes that to `sh -c`, whose parent is
/// the job's process, with a redirection appended; a `;` would begin a comment in a job file, hence `&&`. The threads of
/// a job have one process, which the first of them would stop for all: their shells stop instead.
pub fn wait_at(job: &mut Job, fifo: &str) {
    let threads = job.option("thread").is_some_and(|value| value != "0");
    let id = if threads { "$$" } else { "$PPID" };
    let own = job.option("exec_prerun").map(|own| format!("({own}) && ")).unwrap_or_default();
    job.set("exec_prerun", format!("{own}echo at {id} >>{fifo} && kill -STOP {id}"));
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
    fn each_thread_waits_in_a_shell_of_its_own_after_the_program_of_the_user() {
        let command = |options: &[(&str, &str)]| {
            let owned =
                |(name, value): &(&str, &str)| ((*name).to_owned(), Some((*value).to_owned()));
            let mut job =
                Job { name: "a".to_owned(), options: options.iter().map(owned).collect() };
            wait_at(&mut job, "b");
            job.option("exec_prerun").unwrap().to_owned()
        };
        assert_eq!(command(&[("thread", "0")]), "echo at $PPID >>b && kill -STOP $PPID");
        let both = command(&[("thread", "1"), ("exec_prerun", "sync || true")]);
        assert_eq!(both, "(sync || true) && echo at $$ >>b && kill -STOP $$");
    }

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
