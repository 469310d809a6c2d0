//! Turns `args` of a study into command-line arguments.

use crate::workload::kind::{Key, Kind, Meaning, Rendering, Threads};
use crate::workload::options::with_dashes;

/// One entry of `args` with its templates resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// The key.
    pub name: String,
    /// Its value, or several for an option that may be repeated.
    pub values: Vec<Value>,
}

/// A value of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `true` or `false`: whether an option without a value is present.
    Flag(bool),
    /// Anything else, as written.
    Text(String),
}

impl Argument {
    /// The first value as text.
    #[must_use]
    pub fn first(&self) -> Option<&str> {
        self.values.iter().find_map(|value| match value {
            Value::Text(text) => Some(text.as_str()),
            Value::Flag(_) => None,
        })
    }
}

impl Value {
    fn text(&self) -> String {
        match self {
            Self::Flag(flag) => flag.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl Kind {
    /// Whether it runs until it is stopped, with these arguments.
    #[must_use]
    pub fn runs_until_stopped(&self, arguments: &[Argument]) -> bool {
        let is_set = |name: &str| arguments.iter().any(|argument| argument.name == name);
        let has_end = self.instead_of_seconds.iter().any(|name| is_set(name));
        self.seconds.is_some_and(|seconds| !is_set(seconds) && !has_end)
    }

    /// The number of threads that need a CPU at once, with these arguments.
    #[must_use]
    pub fn threads(&self, arguments: &[Argument]) -> Option<u32> {
        match self.threads {
            Threads::Always(threads) => Some(threads),
            Threads::Unknown => None,
            Threads::Option(name) => first_value(arguments, name)?.parse().ok(),
            Threads::OptionOr(name, default) => match first_value(arguments, name) {
                Some(threads) => threads.parse().ok(),
                None => Some(default),
            },
        }
    }

    /// The arguments after the program's name. `run_s` is the time in seconds given to a program
    /// without an end; it is stopped earlier.
    #[must_use]
    pub fn words(&self, arguments: &[Argument], run_s: Option<u64>) -> Vec<String> {
        let find = |key: &Key| arguments.iter().find(|argument| argument.name == key.name);
        let mut words = Vec::new();
        for key in self.keys.iter().filter(|key| key.rendering == Rendering::Positional) {
            let value = find(key).and_then(|argument| argument.values.first()).map(Value::text);
            words.extend(value.or_else(|| key.default.map(str::to_owned)));
        }
        for argument in arguments {
            for value in &argument.values {
                self.spell(&argument.name, value, &mut words);
            }
        }
        for key in self.keys.iter().filter(|key| key.rendering != Rendering::Positional) {
            if let (None, Some(otherwise), false) =
                (find(key), key.default, is_without_meaning(key, arguments))
            {
                self.spell(key.name, &Value::Text(otherwise.to_owned()), &mut words);
            }
        }
        if let (Some(option), Some(seconds), true) =
            (self.seconds, run_s, self.runs_until_stopped(arguments))
        {
            words.extend([with_dashes(option), seconds.to_string()]);
        }
        words
    }

    fn spell(&self, name: &str, value: &Value, words: &mut Vec<String>) {
        let other = |words: &mut Vec<String>| {
            words.extend(self.property_option.map(str::to_owned));
            words.push(format!("{name}={}", value.text()));
        };
        match self.meaning(name) {
            Meaning::Key(Key { rendering: Rendering::Positional, .. }) => {}
            Meaning::Key(Key { rendering: Rendering::Option(option), .. }) => {
                words.extend([(*option).to_owned(), value.text()]);
            }
            Meaning::Key(Key { rendering: Rendering::Property, .. }) | Meaning::Property => {
                other(words);
            }
            Meaning::Key(Key { rendering: Rendering::Properties(meant), .. }) => {
                let text = value.text();
                let pairs = meant.iter().find(|(word, _)| *word == text);
                for pair in pairs.map_or(&[][..], |(_, pairs)| pairs) {
                    words.extend(self.property_option.map(str::to_owned));
                    words.push((*pair).to_owned());
                }
            }
            Meaning::Flag if *value == Value::Flag(false) => {}
            Meaning::Flag => words.push(with_dashes(name)),
            // An unknown option was reported as a mistake in the study; the tool reports it too.
            Meaning::Value | Meaning::Owned(_) | Meaning::Unknown => {
                words.extend([with_dashes(name), value.text()]);
            }
        }
    }
}

/// Whether another key makes this one meaningless.
fn is_without_meaning(key: &Key, arguments: &[Argument]) -> bool {
    key.unless.is_some_and(|(other, value)| {
        let argument = arguments.iter().find(|one| one.name == other);
        argument.and_then(Argument::first) == Some(value)
    })
}

/// The first value of this argument.
fn first_value<'a>(arguments: &'a [Argument], name: &str) -> Option<&'a str> {
    arguments.iter().find(|argument| argument.name == name)?.first()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::registry::kind;

    fn words(name: &str, arguments: &[(&str, &str)], run_s: Option<u64>) -> Vec<String> {
        let arguments: Vec<Argument> = arguments
            .iter()
            .map(|(name, value)| Argument {
                name: (*name).to_owned(),
                values: vec![match *value {
                    "true" => Value::Flag(true),
                    "false" => Value::Flag(false),
                    text => Value::Text(text.to_owned()),
                }],
            })
            .collect();
        kind(name).unwrap().words(&arguments, run_s)
    }

    #[test]
    fn options_keep_their_names_and_flags_have_no_value() {
        let arguments = words("graph500", &[("scale", "16"), ("sssp", "true")], None);
        assert_eq!(arguments, ["--scale", "16", "--sssp"]);
        assert_eq!(words("graph500", &[("sssp", "false")], None), [""; 0]);
    }

    #[test]
    fn positional_arguments_come_first_and_defaults_are_filled_in() {
        let arguments = words("ycsb", &[("recordcount", "1000"), ("phase", "load")], None);
        assert_eq!(
            arguments,
            ["load", "rocksdb", "-p", "recordcount=1000", "-p", "rocksdb.dir={directory}"]
        );
        let basic = words("ycsb", &[("phase", "run"), ("binding", "basic")], None);
        assert_eq!(basic, ["run", "basic"], "nothing is stored, so no directory is needed");
    }

    #[test]
    fn a_word_may_expand_to_several_properties() {
        let arguments = words("ycsb", &[("phase", "run"), ("operations", "update")], None);
        let text = arguments.join(" ");
        assert!(text.contains("-p readproportion=0 -p updateproportion=1"), "{text}");
    }

    #[test]
    fn a_program_without_an_end_gets_a_time_beyond_the_window() {
        assert_eq!(words("spin", &[], Some(90)), ["--time", "90"]);
        assert_eq!(words("spin", &[("time", "3")], Some(90)), ["--time", "3"]);
        assert_eq!(words("graph500", &[], Some(90)), [""; 0], "it has a fixed amount of work");
    }

    #[test]
    fn an_option_may_be_repeated() {
        let text = |text: &str| Value::Text(text.to_owned());
        let order =
            Argument { name: "order".to_owned(), values: vec![text("sequential"), text("random")] };
        let arguments = kind("chase").unwrap().words(&[order], None);
        assert_eq!(arguments, ["--order", "sequential", "--order", "random"]);
    }
}
