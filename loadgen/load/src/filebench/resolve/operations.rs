//! Resolves `define process`, `thread` and `flowop`; composite operations are expanded where they
//! are used.

use std::collections::HashMap;

use super::super::flow::kind::Kind;
use super::super::language::{
    Attribute, FlowOp, Mistake, Position, ThreadBlock, Value, suggestion,
};
use super::super::workload::{Amount, Line, Operation, Process, Thread};
use super::values::{self, AttributeValue, Bound, Variables, find};
use super::{Composite, PendingTarget, Resolver};

use super::super::flow::SLOTS;
/// I/O priorities of the best-effort class are 0 to 7; 8 stands for none.
const NO_PRIORITY: u64 = 8;
/// Maximum nesting of composite operations.
const MAX_DEPTH: usize = 16;

/// The context of an operation: its thread, visible locals, and the names of enclosing composites.
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
        position: Position,
    ) {
        if let Some(name) = self.required(attributes, "name", position) {
            if Kind::named(&name).is_some() {
                let what = format!("`{name}` is an operation of the language");
                self.mistake(position, what, "choose another name");
            }
            self.composites.insert(name, Composite { attributes, operations });
        }
    }

    pub(super) fn process(
        &mut self,
        list: &'s [Attribute],
        blocks: &'s [ThreadBlock],
        position: Position,
    ) {
        let name = self.required(list, "name", position).unwrap_or_default();
        let instances = self.amount_of(list, &["instances"]).map_or(1, |amount| amount.get());
        let nice = self.amount_of(list, &["nice"]).map_or(0, |amount| amount.get());
        if blocks.is_empty() {
            self.mistake(
                position,
                "a process without threads",
                "add thread name=... { flowop ... }",
            );
        }
        let threads = blocks.iter().map(|block| self.thread(block)).collect();
        self.workload.processes.push(Process { name, instances, nice, threads });
    }

    fn thread(&mut self, block: &'s ThreadBlock) -> Thread {
        let list = &block.attributes;
        let name = self.required(list, "name", block.position).unwrap_or_default();
        let mut fixed =
            |name: &str, default| self.amount_of(list, &[name]).map_or(default, |a| a.get());
        let (instances, memory) = (fixed("instances", 1), fixed("memsize", 0));
        if fixed("ioprio", NO_PRIORITY) < NO_PRIORITY {
            self.note("ioprio: not supported, the priority of this process counts");
        }
        if block.operations.is_empty() {
            self.mistake(block.position, "a thread without operations", "add flowop ...");
        }
        let first_line = self.workload.lines.len();
        let scope = Scope { locals: &HashMap::new(), prefix: "", first_line, depth: 0 };
        let operations =
            block.operations.iter().filter_map(|op| self.operation(op, &scope)).collect();
        let end = self.workload.lines.len();
        for pending in &mut self.pending_targets {
            if pending.line >= first_line {
                pending.thread = first_line..end;
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
                self.mistake(op.position, format!("unknown operation `{}`", op.kind), remedy);
                return None;
            }
        };
        let reader = Reader { list: &op.attributes, locals: scope.locals };
        let own = match reader.required(self, "name", op.position) {
            Some(own) => own,
            None => op.kind.clone(),
        };
        let name = format!("{}{own}", scope.prefix);
        let line = self.workload.lines.len();
        self.workload.lines.push(Line { name: name.clone(), kind });
        let mut operation = self.attributes(kind, name, line - scope.first_line, &reader);
        self.target(&reader, kind, line, op.position);
        self.check(&operation, op.position);
        if kind == Kind::Composite {
            operation.inner = self.expand(op, &operation.name, scope);
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
        let (value, text) = match (kind, find(reader.list, &["value"])) {
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

    /// Checks for mistakes that would otherwise stop the run only when the operation is executed.
    fn check(&mut self, operation: &Operation, position: Position) {
        let Operation { kind, name, .. } = operation;
        if kind.selects_file() && operation.set.is_none() {
            let what = format!("`{name}` has no file set");
            self.mistake(position, what, "add filesetname=...");
        }
        let needs_size = matches!(
            kind,
            Kind::Read | Kind::Write | Kind::AioWrite | Kind::AppendFile | Kind::AppendFileRand
        );
        if needs_size && matches!(operation.iosize, Amount::Fixed(0)) {
            self.mistake(position, format!("`{name}` moves 0 bytes"), "add iosize=16k");
        }
    }

    fn target(&mut self, reader: &Reader<'_>, kind: Kind, line: usize, position: Position) {
        match find(reader.list, &["target"]) {
            Some(attribute) => {
                let target = reader.text(self, &attribute);
                let everywhere = kind.needs_target();
                let (position, thread) = (attribute.position, line..line);
                self.pending_targets.push(PendingTarget {
                    line,
                    target,
                    position,
                    thread,
                    everywhere,
                });
            }
            None if kind.needs_target() => {
                let remedy = "add target=NAME of a block or semblock";
                self.mistake(position, "an operation that wakes needs a target", remedy);
            }
            None => {}
        }
    }

    fn expand(&mut self, op: &'s FlowOp, name: &str, scope: &Scope<'_>) -> Vec<Operation> {
        let Some(composite) = self.composites.get(&op.kind) else { return Vec::new() };
        let (defaults, operations) = (composite.attributes, composite.operations);
        if scope.depth == MAX_DEPTH {
            let what = format!("`{}` contains itself, or is nested too deeply", op.kind);
            self.mistake(op.position, what, format!("the maximum depth is {MAX_DEPTH}"));
            return Vec::new();
        }
        let mut locals = Variables::new();
        for attribute in defaults.iter().chain(&op.attributes) {
            let (Some(local), Some(value)) = (attribute.name.strip_prefix('$'), &attribute.value)
            else {
                continue;
            };
            let attribute =
                AttributeValue { value: Some(value), position: attribute.position, name: local };
            match values::local(&attribute, scope.locals, &self.variables) {
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

    /// Resolves the operations named by `target`.
    pub(super) fn resolve_targets(&mut self) {
        let mut targets_by_line: HashMap<usize, Vec<usize>> = HashMap::new();
        for pending in std::mem::take(&mut self.pending_targets) {
            let named = |line: &usize| self.workload.lines[*line].name == pending.target;
            let lines: Vec<usize> = if pending.everywhere {
                (0..self.workload.lines.len()).filter(named).collect()
            } else {
                pending.thread.clone().filter(named).map(|l| l - pending.thread.start).collect()
            };
            if lines.is_empty() {
                let range =
                    if pending.everywhere { 0..self.workload.lines.len() } else { pending.thread };
                let known: Vec<&str> =
                    self.workload.lines[range].iter().map(|line| line.name.as_str()).collect();
                let remedy = suggestion(&pending.target, &known);
                let what = format!("no operation here is named `{}`", pending.target);
                self.mistakes.push(Mistake::new(pending.position, what, remedy));
            }
            targets_by_line.insert(pending.line, lines);
        }
        for thread in self.workload.processes.iter_mut().flat_map(|p| &mut p.threads) {
            let first = thread.first_line;
            fill_in(&mut thread.operations, first, &targets_by_line);
        }
    }
}

fn fill_in(
    operations: &mut [Operation],
    first: usize,
    targets_by_line: &HashMap<usize, Vec<usize>>,
) {
    for operation in operations {
        if let Some(lines) = targets_by_line.get(&(first + operation.number)) {
            operation.targets.clone_from(lines);
        }
        fill_in(&mut operation.inner, first, targets_by_line);
    }
}

/// Reads attributes of an operation with the locals of the enclosing composite.
struct Reader<'a> {
    list: &'a [Attribute],
    locals: &'a Variables,
}

impl Reader<'_> {
    fn kept<T>(resolver: &mut Resolver<'_>, read: Result<T, Mistake>) -> Option<T> {
        read.map_err(|mistake| resolver.mistakes.push(mistake)).ok()
    }

    fn required(
        &self,
        resolver: &mut Resolver<'_>,
        name: &str,
        position: Position,
    ) -> Option<String> {
        match find(self.list, &[name]) {
            Some(attribute) => Some(self.text(resolver, &attribute)),
            None => {
                resolver.mistake(
                    position,
                    format!("`{name}` is missing"),
                    format!("add {name}=..."),
                );
                None
            }
        }
    }

    fn text(&self, resolver: &mut Resolver<'_>, attribute: &AttributeValue<'_>) -> String {
        let read = values::text(attribute, self.locals, &resolver.variables);
        Self::kept(resolver, read).unwrap_or_default()
    }

    fn amount(&self, resolver: &mut Resolver<'_>, name: &str) -> Option<Amount> {
        let attribute = find(self.list, &[name])?;
        let read = values::amount(&attribute, self.locals, &resolver.variables);
        Self::kept(resolver, read)
    }

    fn truth(&self, resolver: &mut Resolver<'_>, name: &str) -> bool {
        let Some(attribute) = find(self.list, &[name]) else { return false };
        let read = values::truth(&attribute, self.locals, &resolver.variables);
        Self::kept(resolver, read).unwrap_or(false)
    }

    fn slot(&self, resolver: &mut Resolver<'_>, name: &str) -> usize {
        let slot = self.amount(resolver, name).map_or(0, |amount| amount.get() as usize);
        if slot >= SLOTS {
            let position = find(self.list, &[name]).map_or_else(Position::default, |g| g.position);
            let remedy = format!("a thread has {SLOTS} slots: 0 to {}", SLOTS - 1);
            resolver.mistake(position, format!("{name}={slot} is out of range"), remedy);
        }
        slot.min(SLOTS - 1)
    }

    fn set(&self, resolver: &mut Resolver<'_>) -> Option<usize> {
        let attribute = find(self.list, &["filesetname", "filename"])?;
        if matches!(attribute.value, Some(Value::Variable(name))
            if matches!(resolver.variables.get(name), Some(Bound::Random(_))))
        {
            resolver.mistake(attribute.position, "a file set cannot be random", "name one");
            return None;
        }
        let name = self.text(resolver, &attribute);
        let at = resolver.workload.sets.iter().position(|set| set.name == name);
        if at.is_none() && !name.is_empty() {
            let known: Vec<&str> =
                resolver.workload.sets.iter().map(|set| set.name.as_str()).collect();
            let remedy = format!("define fileset name={name},...; {}", suggestion(&name, &known));
            resolver.mistake(attribute.position, format!("unknown file set `{name}`"), remedy);
        }
        at
    }
}
