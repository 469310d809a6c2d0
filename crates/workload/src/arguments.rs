//! From `args` of a study to the words of a command line.

use crate::kind::{Becomes, Key, Kind, Meaning};
use crate::options::spelt;

/// One entry of `args`, its templates resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// The key.
    pub name: String,
    /// Its value, or several for an option that may be repeated.
    pub values: Vec<Value>,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `true` or `false`: an option that stands alone is there, or is not.
    Flag(bool),
    /// Anything else, as it is written.
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
    /// The words behind the program's name. `run_s` are the seconds that one without an end of its
    /// own is told to run; it is stopped before.
    #[must_use]
    pub fn words(&self, arguments: &[Argument], run_s: Option<u64>) -> Vec<String> {
        let given = |key: &Key| arguments.iter().find(|argument| argument.name == key.name);
        let mut words = Vec::new();
        for key in self.keys.iter().filter(|key| key.becomes == Becomes::Word) {
            let value = given(key).and_then(|argument| argument.values.first()).map(Value::text);
            words.extend(value.or_else(|| key.otherwise.map(str::to_owned)));
        }
        for argument in arguments {
            for value in &argument.values {
                self.spell(&argument.name, value, &mut words);
            }
        }
        for key in self.keys.iter().filter(|key| key.becomes != Becomes::Word) {
            if let (None, Some(otherwise), false) =
                (given(key), key.otherwise, is_without_meaning(key, arguments))
            {
                self.spell(key.name, &Value::Text(otherwise.to_owned()), &mut words);
            }
        }
        if let (Some(option), Some(seconds), true) =
            (self.seconds, run_s, self.runs_until_stopped(arguments))
        {
            words.extend([spelt(option), seconds.to_string()]);
        }
        words
    }

    fn spell(&self, name: &str, value: &Value, words: &mut Vec<String>) {
        let other = |words: &mut Vec<String>| {
            words.extend(self.others.map(str::to_owned));
            words.push(format!("{name}={}", value.text()));
        };
        match self.meaning(name) {
            Meaning::Key(Key { becomes: Becomes::Word, .. }) => {}
            Meaning::Key(Key { becomes: Becomes::Option(option), .. }) => {
                words.extend([(*option).to_owned(), value.text()]);
            }
            Meaning::Key(Key { becomes: Becomes::Other, .. }) | Meaning::Other => other(words),
            Meaning::Key(Key { becomes: Becomes::Others(meant), .. }) => {
                let text = value.text();
                let pairs = meant.iter().find(|(word, _)| *word == text);
                for pair in pairs.map_or(&[][..], |(_, pairs)| pairs) {
                    words.extend(self.others.map(str::to_owned));
                    words.push((*pair).to_owned());
                }
            }
            Meaning::Flag if *value == Value::Flag(false) => {}
            Meaning::Flag => words.push(spelt(name)),
            // What is unknown was a mistake of the study; the tool says so once more.
            Meaning::Value | Meaning::Owned(_) | Meaning::Unknown => {
                words.extend([spelt(name), value.text()]);
            }
        }
    }
}

/// Whether another key makes this one pointless.
fn is_without_meaning(key: &Key, arguments: &[Argument]) -> bool {
    key.unless.is_some_and(|(other, value)| {
        let found = arguments.iter().find(|argument| argument.name == other);
        found.and_then(Argument::first) == Some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::kind;

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
    fn options_keep_their_names_and_flags_stand_alone() {
        let told = words("graph500", &[("scale", "16"), ("sssp", "true")], None);
        assert_eq!(told, ["--scale", "16", "--sssp"]);
        assert_eq!(words("graph500", &[("sssp", "false")], None), [""; 0]);
    }

    #[test]
    fn words_without_a_name_come_first_and_defaults_are_filled_in() {
        let told = words("ycsb", &[("recordcount", "1000"), ("phase", "load")], None);
        assert_eq!(
            told,
            ["load", "rocksdb", "-p", "recordcount=1000", "-p", "rocksdb.dir={directory}"]
        );
        let nowhere = words("ycsb", &[("phase", "run"), ("binding", "basic")], None);
        assert_eq!(nowhere, ["run", "basic"], "nothing is stored, so no directory is needed");
    }

    #[test]
    fn a_word_may_stand_for_several_properties() {
        let told = words("ycsb", &[("phase", "run"), ("operations", "update")], None);
        let text = told.join(" ");
        assert!(text.contains("-p readproportion=0 -p updateproportion=1"), "{text}");
    }

    #[test]
    fn without_an_end_of_its_own_it_is_told_to_outlast_the_window() {
        assert_eq!(words("spin", &[], Some(90)), ["--time", "90"]);
        assert_eq!(words("spin", &[("time", "3")], Some(90)), ["--time", "3"]);
        assert_eq!(words("graph500", &[], Some(90)), [""; 0], "it has a fixed amount of work");
    }

    #[test]
    fn an_option_may_be_repeated() {
        let text = |text: &str| Value::Text(text.to_owned());
        let order =
            Argument { name: "order".to_owned(), values: vec![text("sequential"), text("random")] };
        let told = kind("chase").unwrap().words(&[order], None);
        assert_eq!(told, ["--order", "sequential", "--order", "random"]);
    }
}
