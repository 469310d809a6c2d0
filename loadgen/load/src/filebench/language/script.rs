//! The syntax tree of a script, before variables are resolved; it can be printed as a script again.

use std::fmt::{self, Display, Formatter};

use super::mistake::{Mistake, Position};

/// A part of a quoted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::filebench) enum Piece {
    Literal(String),
    Variable(String),
}

/// The value after an equals sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::filebench) enum Value {
    Integer(u64),
    Bool(bool),
    /// A bare word.
    Word(String),
    Text(Vec<Piece>),
    Variable(String),
    /// `{{percent, low, high}, ...}`
    Table(Vec<[Box<Value>; 3]>),
}

/// `name=value`, or `name` alone, or `$local=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::filebench) struct Attribute {
    /// With a dollar sign for a local variable of a composite operation.
    pub(in crate::filebench) name: String,
    pub(in crate::filebench) value: Option<Value>,
    pub(in crate::filebench) position: Position,
}

/// `flowop TYPE attributes`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::filebench) struct FlowOp {
    pub(in crate::filebench) kind: String,
    pub(in crate::filebench) attributes: Vec<Attribute>,
    pub(in crate::filebench) position: Position,
}

/// `thread attributes { flowops }`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::filebench) struct ThreadBlock {
    pub(in crate::filebench) attributes: Vec<Attribute>,
    pub(in crate::filebench) operations: Vec<FlowOp>,
    pub(in crate::filebench) position: Position,
}

/// When a run ends (`set mode quit ...`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::filebench) enum Quit {
    #[default]
    Timeout,
    AllDone,
    FirstDone,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::filebench) enum Command {
    Set(String, Value),
    SetRandom(String, Vec<Attribute>),
    SetCustom(String, Vec<Attribute>),
    ModeQuit(Quit),
    ModeNoStats,
    FileSet(Vec<Attribute>),
    File(Vec<Attribute>),
    Process(Vec<Attribute>, Vec<ThreadBlock>),
    Composite(Vec<Attribute>, Vec<FlowOp>),
    CreateFiles,
    /// `create processes` of 1.4: the run creates them.
    CreateProcesses,
    Run(Option<Value>),
    /// Period (negative: reset statistics after each one) and seconds.
    PsRun(Option<i64>, Option<u64>),
    Echo(Vec<Piece>),
    /// `usage` of 1.4.
    Usage(Vec<Piece>),
    System(Vec<Piece>),
    Sleep(Value),
    Debug(u64),
    EventGen(Vec<Attribute>),
    LatHist,
    /// `enable multi` and `domultisync`: synchronized clients, not supported.
    Multi(Vec<Attribute>),
    MultiSync(Vec<Attribute>),
    ListFileSets,
    ListFlowOps,
    /// `load NAME`: the commands of another file.
    Load(String),
    Version,
    Quit,
}

/// A command and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::filebench) struct Statement {
    pub(in crate::filebench) command: Command,
    pub(in crate::filebench) position: Position,
}

/// All statements of a file, up to the command that ends it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::filebench) struct Script {
    pub(in crate::filebench) statements: Vec<Statement>,
    /// Unknown attributes; the resolver can still check the rest of the script.
    pub(in crate::filebench) unknown: Vec<Mistake>,
}

fn quoted(pieces: &[Piece]) -> String {
    let mut text = String::from("\"");
    for piece in pieces {
        match piece {
            Piece::Variable(name) => text.push_str(&format!("${{{name}}}")),
            Piece::Literal(literal) => {
                for c in literal.chars() {
                    match c {
                        '\n' => text.push_str("\\n"),
                        '"' | '\\' | '$' => text.extend(['\\', c]),
                        c => text.push(c),
                    }
                }
            }
        }
    }
    text.push('"');
    text
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::Bool(bool) => write!(f, "{bool}"),
            Self::Word(word) => f.write_str(word),
            Self::Text(pieces) => f.write_str(&quoted(pieces)),
            Self::Variable(name) => write!(f, "${name}"),
            Self::Table(rows) => {
                let rows: Vec<String> =
                    rows.iter().map(|[p, low, high]| format!("{{{p}, {low}, {high}}}")).collect();
                write!(f, "{{{}}}", rows.join(", "))
            }
        }
    }
}

impl Display for Attribute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}={value}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

fn joined(attributes: &[Attribute]) -> String {
    let all: Vec<String> = attributes.iter().map(Attribute::to_string).collect();
    all.join(",")
}

fn operations(list: &[FlowOp], indent: &str) -> String {
    list.iter()
        .map(|op| format!("{indent}flowop {} {}\n", op.kind, joined(&op.attributes)))
        .collect()
}

impl Display for Command {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set(name, value) => write!(f, "set ${name}={value}"),
            Self::SetRandom(name, list) => write!(f, "set ${name}=randvar({})", joined(list)),
            Self::SetCustom(name, list) => write!(f, "set ${name}=cvar({})", joined(list)),
            Self::ModeQuit(Quit::Timeout) => f.write_str("set mode quit timeout"),
            Self::ModeQuit(Quit::AllDone) => f.write_str("set mode quit alldone"),
            Self::ModeQuit(Quit::FirstDone) => f.write_str("set mode quit firstdone"),
            Self::ModeNoStats => f.write_str("set mode nousestats"),
            Self::FileSet(list) => write!(f, "define fileset {}", joined(list)),
            Self::File(list) => write!(f, "define file {}", joined(list)),
            Self::Process(list, threads) => {
                writeln!(f, "define process {}\n{{", joined(list))?;
                for thread in threads {
                    writeln!(f, "  thread {}\n  {{", joined(&thread.attributes))?;
                    writeln!(f, "{}  }}", operations(&thread.operations, "    "))?;
                }
                f.write_str("}")
            }
            Self::Composite(list, inner) => {
                write!(f, "define flowop {}\n{{\n{}}}", joined(list), operations(inner, "  "))
            }
            Self::CreateFiles => f.write_str("create files"),
            Self::CreateProcesses => f.write_str("create processes"),
            Self::Run(None) => f.write_str("run"),
            Self::Run(Some(value)) => write!(f, "run {value}"),
            Self::PsRun(period, seconds) => {
                f.write_str("psrun")?;
                period.iter().try_for_each(|period| write!(f, " {period}"))?;
                seconds.iter().try_for_each(|seconds| write!(f, " {seconds}"))
            }
            Self::Echo(text) => write!(f, "echo {}", quoted(text)),
            Self::Usage(text) => write!(f, "usage {}", quoted(text)),
            Self::System(text) => write!(f, "system {}", quoted(text)),
            Self::Sleep(value) => write!(f, "sleep {value}"),
            Self::Debug(level) => write!(f, "debug {level}"),
            Self::EventGen(list) => write!(f, "eventgen {}", joined(list)),
            Self::LatHist => f.write_str("enable lathist"),
            Self::Multi(list) => write!(f, "enable multi {}", joined(list)),
            Self::MultiSync(list) => write!(f, "domultisync {}", joined(list)),
            Self::ListFileSets => f.write_str("list fileset"),
            Self::ListFlowOps => f.write_str("list flowop"),
            Self::Load(name) => write!(f, "load {name}"),
            Self::Version => f.write_str("version"),
            Self::Quit => f.write_str("quit"),
        }
    }
}

impl Display for Script {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.statements.iter().try_for_each(|statement| writeln!(f, "{}", statement.command))
    }
}
