//! Both sides of a comparison in one run, interleaved.

use std::time::Duration;

use assay_judge::compare::Terms;
use assay_judge::verdict::RunComparison;
use assay_run::context::Context;
use assay_run::execute::execute;
use assay_run::load::load;
use assay_run::observer::Observer;
use assay_run::overrides::StudyChoice;
use assay_run::prepare::{Destination, RunOptions, prepare};
use assay_run::recorded_run::update_index;
use assay_study::Order;
use assay_sys::exit::{Code, Error};

use super::{compare_levels_of, usage};
use crate::conclude::conclude;

/// The factor that is set twice, its two values, and the other settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sides {
    /// The factor to compare.
    pub factor: String,
    /// Its value on one side.
    pub a: String,
    /// Its value on the other.
    pub b: String,
    /// The settings of both sides.
    pub others: Vec<String>,
}

impl Sides {
    /// Finds the factor that `set` (each `FACTOR=VALUE`) names twice.
    ///
    /// # Errors
    /// Not exactly one factor has two different values.
    pub fn parse(set: &[String]) -> Result<Self, Error> {
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

/// What is run and compared.
#[derive(Debug, Clone)]
pub struct Interleaved {
    /// The study with its overrides; its settings are those of the sides.
    pub choice: StudyChoice,
    /// The sides.
    pub sides: Sides,
    /// The run folder.
    pub destination: Destination,
}

impl Interleaved {
    /// The choice with both sides as levels, interleaved (A B B A).
    fn choice(&self) -> StudyChoice {
        let Sides { factor, a, b, others } = &self.sides;
        let both = format!("{factor}={a},{b}");
        let set = std::iter::once(both).chain(others.iter().cloned()).collect();
        StudyChoice { set, order: Some(Order::Interleaved), ..self.choice.clone() }
    }
}

/// Runs a study with two levels of a factor interleaved and compares them.
///
/// # Errors
/// As [`assay_run::load`] and [`assay_run::prepare`]; the run did not finish.
pub fn compare_interleaved(
    context: &Context,
    what: &Interleaved,
    terms: &Terms,
    observer: &mut dyn Observer,
) -> Result<RunComparison, Error> {
    let loaded = load(&what.choice())?;
    observer.findings(&loaded.findings);
    let destination = what.destination.clone();
    let options = RunOptions { destination, wait: Duration::ZERO };
    let request = prepare(context, loaded, &options, observer)?;
    let finished = execute(context, &request, observer)?;
    let ended = conclude(&request, &finished, observer);
    update_index(&request.folder, observer);
    if !matches!(ended.code, Code::Kept | Code::Broken | Code::Undecided) {
        return Err(Error::ended(ended.code).note("the run did not finish; nothing is compared"));
    }
    let Sides { factor, a, b, .. } = &what.sides;
    let levels = [a.clone(), b.clone()];
    compare_levels_of(request.folder.path(), factor, &levels, terms, observer)
}

#[cfg(test)]
mod tests {
    use assay_judge::verdict::Equivalence;

    use super::*;
    use crate::experiment::explain::{ExplainOptions, explain};
    use crate::replay::{as_recorded_now, context};
    use crate::transcript::Transcript;

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

    #[test]
    fn both_sides_become_levels_of_one_interleaved_study() {
        let set = ["x=1", "groups=4", "x=2"].map(str::to_owned);
        let what = Interleaved {
            choice: StudyChoice { repeats: Some(4), ..StudyChoice::named("mine") },
            sides: Sides::parse(&set).unwrap(),
            destination: Destination { out: None, trust: assay_sys::files::Trust::Checked },
        };
        let choice = what.choice();
        assert_eq!(choice.set, ["x=1,2", "groups=4"]);
        assert_eq!((choice.order, choice.repeats), (Some(Order::Interleaved), Some(4)));
    }

    /// Both sides replay the same data. A run of both sides has no command line of `assay run`, but what
    /// it records is enough to explain it.
    #[test]
    fn sides_alternate_and_their_run_can_be_explained() {
        let temp = tempfile::tempdir().unwrap();
        let recorded = as_recorded_now("one-cpu", &temp);
        let (context, replayed) = context(&recorded, &temp);
        let to = |name: &str| Destination {
            out: Some(temp.path().join(name)),
            trust: assay_sys::files::Trust::Checked,
        };
        let set = ["groups=4", "groups=8"].map(str::to_owned);
        let what = Interleaved {
            choice: StudyChoice { repeats: Some(2), ..StudyChoice::named("io-weight") },
            sides: Sides::parse(&set).unwrap(),
            destination: to("run"),
        };
        let mut observer = Transcript::default();
        let compared = compare_interleaved(&context, &what, &Terms::default(), &mut observer);
        assert_ne!(compared.unwrap().verdict, Equivalence::Different);
        let order: Vec<usize> = replayed.borrow().iter().map(|slot| slot.trial).collect();
        assert_eq!(order, [0, 1, 1, 0]);
        let options = ExplainOptions {
            trial: None,
            at_most: None,
            rounds: Some(2),
            only: Vec::new(),
            destination: to("explained"),
            trust_run: true,
        };
        let run = temp.path().join("run");
        let explained = explain(&context, &run, &options, &mut observer).unwrap();
        assert_eq!(explained.explanation.study, "io-weight");
    }
}
