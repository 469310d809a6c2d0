//! What a kind of workload is: how it is told what to do, where it waits for the common start, how
//! it is ended, and how what it says becomes numbers.

use crate::arguments::Argument;
use crate::options::{OptionLine, option};
use crate::output::{CapturedOutput, Output};

/// One entry of the registry. All of it is data, so that whoever checks a study file, plans it or
/// starts it asks the same entry.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// What stands behind `use` in a study file.
    pub name: &'static str,
    /// One line for lists.
    pub about: &'static str,
    /// Its section below docs/: `page.md#name`.
    pub page: &'static str,
    /// What is started.
    pub program: Program,
    /// Further programs that it starts itself, each with the Debian package that brings it.
    pub needs: &'static [(&'static str, &'static str)],
    /// Keys of `args` that are not options of the same name.
    pub keys: &'static [Key],
    /// What it knows as options, a line each (`options.rs` has the form). Lines of others may stand
    /// there too.
    pub options: &'static str,
    /// What becomes of a key that is neither: `-p` makes `-p name=value`. Without it such a key is
    /// a mistake.
    pub others: Option<&'static str>,
    /// Names behind `others` that are known, for "did you mean".
    pub known_others: &'static str,
    /// Options that are not for the study to give, with what to do instead.
    pub owned: &'static [(&'static str, &'static str)],
    /// The option for the seconds that it runs. Where the study gives none, it runs until it is
    /// stopped at the end of the window.
    pub seconds: Option<&'static str>,
    /// Options that say the same in another way, so that [`Kind::seconds`] is not given with them.
    pub instead_of_seconds: &'static [&'static str],
    /// How it waits for the common start.
    pub gate: Gate,
    /// Whether SIGINT makes it end with the figures so far. One that does not has figures only
    /// when it has done all its work.
    pub ends_with_figures: bool,
    /// Threads that want a CPU at once.
    pub threads: Threads,
    /// Whether it reads and writes files.
    pub does_io: bool,
    /// The numbers that matter most, in order, for tables with little room; all where it is empty.
    pub headline: &'static [&'static str],
    /// What it says, as numbers.
    pub read: fn(&CapturedOutput<'_>) -> Result<Output, String>,
}

/// What is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// The generator of this kind's name in `assay-load`.
    Load,
    /// A program of the host.
    Host {
        /// Its name.
        name: &'static str,
        /// The Debian package that brings it.
        package: &'static str,
    },
}

/// How a workload waits until all are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// It knows `--gate FIFO` itself: files and memory are ready when it waits.
    Own,
    /// A shell waits in its place and becomes the program afterwards, so that nothing of the
    /// program has run before.
    Shell,
}

/// Threads that want a CPU at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// So many, always.
    Always(u32),
    /// As many as this option says; not known where it is not given.
    Option(&'static str),
    /// As many as this option says, and so many where it is not given.
    OptionOr(&'static str, u32),
    /// Its options do not tell.
    Unknown,
}

/// A key of `args` that is not simply an option of the same name.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// What it is, for messages and lists.
    pub about: &'static str,
    /// What it becomes.
    pub becomes: Becomes,
    /// Whether the study must give it.
    pub needed: bool,
    /// Its value where the study gives none.
    pub otherwise: Option<&'static str>,
    /// The words it may be; any text where there are none.
    pub words: &'static [&'static str],
    /// Another key and the value of it with which this one has no meaning.
    pub unless: Option<(&'static str, &'static str)>,
}

/// What a key becomes on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Becomes {
    /// A word without a name, in the order of the keys, before all options.
    Word,
    /// The value behind this option.
    Option(&'static str),
    /// `name=value` behind [`Kind::others`].
    Other,
    /// For each word that it may be, several `name=value` behind [`Kind::others`].
    Others(&'static [(&'static str, &'static [&'static str])]),
}

impl Key {
    /// A word that must be given.
    #[must_use]
    pub const fn word(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            becomes: Becomes::Word,
            needed: true,
            otherwise: None,
            words: &[],
            unless: None,
        }
    }
}

/// What a key of `args` means to a kind.
#[derive(Debug, Clone, Copy)]
pub enum Meaning {
    /// One of its own keys.
    Key(&'static Key),
    /// An option that stands alone: `true` or `false`.
    Flag,
    /// An option with a value.
    Value,
    /// Handed on as `name=value`.
    Other,
    /// Set by the run itself: what to do instead.
    Owned(&'static str),
    /// None of these.
    Unknown,
}

impl Kind {
    /// What this key of `args` means.
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
            None if self.others.is_some() => Meaning::Other,
            None => Meaning::Unknown,
        }
    }

    /// Every name that `args` may have, as far as they are known.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let keys = self.keys.iter().map(|key| key.name);
        let options = crate::options::options(self.options, self.name).map(|line| line.name);
        let others = self.known_others.split_whitespace();
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

    /// Whether it goes on until it is stopped, being given these arguments.
    #[must_use]
    pub fn runs_until_stopped(&self, arguments: &[Argument]) -> bool {
        let given = |name: &str| arguments.iter().any(|argument| argument.name == name);
        let has_end = self.instead_of_seconds.iter().any(|name| given(name));
        self.seconds.is_some_and(|seconds| !given(seconds) && !has_end)
    }

    /// Threads that want a CPU at once, being given these arguments.
    #[must_use]
    pub fn threads(&self, arguments: &[Argument]) -> Option<u32> {
        match self.threads {
            Threads::Always(threads) => Some(threads),
            Threads::Unknown => None,
            Threads::Option(name) => given(arguments, name)?.parse().ok(),
            Threads::OptionOr(name, otherwise) => match given(arguments, name) {
                Some(threads) => threads.parse().ok(),
                None => Some(otherwise),
            },
        }
    }
}

/// The first value of this argument.
fn given<'a>(arguments: &'a [Argument], name: &str) -> Option<&'a str> {
    arguments.iter().find(|argument| argument.name == name)?.first()
}

#[cfg(test)]
mod tests {
    use crate::arguments::{Argument, Value};
    use crate::registry::kind;

    #[test]
    fn a_kind_with_a_default_number_of_threads_has_that_unless_another_is_given() {
        let pages = kind("pages").unwrap();
        let asked = |threads: i64| Argument {
            name: "threads".to_owned(),
            values: vec![Value::Text(threads.to_string())],
        };
        assert_eq!(pages.threads(&[]), Some(1));
        assert_eq!(pages.threads(&[asked(4)]), Some(4));
        assert_eq!(kind("chase").unwrap().threads(&[asked(4)]), Some(1));
        assert_eq!(kind("spin").unwrap().threads(&[]), None);
    }
}
