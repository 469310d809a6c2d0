//! `assay compare --interleaved`: both sides in one run, interleaved.

use std::path::PathBuf;

use assay_study::Order;
use clap::{Args, Parser};

use super::{How, levels, show, usage};
use crate::args::{Arguments, Command, RunArguments};
use crate::command::run::{execute_study, prepare_study};
use crate::exit::Code;
use crate::output;

/// The study to run and its overrides.
#[derive(Debug, Clone, Args)]
pub(crate) struct InterleavedArguments {
    /// Run this study with two levels of a factor interleaved (A B B A) and compare them; the factor is
    /// the one that `--set` names twice
    #[arg(long = "interleaved", value_name = "STUDY", conflicts_with = "runs")]
    pub(super) study: Option<String>,
    /// With --interleaved: `--set x=1 --set x=2` compares x = 1 with x = 2; other factors as in `assay
    /// run`
    #[arg(long, value_name = "FACTOR=VALUE", requires = "study")]
    set: Vec<String>,
    /// With --interleaved: number of repeats of each side; an even number lets drift cancel
    #[arg(long, value_name = "N", requires = "study")]
    repeats: Option<u32>,
    /// With --interleaved: maximum length of a repeat, e.g. `20s`
    #[arg(long, value_name = "DURATION", requires = "study")]
    at_most: Option<String>,
    /// With --interleaved: run folder [default: `runs/<time>-<study>`]
    #[arg(long, value_name = "DIR", requires = "study")]
    out: Option<PathBuf>,
    /// With --interleaved: use this disk, as in `assay run --disk`
    #[arg(long, value_name = "DISK", requires = "study")]
    disk: Option<String>,
    /// With --interleaved: seed for random data
    #[arg(long, value_name = "N", requires = "study")]
    seed: Option<u64>,
}

/// Runs the study and compares the two levels.
pub(super) fn run(arguments: &InterleavedArguments, how: &How) -> Result<Code, Code> {
    let sides = Sides::parse(&arguments.set)?;
    let parsed = run_arguments(arguments, &sides)?;
    let request = prepare_study(&parsed, &|study| study.design.order = Order::Interleaved)?;
    let folder = request.folder.path().to_owned();
    let ended = execute_study(&request)?;
    if !matches!(ended, Code::Kept | Code::Broken | Code::Undecided) {
        output::message("the run did not finish; nothing is compared");
        return Err(ended);
    }
    let over = format!("{}={},{}", sides.factor, sides.a, sides.b);
    let comparison = levels(&folder, &over, how)?;
    show(&comparison, how)
}

/// The factor that is set twice, its two values, and the other settings.
#[derive(Debug, PartialEq, Eq)]
struct Sides {
    factor: String,
    a: String,
    b: String,
    others: Vec<String>,
}

impl Sides {
    fn parse(set: &[String]) -> Result<Self, Code> {
        let parts: Vec<(&str, &str)> = set
            .iter()
            .map(|one| one.split_once('=').map(|(name, value)| (name.trim(), value.trim())))
            .collect::<Option<_>>()
            .ok_or_else(|| usage("write `--set FACTOR=VALUE`"))?;
        let twice: Vec<&str> = parts
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| parts.iter().filter(|(other, _)| other == name).count() == 2)
            .collect();
        let [factor, same] = twice.as_slice() else {
            return Err(usage("set exactly one factor twice: `--set FACTOR=A --set FACTOR=B`"));
        };
        debug_assert_eq!(factor, same);
        let values: Vec<&str> =
            parts.iter().filter(|(name, _)| name == factor).map(|(_, value)| *value).collect();
        if values.iter().any(|value| value.contains(',')) || values[0] == values[1] {
            return Err(usage("give each side one value, different from the other"));
        }
        let others = parts.iter().filter(|(name, _)| name != factor);
        Ok(Self {
            factor: (*factor).to_owned(),
            a: values[0].to_owned(),
            b: values[1].to_owned(),
            others: others.map(|(name, value)| format!("{name}={value}")).collect(),
        })
    }
}

/// The equivalent arguments of `assay run`, parsed by clap so that options mean the same in both.
fn run_arguments(arguments: &InterleavedArguments, sides: &Sides) -> Result<RunArguments, Code> {
    let mut words: Vec<std::ffi::OsString> = vec!["assay".into(), "run".into()];
    words.push(arguments.study.clone().unwrap_or_default().into());
    let mut add = |name: &str, value: std::ffi::OsString| words.extend([name.into(), value]);
    add("--set", format!("{}={},{}", sides.factor, sides.a, sides.b).into());
    for other in &sides.others {
        add("--set", other.into());
    }
    if let Some(repeats) = arguments.repeats {
        add("--repeats", repeats.to_string().into());
    }
    if let Some(at_most) = &arguments.at_most {
        add("--at-most", at_most.into());
    }
    if let Some(out) = &arguments.out {
        add("--out", out.into());
    }
    if let Some(disk) = &arguments.disk {
        add("--disk", disk.into());
    }
    if let Some(seed) = arguments.seed {
        add("--seed", seed.to_string().into());
    }
    match Arguments::try_parse_from(words) {
        Ok(Arguments { command: Command::Run(run), .. }) => Ok(run),
        Ok(_) => Err(Code::Usage),
        Err(error) => {
            let _ = error.print();
            Err(Code::from_clap(&error))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_set_twice_is_compared() {
        let set = ["x=1", "groups=4,8", "x = 2"].map(str::to_owned);
        let sides = Sides::parse(&set).unwrap();
        assert_eq!((sides.factor.as_str(), sides.a.as_str(), sides.b.as_str()), ("x", "1", "2"));
        assert_eq!(sides.others, ["groups=4,8"]);
    }

    #[test]
    fn anything_but_two_different_sides_is_refused() {
        for set in [
            vec!["x=1"],
            vec!["x=1", "x=1"],
            vec!["x=1", "x=2", "x=3"],
            vec!["x=1,2", "x=3"],
            vec!["x=1", "x=2", "y=1", "y=2"],
            vec!["x"],
        ] {
            let set: Vec<String> = set.into_iter().map(str::to_owned).collect();
            assert!(Sides::parse(&set).is_err(), "{set:?}");
        }
    }
}
