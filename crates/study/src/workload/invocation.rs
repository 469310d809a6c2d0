//! A workload as a command line: program, arguments, and how it waits at the start barrier.

use assay_sys::escape::shell_words;

use crate::workload::kind::WaitMethod;
use crate::workload::metric::{Metric, find};
use crate::workload::output::{CapturedOutput, Output};
use crate::workload::placeholders::{Placeholders, has_placeholder};
use crate::workload::registry::kind;

/// A program with its arguments, complete except for [`Placeholders`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The kind's name, or `command`.
    pub tool: String,
    /// The program, as a path or a name to find in PATH.
    pub program: String,
    /// Its arguments.
    pub words: Vec<String>,
    /// Where the metrics are in the output of a `command`.
    pub metrics: Vec<Metric>,
    /// How it waits at the start barrier.
    pub wait: WaitMethod,
    /// Whether it reports its results so far and ends on SIGINT.
    pub reports_on_sigint: bool,
}

/// Shell script that waits for a program without support for the start barrier: it reports its
/// process id, stops, and executes the program when it is resumed. The process keeps its id. The
/// word before the id protects it from text that another process wrote (see [`crate::workload::fio`]).
const WAIT: &str = "echo at $$ >>\"$0\" && kill -STOP $$ && exec \"$@\"";

impl Invocation {
    /// Program and arguments. With `barrier`, the path of a FIFO, the process waits there.
    #[must_use]
    pub fn command(
        &self,
        placeholders: &Placeholders,
        barrier: Option<&str>,
    ) -> (String, Vec<String>) {
        let mut words: Vec<String> =
            self.words.iter().map(|word| placeholders.fill(word)).collect();
        let program = placeholders.fill(&self.program);
        match (barrier, self.wait) {
            (None, _) => (program, words),
            (Some(fifo), WaitMethod::Native) => {
                words.extend(["--start-barrier".to_owned(), fifo.to_owned()]);
                (program, words)
            }
            (Some(fifo), WaitMethod::Shell) => {
                let mut all = ["-c", WAIT, fifo].map(str::to_owned).to_vec();
                all.push(program);
                all.append(&mut words);
                ("sh".to_owned(), all)
            }
        }
    }

    /// Whether its command line contains this placeholder.
    #[must_use]
    pub fn uses_placeholder(&self, name: &str) -> bool {
        self.words.iter().chain([&self.program]).any(|word| has_placeholder(word, name))
    }

    /// Whether its command line names the place of its data on a disk.
    #[must_use]
    pub fn uses_a_disk(&self) -> bool {
        self.uses_placeholder("directory") || self.uses_placeholder("device")
    }

    /// Parses metrics from its output.
    pub fn parse_output(&self, captured: &CapturedOutput<'_>) -> Result<Output, String> {
        let output = match kind(&self.tool) {
            Some(kind) => (kind.read)(captured)?,
            None => find(&self.metrics, captured),
        };
        output.limited()
    }

    /// The command line as displayed to users.
    #[must_use]
    pub fn display(&self) -> String {
        let name = self.program.rsplit('/').next().unwrap_or(&self.program);
        shell_words(std::iter::once(name).chain(self.words.iter().map(String::as_str)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invocation(wait: WaitMethod) -> Invocation {
        Invocation {
            tool: "command".to_owned(),
            program: "prog".to_owned(),
            words: vec!["--in".to_owned(), "{directory}/a b".to_owned()],
            metrics: vec![],
            wait,
            reports_on_sigint: true,
        }
    }

    fn placeholders() -> Placeholders {
        Placeholders { directory: Some("/mnt".to_owned()), ..Placeholders::default() }
    }

    #[test]
    fn a_shell_waits_for_a_program_without_barrier_support_and_passes_its_arguments() {
        let (program, words) =
            invocation(WaitMethod::Shell).command(&placeholders(), Some("../barrier"));
        assert_eq!(program, "sh");
        assert_eq!(words[2..], ["../barrier", "prog", "--in", "/mnt/a b"]);
    }

    #[test]
    fn a_generator_that_reports_too_much_is_an_error() {
        let generator = Invocation { tool: "spin".to_owned(), ..invocation(WaitMethod::Native) };
        let parse = |findings: usize| {
            let findings = vec!["\"x\""; findings].join(",");
            let stdout = format!("{{\"metrics\": {{\"a\": 1}}, \"findings\": [{findings}]}}");
            generator.parse_output(&CapturedOutput { stdout: &stdout, stderr: "" })
        };
        assert_eq!(parse(10).unwrap().findings.len(), 10);
        assert!(parse(1 << 15).unwrap_err().contains("the limits are"));
    }

    #[test]
    fn a_generator_gets_the_barrier_as_an_option() {
        let (program, words) =
            invocation(WaitMethod::Native).command(&placeholders(), Some("../barrier"));
        assert_eq!(program, "prog");
        assert_eq!(words, ["--in", "/mnt/a b", "--start-barrier", "../barrier"]);
    }

    #[test]
    fn without_a_barrier_it_starts_at_once() {
        let (program, words) = invocation(WaitMethod::Shell).command(&placeholders(), None);
        assert_eq!((program.as_str(), words.len()), ("prog", 2));
        assert_eq!(invocation(WaitMethod::Shell).display(), "prog --in '{directory}/a b'");
    }
}
