//! From a script to a workload: variables put in, names found, defaults filled in; all mistakes
//! of one kind or another in one pass, each with its place.

mod operations;
mod random;
mod sets;
mod values;

use std::collections::HashMap;
use std::sync::Arc;

use super::distribution::Distribution;
use super::language::{
    Attribute, Command, FlowOp, Mistake, Piece, Place, Script, Statement, Value,
};
use super::uniform::Drand48;
use super::workload::{Amount, Period, Step, Workload};
use values::{Bound, Given};

/// filebench's own numbers where a command has none.
const RUN_SECONDS: u64 = 60;
const PERIOD_SECONDS: u64 = 10;
/// Larger than any machine; what lies above is a typing error, not a load.
const MOST_THREADS: u64 = 65_536;

/// What a caller adds to a script without changing it.
#[derive(Debug, Clone, Default)]
pub(super) struct Overrides {
    /// Variables with the text of their value; a `set` of the script does not change them.
    pub(super) variables: Vec<(String, String)>,
    /// Seconds of the run, and a run where the script has none.
    pub(super) run: Option<u64>,
    pub(super) seed: Option<u64>,
}

/// Finds everything that is wrong with the meaning of a script.
pub(super) fn resolve(script: &Script, overrides: &Overrides) -> Result<Workload, Vec<Mistake>> {
    let mut resolver = Resolver::new(overrides);
    resolver.mistakes.extend(script.unknown.iter().cloned());
    // Values are looked up when something runs, so that a later `set` counts (filebench keeps
    // references to variables); `set` and texts take effect in their order.
    for statement in &script.statements {
        resolver.first_pass(statement);
    }
    // An operation may name a set that is defined after it.
    for sets in [true, false] {
        script.statements.iter().for_each(|statement| resolver.definitions(statement, sets));
    }
    resolver.targets();
    resolver.ending(overrides);
    if resolver.mistakes.is_empty() { Ok(resolver.workload) } else { Err(resolver.mistakes) }
}

/// A composite operation as defined.
struct Composite<'s> {
    attributes: &'s [Attribute],
    operations: &'s [FlowOp],
}

struct Resolver<'s> {
    variables: HashMap<String, Bound>,
    fixed: Vec<String>,
    composites: HashMap<String, Composite<'s>>,
    workload: Workload,
    mistakes: Vec<Mistake>,
    /// drand48 of the process: file sets and gamma custom variables draw from it in turn.
    source: Arc<Drand48>,
    seed: Option<u64>,
    /// Random variables seen, so that each gets another source where it asks for no seed.
    drawn: u64,
    /// Attributes with their targets, found when all operations are known.
    wanted: Vec<Wanted>,
    run_override: Option<u64>,
    rate: Option<(Value, Place)>,
}

/// An operation whose `target` is still a name.
struct Wanted {
    /// Line of the operation that has it.
    line: usize,
    target: String,
    place: Place,
    /// Lines of its thread.
    thread: std::ops::Range<usize>,
    /// In the whole workload, or in the own thread only.
    everywhere: bool,
}

impl<'s> Resolver<'s> {
    fn new(overrides: &Overrides) -> Self {
        let source = match overrides.seed {
            Some(seed) => Drand48::seeded(seed),
            None => Drand48::of_founders(),
        };
        let bound = |(name, text): &(String, String)| (name.clone(), Bound::of_text(text));
        Self {
            variables: overrides.variables.iter().map(bound).collect(),
            fixed: overrides.variables.iter().map(|(name, _)| name.clone()).collect(),
            composites: HashMap::new(),
            workload: Workload::default(),
            mistakes: Vec::new(),
            source: Arc::new(source),
            seed: overrides.seed,
            drawn: 0,
            wanted: Vec::new(),
            run_override: overrides.run,
            rate: None,
        }
    }

    fn mistake(&mut self, place: Place, what: impl Into<String>, remedy: impl Into<String>) {
        self.mistakes.push(Mistake::new(place, what, remedy));
    }

    /// Settings and steps, in their order.
    fn first_pass(&mut self, statement: &'s Statement) {
        let place = statement.place;
        match &statement.command {
            Command::Set(name, value) => self.set(name, value, place),
            Command::SetRandom(name, list) => {
                if let Some(distribution) = self.random_variable(list, place) {
                    self.bind(name, Bound::Random(Arc::new(distribution)));
                }
            }
            Command::SetCustom(name, list) => {
                if let Some(distribution) = self.custom_variable(list, place) {
                    self.bind(name, Bound::Random(Arc::new(distribution)));
                }
            }
            Command::ModeQuit(quit) => self.workload.quit = *quit,
            Command::Composite(attributes, operations) => {
                self.composite(attributes, operations, place);
            }
            Command::LatHist => {
                self.workload.histogram = true;
                self.step(Step::Say("Latency histogram enabled".to_owned()));
            }
            Command::EventGen(list) => {
                let rate = list.iter().rev().find(|attribute| attribute.name == "rate");
                self.rate = rate.and_then(|a| a.value.clone().map(|value| (value, a.place)));
            }
            Command::CreateFiles => self.step(Step::Create),
            Command::ListFileSets => self.step(Step::ListFileSets),
            Command::ListFlowOps => self.step(Step::ListFlowOps),
            Command::Version => {
                self.step(Step::Say(format!("Filebench Version: {}", super::VERSION)));
            }
            Command::Echo(pieces) => {
                let text = self.text_of(pieces, place);
                self.step(Step::Say(text));
            }
            Command::System(pieces) => {
                let text = self.text_of(pieces, place);
                self.step(Step::System(text));
            }
            Command::Sleep(value) => {
                let seconds = self.number(value, place, "sleep");
                self.step(Step::Sleep(seconds));
            }
            Command::Run(value) => self.run(value.as_ref(), place),
            Command::PsRun(period, seconds) => self.psrun(*period, *seconds),
            Command::Multi(_) | Command::MultiSync(_) => self.mistake(
                place,
                "many clients in step are not supported",
                "remove `enable multi` and `domultisync`; a study starts loads together",
            ),
            Command::Load(name) => self.mistake(
                place,
                format!("`load {name}` stands too deep"),
                "loads nest 8 deep at most; put the commands in this file",
            ),
            Command::CreateProcesses => self.note("create processes: a run does it"),
            Command::Usage(_) => self.note("usage: 1.4 shows it on request only"),
            Command::ModeNoStats => self.note("mode nousestats: CPU figures are never shown here"),
            Command::Debug(_) => self.note("debug: not supported, no effect on the load"),
            Command::FileSet(_) | Command::File(_) | Command::Process(..) | Command::Quit => {}
        }
    }

    fn definitions(&mut self, statement: &'s Statement, sets: bool) {
        let place = statement.place;
        match &statement.command {
            Command::FileSet(list) if sets => self.file_set(list, place, false),
            Command::File(list) if sets => self.file_set(list, place, true),
            Command::Process(list, threads) if !sets => self.process(list, threads, place),
            _ => {}
        }
    }

    fn step(&mut self, step: Step) {
        self.workload.steps.push(step);
    }

    fn note(&mut self, text: &str) {
        self.workload.notes.push(text.to_owned());
    }

    fn bind(&mut self, name: &str, bound: Bound) {
        if !self.fixed.iter().any(|fixed| fixed == name) {
            self.variables.insert(name.to_owned(), bound);
        }
    }

    fn set(&mut self, name: &str, value: &Value, place: Place) {
        let bound = match value {
            Value::Integer(number) => Bound::Integer(*number),
            Value::Bool(bool) => Bound::Bool(*bool),
            Value::Word(word) => Bound::Text(word.clone()),
            Value::Text(pieces) => Bound::Text(self.text_of(pieces, place)),
            Value::Variable(other) => match self.variables.get(other) {
                Some(bound) => bound.clone(),
                None => return self.unset(other, place),
            },
            Value::Table(_) => {
                let remedy = "write randvar(type=tabular,randtable={{...}})";
                return self.mistake(place, "a table is no value of a variable", remedy);
            }
        };
        self.bind(name, bound);
    }

    fn unset(&mut self, name: &str, place: Place) {
        let known: Vec<&str> = self.variables.keys().map(String::as_str).collect();
        let remedy = if known.is_empty() {
            format!("write `set ${name}=...` before it")
        } else {
            format!(
                "write `set ${name}=...` before it; {}",
                super::language::suggestion(name, &known)
            )
        };
        self.mistake(place, format!("${name} has no value"), remedy);
    }

    fn run(&mut self, value: Option<&Value>, place: Place) {
        let seconds = value.map_or(0, |value| self.number(value, place, "run"));
        self.step(Step::Run { seconds, period: None });
    }

    fn psrun(&mut self, period: Option<i64>, seconds: Option<u64>) {
        let period = period.filter(|period| *period != 0).unwrap_or(PERIOD_SECONDS as i64);
        let period = Period { seconds: period.unsigned_abs(), clears: period < 0 };
        self.step(Step::Run { seconds: seconds.unwrap_or(0), period: Some(period) });
    }

    /// What follows from all of it: how long the run is, the rate of events, limits.
    fn ending(&mut self, overrides: &Overrides) {
        self.workload.source = Some(Arc::clone(&self.source));
        if let Some((value, place)) = self.rate.take() {
            let rate = self.number(&value, place, "rate");
            self.workload.rate = Some(rate).filter(|rate| *rate > 0);
        }
        let timed = self.workload.quit == super::language::Quit::Timeout;
        let mut runs = 0;
        for step in &mut self.workload.steps {
            if let Step::Run { seconds, .. } = step {
                runs += 1;
                *seconds = self.run_override.unwrap_or(*seconds);
                if timed && *seconds == 0 {
                    *seconds = RUN_SECONDS;
                }
            }
        }
        if let (0, Some(seconds)) = (runs, overrides.run) {
            self.step(Step::Run { seconds, period: None });
        }
        if self.workload.thread_count() > MOST_THREADS {
            let what = format!("{} threads are asked for", self.workload.thread_count());
            self.mistake(Place::default(), what, format!("use at most {MOST_THREADS}"));
        }
    }

    fn text_of(&mut self, pieces: &[Piece], place: Place) -> String {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Variable(name) => match self.variables.get(name) {
                    Some(bound) => text.push_str(&bound.to_string()),
                    None => self.unset(name, place),
                },
            }
        }
        text
    }

    /// A whole number that is needed now.
    fn number(&mut self, value: &Value, place: Place, what: &str) -> u64 {
        let given = Given { value: Some(value), place, name: what };
        self.amount(&given, &HashMap::new()).map_or(0, |amount| amount.get())
    }

    fn amount(&mut self, given: &Given<'_>, locals: &HashMap<String, Bound>) -> Option<Amount> {
        match values::amount(given, locals, &self.variables) {
            Ok(amount) => Some(amount),
            Err(mistake) => {
                self.mistakes.push(mistake);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
