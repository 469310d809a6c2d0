//! A workload as a command line: what is started, with which words, and who waits at the gate.

use assay_escape::shell_words;

use crate::kind::Gate;
use crate::metric::{Metric, find};
use crate::output::{CapturedOutput, Output};
use crate::placeholders::{Placeholders, names_given};
use crate::registry::kind;

/// A program with its words, complete but for what only the run knows ([`Placeholders`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The kind's name, or `command`.
    pub tool: String,
    /// The program, by its path or looked for in PATH.
    pub program: String,
    /// The words behind it.
    pub words: Vec<String>,
    /// Where numbers stand in the output of a `command`.
    pub metrics: Vec<Metric>,
    /// How it waits.
    pub gate: Gate,
    /// Whether SIGINT makes it end with the figures so far.
    pub ends_with_figures: bool,
}

/// What the shell does in the place of a program that knows no gate: it says who it is, stops, and
/// becomes the program when it is let go. The process keeps its id. The word in front of it is for what
/// somebody else has written before (see [`crate::fio`]).
const WAIT: &str = "echo at $$ >>\"$0\" && kill -STOP $$ && exec \"$@\"";

impl Invocation {
    /// Program and words as they are started. With `gate`, the path of a FIFO, it waits there.
    #[must_use]
    pub fn command(&self, given: &Placeholders, gate: Option<&str>) -> (String, Vec<String>) {
        let mut words: Vec<String> = self.words.iter().map(|word| given.fill(word)).collect();
        let program = given.fill(&self.program);
        match (gate, self.gate) {
            (None, _) => (program, words),
            (Some(fifo), Gate::Own) => {
                words.extend(["--gate".to_owned(), fifo.to_owned()]);
                (program, words)
            }
            (Some(fifo), Gate::Shell) => {
                let mut all = ["-c", WAIT, fifo].map(str::to_owned).to_vec();
                all.push(program);
                all.append(&mut words);
                ("sh".to_owned(), all)
            }
        }
    }

    /// Whether its command line names this thing that the run gives.
    #[must_use]
    pub fn names(&self, given: &str) -> bool {
        self.words.iter().chain([&self.program]).any(|word| names_given(word, given))
    }

    /// What it said, as numbers.
    pub fn read(&self, said: &CapturedOutput<'_>) -> Result<Output, String> {
        match kind(&self.tool) {
            Some(kind) => (kind.read)(said),
            None => Ok(find(&self.metrics, said)),
        }
    }

    /// The command line for people.
    #[must_use]
    pub fn shown(&self) -> String {
        let name = self.program.rsplit('/').next().unwrap_or(&self.program);
        shell_words(std::iter::once(name).chain(self.words.iter().map(String::as_str)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(gate: Gate) -> Invocation {
        Invocation {
            tool: "command".to_owned(),
            program: "prog".to_owned(),
            words: vec!["--in".to_owned(), "{directory}/a b".to_owned()],
            metrics: vec![],
            gate,
            ends_with_figures: true,
        }
    }

    fn given() -> Placeholders {
        Placeholders { directory: Some("/mnt".to_owned()), ..Placeholders::default() }
    }

    #[test]
    fn a_shell_waits_for_a_program_without_a_gate_and_hands_its_words_on_as_they_are() {
        let (program, words) = call(Gate::Shell).command(&given(), Some("../gate"));
        assert_eq!(program, "sh");
        assert_eq!(words[2..], ["../gate", "prog", "--in", "/mnt/a b"]);
    }

    #[test]
    fn a_generator_is_told_of_the_gate() {
        let (program, words) = call(Gate::Own).command(&given(), Some("../gate"));
        assert_eq!(program, "prog");
        assert_eq!(words, ["--in", "/mnt/a b", "--gate", "../gate"]);
    }

    #[test]
    fn without_a_gate_it_begins_at_once() {
        let (program, words) = call(Gate::Shell).command(&given(), None);
        assert_eq!((program.as_str(), words.len()), ("prog", 2));
        assert_eq!(call(Gate::Shell).shown(), "prog --in '{directory}/a b'");
    }
}
