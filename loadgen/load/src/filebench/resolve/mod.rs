//! Resolves a script to a workload: substitutes variables, looks up names, applies defaults. All
//! mistakes are collected in one pass, each with its position.

mod operations;
mod random;
mod sets;
mod values;

use std::collections::HashMap;
use std::sync::Arc;

use super::distribution::Distribution;
use super::language::{
    Attribute, Command, FlowOp, Mistake, Piece, Position, Script, Statement, Value,
};
use super::uniform::Drand48;
use super::workload::{Amount, Period, Step, Workload};
use values::{AttributeValue, Bound};

/// filebench's defaults for commands without numbers.
const RUN_SECONDS: u64 = 60;
const PERIOD_SECONDS: u64 = 10;
/// More than any machine can run; a higher number is a typing error, not a load.
const MOST_THREADS: u64 = 65_536;

/// Settings of the caller that override a script.
#[derive(Debug, Clone, Default)]
pub(super) struct Overrides {
    /// Variables and their values as text; a `set` in the script does not change them.
    pub(super) variables: Vec<(String, String)>,
    /// Duration of the run in seconds; adds a run if the script has none.
    pub(super) run: Option<u64>,
    pub(super) seed: Option<u64>,
}

/// Resolves a script; returns all semantic mistakes.
pub(super) fn resolve(script: &Script, overrides: &Overrides) -> Result<Workload, Vec<Mistake>> {
    let mut resolver = Resolver::new(overrides);
    resolver.mistakes.extend(script.unknown.iter().cloned());
    // Values are looked up when something runs, so that a later `set` counts (filebench keeps
    // references to variables); `set` and texts take effect in order.
    for statement in &script.statements {
        resolver.first_pass(statement);
    }
    // An operation may name a set that is defined later.
    for sets in [true, false] {
        script.statements.iter().for_each(|statement| resolver.definitions(statement, sets));
    }
    resolver.resolve_targets();
    resolver.finish(overrides);
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
    /// drand48 of the process: file sets and gamma custom variables draw from it in definition
    /// order.
    source: Arc<Drand48>,
    seed: Option<u64>,
    /// Number of random variables so far, so that each one without a seed gets a different source.
    random_variables: u64,
    /// `target` attributes, resolved when all operations are known.
    pending_targets: Vec<PendingTarget>,
    run_override: Option<u64>,
    rate: Option<(Value, Position)>,
}

/// A `target` that has not been resolved yet.
struct PendingTarget {
    /// Line of the operation with the attribute.
    line: usize,
    target: String,
    position: Position,
    /// Lines of its thread.
    thread: std::ops::Range<usize>,
    /// Searched in the whole workload, or in the own thread only.
    everywhere: bool,
}

impl<'s> Resolver<'s> {
    fn new(overrides: &Overrides) -> Self {
        let source = match overrides.seed {
            Some(seed) => Drand48::seeded(seed),
            None => Drand48::unseeded(),
        };
        let bound = |(name, text): &(String, String)| (name.clone(), Bound::parse(text));
        Self {
            variables: overrides.variables.iter().map(bound).collect(),
            fixed: overrides.variables.iter().map(|(name, _)| name.clone()).collect(),
            composites: HashMap::new(),
            workload: Workload::default(),
            mistakes: Vec::new(),
            source: Arc::new(source),
            seed: overrides.seed,
            random_variables: 0,
            pending_targets: Vec::new(),
            run_override: overrides.run,
            rate: None,
        }
    }

    fn mistake(&mut self, position: Position, what: impl Into<String>, remedy: impl Into<String>) {
        self.mistakes.push(Mistake::new(position, what, remedy));
    }

    /// First pass: settings and steps, in order.
    fn first_pass(&mut self, statement: &'s Statement) {
        let position = statement.position;
        match &statement.command {
            Command::Set(name, value) => self.set(name, value, position),
            Command::SetRandom(name, list) => {
                if let Some(distribution) = self.random_variable(list, position) {
                    self.bind(name, Bound::Random(Arc::new(distribution)));
                }
            }
            Command::SetCustom(name, list) => {
                if let Some(distribution) = self.custom_variable(list, position) {
                    self.bind(name, Bound::Random(Arc::new(distribution)));
                }
            }
            Command::ModeQuit(quit) => self.workload.quit = *quit,
            Command::Composite(attributes, operations) => {
                self.composite(attributes, operations, position);
            }
            Command::LatHist => {
                self.workload.histogram = true;
                self.step(Step::Echo("Latency histogram enabled".to_owned()));
            }
            Command::EventGen(list) => {
                let rate = list.iter().rev().find(|attribute| attribute.name == "rate");
                self.rate = rate.and_then(|a| a.value.clone().map(|value| (value, a.position)));
            }
            Command::CreateFiles => self.step(Step::Create),
            Command::ListFileSets => self.step(Step::ListFileSets),
            Command::ListFlowOps => self.step(Step::ListFlowOps),
            Command::Version => {
                self.step(Step::Echo(format!("Filebench Version: {}", super::VERSION)));
            }
            Command::Echo(pieces) => {
                let text = self.text_of(pieces, position);
                self.step(Step::Echo(text));
            }
            Command::System(pieces) => {
                let text = self.text_of(pieces, position);
                self.step(Step::System(text));
            }
            Command::Sleep(value) => {
                let seconds = self.number(value, position, "sleep");
                self.step(Step::Sleep(seconds));
            }
            Command::Run(value) => self.run(value.as_ref(), position),
            Command::PsRun(period, seconds) => self.psrun(*period, *seconds),
            Command::Multi(_) | Command::MultiSync(_) => self.mistake(
                position,
                "synchronized clients are not supported",
                "remove `enable multi` and `domultisync`; a study starts loads together",
            ),
            Command::Load(name) => self.mistake(
                position,
                format!("`load {name}` is nested too deeply"),
                "the maximum depth is 8; put the commands in this file",
            ),
            Command::CreateProcesses => self.note("create processes: the run creates them"),
            Command::Usage(_) => self.note("usage: 1.4 shows it on request only"),
            Command::ModeNoStats => self.note("mode nousestats: CPU figures are never shown here"),
            Command::Debug(_) => self.note("debug: not supported, no effect on the load"),
            Command::FileSet(_) | Command::File(_) | Command::Process(..) | Command::Quit => {}
        }
    }

    fn definitions(&mut self, statement: &'s Statement, sets: bool) {
        let position = statement.position;
        match &statement.command {
            Command::FileSet(list) if sets => self.file_set(list, position, false),
            Command::File(list) if sets => self.file_set(list, position, true),
            Command::Process(list, threads) if !sets => self.process(list, threads, position),
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

    fn set(&mut self, name: &str, value: &Value, position: Position) {
        let bound = match value {
            Value::Integer(number) => Bound::Integer(*number),
            Value::Bool(bool) => Bound::Bool(*bool),
            Value::Word(word) => Bound::Text(word.clone()),
            Value::Text(pieces) => Bound::Text(self.text_of(pieces, position)),
            Value::Variable(other) => match self.variables.get(other) {
                Some(bound) => bound.clone(),
                None => return self.unset(other, position),
            },
            Value::Table(_) => {
                let remedy = "write randvar(type=tabular,randtable={{...}})";
                return self.mistake(
                    position,
                    "a variable cannot have a table as its value",
                    remedy,
                );
            }
        };
        self.bind(name, bound);
    }

    fn unset(&mut self, name: &str, position: Position) {
        let known: Vec<&str> = self.variables.keys().map(String::as_str).collect();
        let remedy = if known.is_empty() {
            format!("write `set ${name}=...` before it")
        } else {
            format!(
                "write `set ${name}=...` before it; {}",
                super::language::suggestion(name, &known)
            )
        };
        self.mistake(position, format!("${name} has no value"), remedy);
    }

    fn run(&mut self, value: Option<&Value>, position: Position) {
        let seconds = value.map_or(0, |value| self.number(value, position, "run"));
        self.step(Step::Run { seconds, period: None });
    }

    fn psrun(&mut self, period: Option<i64>, seconds: Option<u64>) {
        let period = period.filter(|period| *period != 0).unwrap_or(PERIOD_SECONDS as i64);
        let period = Period { seconds: period.unsigned_abs(), clears: period < 0 };
        self.step(Step::Run { seconds: seconds.unwrap_or(0), period: Some(period) });
    }

    /// Derived settings: duration of the run, event rate, limits.
    fn finish(&mut self, overrides: &Overrides) {
        self.workload.source = Some(Arc::clone(&self.source));
        if let Some((value, position)) = self.rate.take() {
            let rate = self.number(&value, position, "rate");
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
            let what = format!("the script has {} threads", self.workload.thread_count());
            self.mistake(Position::default(), what, format!("use at most {MOST_THREADS}"));
        }
    }

    fn text_of(&mut self, pieces: &[Piece], position: Position) -> String {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Variable(name) => match self.variables.get(name) {
                    Some(bound) => text.push_str(&bound.to_string()),
                    None => self.unset(name, position),
                },
            }
        }
        text
    }

    /// An integer whose value is needed now.
    fn number(&mut self, value: &Value, position: Position, what: &str) -> u64 {
        let attribute = AttributeValue { value: Some(value), position, name: what };
        self.amount(&attribute, &HashMap::new()).map_or(0, |amount| amount.get())
    }

    fn amount(
        &mut self,
        attribute: &AttributeValue<'_>,
        locals: &HashMap<String, Bound>,
    ) -> Option<Amount> {
        match values::amount(attribute, locals, &self.variables) {
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
