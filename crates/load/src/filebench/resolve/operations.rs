//! `define process`, `thread`, `flowop`, and composite operations unfolded where they are used.

use std::collections::HashMap;

use super::super::flow::kind::Kind;
use super::super::language::{Attribute, FlowOp, Mistake, Place, ThreadBlock, Value, suggestion};
use super::super::workload::{Amount, Line, Operation, Process, Thread};
use super::values::{self, Bound, Given, Variables, given};
use super::{Composite, Resolver, Wanted};

use super::super::flow::SLOTS;
/// I/O priorities of the best-effort class are 0 to 7; 8 stands for none.
const NO_PRIORITY: u64 = 8;
/// Composite operations within one another.
const DEEPEST: usize = 16;

/// Where operations are being read: their thread, the locals in sight, the names around them.
struct Scope<'a> {
    locals: &'a Variables,
    prefix: &'a str,
    first_line: usize,
    depth: usize,
}

impl<'s> Resolver<'s> {
    pub(super) fn composite(
        &mut self,
        attributes: &'s [Attribute],
        operations: &'s [FlowOp],
        place: Place,
    ) {
        if let Some(name) = self.required(attributes, "name", place) {
            if Kind::named(&name).is_some() {
                let what = format!("`{name}` is an operation of the language");
                self.mistake(place, what, "choose another name");
            }
            self.composites.insert(name, Composite { attributes, operations });
        }
    }

    pub(super) fn process(
        &mut self,
        list: &'s [Attribute],
        blocks: &'s [ThreadBlock],
        place: Place,
    ) {
        let name = self.required(list, "name", place).unwrap_or_default();
        let instances = self.amount_of(list, &["instances"]).map_or(1, |amount| amount.get());
        let nice = self.amount_of(list, &["nice"]).map_or(0, |amount| amount.get());
        if blocks.is_empty() {
            self.mistake(place, "a process without threads", "add thread name=... { flowop ... }");
        }
        let threads = blocks.iter().map(|block| self.thread(block)).collect();
        self.workload.processes.push(Process { name, instances, nice, threads });
    }

    fn thread(&mut self, block: &'s ThreadBlock) -> Thread {
        let list = &block.attributes;
        let name = self.required(list, "name", block.place).unwrap_or_default();
        let mut fixed =
            |name: &str, default| self.amount_of(list, &[name]).map_or(default, |a| a.get());
        let (instances, memory) = (fixed("instances", 1), fixed("memsize", 0));
        if fixed("ioprio", NO_PRIORITY) < NO_PRIORITY {
            self.note("ioprio: not supported, the priority of this process counts");
        }
        if block.operations.is_empty() {
            self.mistake(block.place, "a thread without operations", "add flowop ...");
        }
        let first_line = self.workload.lines.len();
        let scope = Scope { locals: &HashMap::new(), prefix: "", first_line, depth: 0 };
        let operations =
            block.operations.iter().filter_map(|op| self.operation(op, &scope)).collect();
        let end = self.workload.lines.len();
        for wanted in &mut self.wanted {
            if wanted.line >= first_line {
                wanted.thread = first_line..end;
            }
        }
        Thread { name, instances, memory, operations, first_line, lines: end - first_line }
    }

    fn operation(&mut self, op: &'s FlowOp, scope: &Scope<'_>) -> Option<Operation> {
        let kind = match Kind::named(&op.kind) {
            Some(kind) => kind,
            None if self.composites.contains_key(&op.kind) => Kind::Composite,
            None => {
                let mut known = Kind::names();
                let own: Vec<String> = self.composites.keys().cloned().collect();
                known.extend(own.iter().map(String::as_str));
                let remedy = suggestion(&op.kind, &known);
                self.mistake(op.place, format!("`{}` is no operation", op.kind), remedy);
                return None;
            }
        };
        let reader = Reader { list: &op.attributes, locals: scope.locals };
        let own = match reader.required(self, "name", op.place) {
            Some(own) => own,
            None => op.kind.clone(),
        };
        let name = format!("{}{own}", scope.prefix);
        let line = self.workload.lines.len();
        self.workload.lines.push(Line { name: name.clone(), kind });
        let mut operation = self.attributes(kind, name, line - scope.first_line, &reader);
        self.target(&reader, kind, line, op.place);
        self.check(&operation, op.place);
        if kind == Kind::Composite {
            operation.inner = self.unfold(op, &operation.name, scope);
        }
        Some(operation)
    }

    fn attributes(
        &mut self,
        kind: Kind,
        name: String,
        number: usize,
        reader: &Reader<'_>,
    ) -> Operation {
        let zero = Amount::Fixed(0);
        let (value, text) = match (kind, given(reader.list, &["value"])) {
            (Kind::Print, Some(value)) => (zero.clone(), reader.text(self, &value)),
            (_, Some(_)) => (reader.amount(self, "value").unwrap_or(zero.clone()), String::new()),
            (_, None) => (zero.clone(), String::new()),
        };
        Operation {
            kind,
            name,
            number,
            set: reader.set(self),
            fd: reader.slot(self, "fd"),
            srcfd: reader.slot(self, "srcfd"),
            iosize: reader.amount(self, "iosize").unwrap_or(zero),
            iters: reader.amount(self, "iters").unwrap_or(Amount::Fixed(1)),
            random: reader.truth(self, "random"),
            dsync: reader.truth(self, "dsync"),
            directio: reader.truth(self, "directio"),
            noreadahead: reader.truth(self, "noreadahead"),
            workingset: reader.amount(self, "workingset").map_or(0, |amount| amount.get()),
            opennext: reader.truth(self, "opennext"),
            indexed: reader.amount(self, "indexed"),
            value,
            text,
            blocking: reader.truth(self, "blocking"),
            highwater: reader.amount(self, "highwater").map_or(1, |amount| amount.get()),
            targets: Vec::new(),
            inner: Vec::new(),
        }
    }

    /// What would stop the run only when its turn comes.
    fn check(&mut self, operation: &Operation, place: Place) {
        let Operation { kind, name, .. } = operation;
        if kind.picks() && operation.set.is_none() {
            let what = format!("`{name}` has no file set");
            self.mistake(place, what, "add filesetname=...");
        }
        let needs_size = matches!(
            kind,
            Kind::Read | Kind::Write | Kind::AioWrite | Kind::AppendFile | Kind::AppendFileRand
        );
        if needs_size && matches!(operation.iosize, Amount::Fixed(0)) {
            self.mistake(place, format!("`{name}` moves 0 bytes"), "add iosize=16k");
        }
    }

    fn target(&mut self, reader: &Reader<'_>, kind: Kind, line: usize, place: Place) {
        match given(reader.list, &["target"]) {
            Some(given) => {
                let target = reader.text(self, &given);
                let everywhere = kind.needs_target();
                let (place, thread) = (given.place, line..line);
                self.wanted.push(Wanted { line, target, place, thread, everywhere });
            }
            None if kind.needs_target() => {
                let remedy = "add target=NAME of a block or semblock";
                self.mistake(place, "an operation that wakes needs a target", remedy);
            }
            None => {}
        }
    }

    fn unfold(&mut self, op: &'s FlowOp, name: &str, scope: &Scope<'_>) -> Vec<Operation> {
        let Some(composite) = self.composites.get(&op.kind) else { return Vec::new() };
        let (defaults, operations) = (composite.attributes, composite.operations);
        if scope.depth == DEEPEST {
            let what = format!("`{}` contains itself, or too many within one another", op.kind);
            self.mistake(op.place, what, format!("nest {DEEPEST} at most"));
            return Vec::new();
        }
        let mut locals = Variables::new();
        for attribute in defaults.iter().chain(&op.attributes) {
            let (Some(local), Some(value)) = (attribute.name.strip_prefix('$'), &attribute.value)
            else {
                continue;
            };
            let given = Given { value: Some(value), place: attribute.place, name: local };
            match values::local(&given, scope.locals, &self.variables) {
                Ok(bound) => {
                    locals.insert(local.to_owned(), bound);
                }
                Err(mistake) => self.mistakes.push(mistake),
            }
        }
        let prefix = format!("{name}.");
        let (first_line, depth) = (scope.first_line, scope.depth + 1);
        let inside = Scope { locals: &locals, prefix: &prefix, first_line, depth };
        operations.iter().filter_map(|op| self.operation(op, &inside)).collect()
    }

    /// Finds the operations that others name as their target.
    pub(super) fn targets(&mut self) {
        let mut found: HashMap<usize, Vec<usize>> = HashMap::new();
        for wanted in std::mem::take(&mut self.wanted) {
            let named = |line: &usize| self.workload.lines[*line].name == wanted.target;
            let lines: Vec<usize> = if wanted.everywhere {
                (0..self.workload.lines.len()).filter(named).collect()
            } else {
                wanted.thread.clone().filter(named).map(|l| l - wanted.thread.start).collect()
            };
            if lines.is_empty() {
                let range =
                    if wanted.everywhere { 0..self.workload.lines.len() } else { wanted.thread };
                let known: Vec<&str> =
                    self.workload.lines[range].iter().map(|line| line.name.as_str()).collect();
                let remedy = suggestion(&wanted.target, &known);
                let what = format!("no operation here is called `{}`", wanted.target);
                self.mistakes.push(Mistake::new(wanted.place, what, remedy));
            }
            found.insert(wanted.line, lines);
        }
        for thread in self.workload.processes.iter_mut().flat_map(|p| &mut p.threads) {
            let first = thread.first_line;
            fill_in(&mut thread.operations, first, &found);
        }
    }
}

fn fill_in(operations: &mut [Operation], first: usize, found: &HashMap<usize, Vec<usize>>) {
    for operation in operations {
        if let Some(lines) = found.get(&(first + operation.number)) {
            operation.targets.clone_from(lines);
        }
        fill_in(&mut operation.inner, first, found);
    }
}

/// Reads attributes of an operation with the locals of the composite around it.
struct Reader<'a> {
    list: &'a [Attribute],
    locals: &'a Variables,
}

impl Reader<'_> {
    fn kept<T>(resolver: &mut Resolver<'_>, read: Result<T, Mistake>) -> Option<T> {
        read.map_err(|mistake| resolver.mistakes.push(mistake)).ok()
    }

    fn required(&self, resolver: &mut Resolver<'_>, name: &str, place: Place) -> Option<String> {
        match given(self.list, &[name]) {
            Some(given) => Some(self.text(resolver, &given)),
            None => {
                resolver.mistake(place, format!("`{name}` is missing"), format!("add {name}=..."));
                None
            }
        }
    }

    fn text(&self, resolver: &mut Resolver<'_>, given: &Given<'_>) -> String {
        let read = values::text(given, self.locals, &resolver.variables);
        Self::kept(resolver, read).unwrap_or_default()
    }

    fn amount(&self, resolver: &mut Resolver<'_>, name: &str) -> Option<Amount> {
        let given = given(self.list, &[name])?;
        let read = values::amount(&given, self.locals, &resolver.variables);
        Self::kept(resolver, read)
    }

    fn truth(&self, resolver: &mut Resolver<'_>, name: &str) -> bool {
        let Some(given) = given(self.list, &[name]) else { return false };
        let read = values::truth(&given, self.locals, &resolver.variables);
        Self::kept(resolver, read).unwrap_or(false)
    }

    fn slot(&self, resolver: &mut Resolver<'_>, name: &str) -> usize {
        let slot = self.amount(resolver, name).map_or(0, |amount| amount.get() as usize);
        if slot >= SLOTS {
            let place = given(self.list, &[name]).map_or_else(Place::default, |g| g.place);
            let remedy = format!("a thread has {SLOTS} slots: 0 to {}", SLOTS - 1);
            resolver.mistake(place, format!("{name}={slot} is out of the table"), remedy);
        }
        slot.min(SLOTS - 1)
    }

    fn set(&self, resolver: &mut Resolver<'_>) -> Option<usize> {
        let given = given(self.list, &["filesetname", "filename"])?;
        if matches!(given.value, Some(Value::Variable(name))
            if matches!(resolver.variables.get(name), Some(Bound::Random(_))))
        {
            resolver.mistake(given.place, "a file set cannot be random", "name one");
            return None;
        }
        let name = self.text(resolver, &given);
        let at = resolver.workload.sets.iter().position(|set| set.name == name);
        if at.is_none() && !name.is_empty() {
            let known: Vec<&str> =
                resolver.workload.sets.iter().map(|set| set.name.as_str()).collect();
            let remedy = format!("define fileset name={name},...; {}", suggestion(&name, &known));
            resolver.mistake(given.place, format!("there is no file set `{name}`"), remedy);
        }
        at
    }
}
