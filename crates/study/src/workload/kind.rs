//! Kinds of workloads: their command line, how they wait at the start barrier, how they end, and
//! how their output is parsed.

use crate::workload::options::{OptionLine, option};
use crate::workload::output::{CapturedOutput, Output};

/// One entry of the registry. It is plain data, so that checker, plan and runner use the same
/// entry.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The value of `use` in a study file.
    pub name: &'static str,
    /// One line for lists.
    pub about: &'static str,
    /// Its section in docs/: `page.md#name`.
    pub page: &'static str,
    /// The program.
    pub program: Program,
    /// Further programs that it starts itself, each with its Debian package.
    pub needs: &'static [(&'static str, &'static str)],
    /// Keys of `args` that are not options of the same name.
    pub keys: &'static [Key],
    /// Its options, one per line (see `options.rs` for the format). The list may contain lines of
    /// other kinds.
    pub options: &'static str,
    /// The option that passes keys which are neither: `-p` makes `-p name=value`. Without it such a
    /// key is a mistake.
    pub property_option: Option<&'static str>,
    /// Known names for `property_option`, for "did you mean".
    pub known_properties: &'static str,
    /// Options that a study must not set, with what to do instead.
    pub owned: &'static [(&'static str, &'static str)],
    /// The option for its running time in seconds. If the study does not set it, the program runs
    /// until it is stopped at the end of the window.
    pub seconds: Option<&'static str>,
    /// Options that limit the running time in another way; [`Kind::seconds`] is not added to them.
    pub instead_of_seconds: &'static [&'static str],
    /// How it waits at the start barrier.
    pub wait: WaitMethod,
    /// Whether it reports its results so far and ends on SIGINT. A program that does not has
    /// results only when all its work is done.
    pub reports_on_sigint: bool,
    /// The number of threads that need a CPU at once.
    pub threads: Threads,
    /// Whether it reads and writes files.
    pub does_io: bool,
    /// The most important metrics, in order, for narrow tables; all if empty.
    pub headline: &'static [&'static str],
    /// Parses its output.
    pub read: fn(&CapturedOutput<'_>) -> Result<Output, String>,
}

/// The program of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// The generator of the same name in `assay-load`.
    Load,
    /// A program of the host.
    Host {
        /// Its name.
        name: &'static str,
        /// Its Debian package.
        package: &'static str,
    },
}

/// How a workload waits at the start barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitMethod {
    /// It supports `--start-barrier FIFO`: files and memory are ready when it waits.
    Native,
    /// A shell waits in its place and then executes the program, so that nothing of the program has
    /// run before.
    Shell,
}

/// The number of threads that need a CPU at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// Always this many.
    Always(u32),
    /// The value of this option; unknown if it is not set.
    Option(&'static str),
    /// The value of this option, or the number if it is not set.
    OptionOr(&'static str, u32),
    /// Not known from its options.
    Unknown,
}

/// A key of `args` that is not simply an option of the same name.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// Its meaning, for messages and lists.
    pub about: &'static str,
    /// How it is passed on the command line.
    pub rendering: Rendering,
    /// Whether the study must set it.
    pub required: bool,
    /// Its default value.
    pub default: Option<&'static str>,
    /// The accepted words; any text if empty.
    pub words: &'static [&'static str],
    /// Another key, and its value that makes this key meaningless.
    pub unless: Option<(&'static str, &'static str)>,
}

/// How a key is passed on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rendering {
    /// As a positional argument, in the order of the keys, before all options.
    Positional,
    /// As the value of this option.
    Option(&'static str),
    /// As `name=value` after [`Kind::property_option`].
    Property,
    /// As several `name=value` for each accepted word, each after [`Kind::property_option`].
    Properties(&'static [(&'static str, &'static [&'static str])]),
}

impl Key {
    /// A key that need not be set and has no default.
    pub(crate) const fn optional(
        name: &'static str,
        about: &'static str,
        rendering: Rendering,
    ) -> Self {
        let (required, default, words, unless) = (false, None, &[] as &[&str], None);
        Self { name, about, rendering, required, default, words, unless }
    }

    /// The directory of the run, unless the study names another one.
    pub(crate) const fn directory(
        name: &'static str,
        about: &'static str,
        rendering: Rendering,
    ) -> Self {
        Self { default: Some("{directory}"), ..Self::optional(name, about, rendering) }
    }

    /// A positional argument that must be set.
    pub(crate) const fn word(name: &'static str, about: &'static str) -> Self {
        Self { required: true, ..Self::optional(name, about, Rendering::Positional) }
    }
}

/// The meaning of a key of `args` for a kind.
#[derive(Debug, Clone, Copy)]
pub enum Meaning {
    /// One of its special keys.
    Key(&'static Key),
    /// An option without a value: `true` or `false`.
    Flag,
    /// An option with a value.
    Value,
    /// Passed as `name=value`.
    Property,
    /// Set by the run itself; the text says what to do instead.
    Owned(&'static str),
    /// None of these.
    Unknown,
}

impl Kind {
    /// The meaning of this key of `args`.
    #[must_use]
    pub fn meaning(&self, name: &str) -> Meaning {
        if let Some((_, instead)) = self.owned.iter().find(|(owned, _)| *owned == name) {
            return Meaning::Owned(instead);
        }
        if let Some(key) = self.keys.iter().find(|key| key.name == name) {
            return Meaning::Key(key);
        }
        match self.option(name) {
            Some(OptionLine { takes_value: true, .. }) => Meaning::Value,
            Some(_) => Meaning::Flag,
            None if self.property_option.is_some() => Meaning::Property,
            None => Meaning::Unknown,
        }
    }

    /// All known names in `args`.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let keys = self.keys.iter().map(|key| key.name);
        let options =
            crate::workload::options::options(self.options, self.name).map(|line| line.name);
        let others = self.known_properties.split_whitespace();
        let owned = |name: &&str| self.owned.iter().any(|(owned, _)| owned == name);
        let mut names: Vec<&str> =
            keys.chain(options).chain(others).filter(|name| !owned(name)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    pub(crate) fn option(&self, name: &str) -> Option<OptionLine> {
        option(self.options, self.name, name)
    }
}
