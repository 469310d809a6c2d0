//! The parser. After a mistake it resumes at the next command, thread or operation, so that one
//! pass finds all mistakes. The command that runs the load ends the file: filebench ignores the
//! rest.

use super::attributes::{
    COMMANDS, COMPOSITE, CUSTOM, EVENT_GENERATOR, FILE, FILE_SET, FLOW_OP, MULTI, MULTI_SYNC,
    PROCESS, RANDOM, THREAD,
};
use super::lexer::{Spanned, Token, tokens};
use super::mistake::{Mistake, Position, suggestion};
use super::script::{
    Attribute, Command, FlowOp, Piece, Quit, Script, Statement, ThreadBlock, Value,
};

/// Parses a script, or returns all its mistakes.
pub(in crate::filebench) fn parse(text: &str) -> Result<Script, Vec<Mistake>> {
    let (tokens, mistakes, end) = tokens(text);
    let mut parser = Parser { tokens, next: 0, end, mistakes, unknown: Vec::new() };
    let mut script = Script::default();
    while let Some(position) = parser.more() {
        match parser.command() {
            Ok(command) => {
                let last = matches!(command, Command::Run(_) | Command::PsRun(..) | Command::Quit);
                script.statements.push(Statement { command, position });
                if last {
                    let last = parser.last_position();
                    parser.mistakes.retain(|mistake| mistake.position < last);
                    break;
                }
            }
            Err(mistake) => {
                parser.mistakes.push(mistake);
                parser.skip_to(COMMANDS);
            }
        }
    }
    if parser.mistakes.is_empty() {
        script.unknown = parser.unknown;
        return Ok(script);
    }
    parser.mistakes.append(&mut parser.unknown);
    Err(parser.mistakes)
}

struct Parser {
    tokens: Vec<Spanned>,
    next: usize,
    end: Position,
    mistakes: Vec<Mistake>,
    /// Mistakes for unknown attributes.
    unknown: Vec<Mistake>,
}

type Parsed<T> = Result<T, Mistake>;

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|spanned| &spanned.token)
    }

    fn position(&self) -> Position {
        self.tokens.get(self.next).map_or(self.end, |spanned| spanned.position)
    }

    fn last_position(&self) -> Position {
        let last = self.next.checked_sub(1).and_then(|last| self.tokens.get(last));
        last.map_or(self.end, |spanned| spanned.position)
    }

    fn more(&self) -> Option<Position> {
        self.tokens.get(self.next).map(|spanned| spanned.position)
    }

    fn accept(&mut self, token: &Token) -> bool {
        let is_next = self.peek() == Some(token);
        self.next += usize::from(is_next);
        is_next
    }

    fn next_is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(next)) if next == word)
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let is_next = self.next_is_word(word);
        self.next += usize::from(is_next);
        is_next
    }

    /// A mistake at the next token, which is not the expected one.
    fn unexpected(&self, expected: &str, remedy: impl Into<String>) -> Mistake {
        let found = match self.peek() {
            None => "the file ends".to_owned(),
            Some(token) => format!("found {}", describe(token)),
        };
        Mistake::new(self.position(), format!("expected {expected}, {found}"), remedy)
    }

    fn expect(&mut self, token: &Token, remedy: &str) -> Parsed<()> {
        if self.accept(token) { Ok(()) } else { Err(self.unexpected(&describe(token), remedy)) }
    }

    fn skip_to(&mut self, words: &[&str]) {
        while let Some(token) = self.peek() {
            // A word in the first column is meant as a command, mistyped or not.
            let begins = matches!(token, Token::Word(word)
                if words.contains(&word.as_str()) || self.position().column == 1);
            let before = self.next.checked_sub(1).and_then(|before| self.tokens.get(before));
            // A word after `=` or `,` is a value or an attribute, even if it is a keyword.
            let inside = before.is_some_and(|t| matches!(t.token, Token::Assign | Token::Comma));
            if begins && !inside {
                return;
            }
            self.next += 1;
        }
    }

    fn command(&mut self) -> Parsed<Command> {
        let position = self.position();
        let Some(Token::Word(word)) = self.peek().cloned() else {
            let unexpected =
                self.unexpected("a command", format!("one of: {}", COMMANDS.join(", ")));
            self.next += 1;
            return Err(unexpected);
        };
        self.next += 1;
        match word.as_str() {
            "set" => self.set(),
            "define" => self.define(),
            "create" => self.create(),
            "run" => Ok(Command::Run(self.amount())),
            "psrun" => Ok(self.psrun()),
            "echo" => self.text("echo").map(Command::Echo),
            "usage" => self.text("usage").map(Command::Usage),
            "system" => self.text("system").map(Command::System),
            "sleep" => self.sleep(),
            "debug" => self.debug(),
            "eventgen" => self.attributes(EVENT_GENERATOR).map(Command::EventGen),
            "enable" if self.accept_word("lathist") => Ok(Command::LatHist),
            "enable" if self.accept_word("multi") => self.attributes(MULTI).map(Command::Multi),
            "enable" => Err(self.unexpected("`lathist` or `multi`", "write `enable lathist`")),
            "domultisync" => self.attributes(MULTI_SYNC).map(Command::MultiSync),
            "list" => self.list(),
            "load" => self.word("the name of a script").map(Command::Load),
            "version" => Ok(Command::Version),
            "quit" => Ok(Command::Quit),
            other => Err(Mistake::new(
                position,
                format!("unknown command `{other}`"),
                suggestion(other, COMMANDS),
            )),
        }
    }

    fn word(&mut self, what: &str) -> Parsed<String> {
        match self.peek().cloned() {
            Some(Token::Word(word)) => {
                self.next += 1;
                Ok(word)
            }
            _ => Err(self.unexpected(what, "write a word: letters, digits and / . _ : ; -")),
        }
    }

    fn text(&mut self, command: &str) -> Parsed<Vec<Piece>> {
        match self.peek().cloned() {
            Some(Token::Text(pieces)) => {
                self.next += 1;
                Ok(pieces)
            }
            _ => Err(self.unexpected("a text", format!("write {command} \"...\""))),
        }
    }

    /// A number or a variable, if one follows.
    fn amount(&mut self) -> Option<Value> {
        let value = match self.peek()? {
            Token::Integer(number) => Value::Integer(*number),
            Token::Variable(name) => Value::Variable(name.clone()),
            _ => return None,
        };
        self.next += 1;
        Some(value)
    }

    fn sleep(&mut self) -> Parsed<Command> {
        let seconds = self.amount();
        seconds.map(Command::Sleep).ok_or_else(|| self.unexpected("seconds", "write `sleep 5`"))
    }

    fn debug(&mut self) -> Parsed<Command> {
        match self.amount() {
            Some(Value::Integer(level)) => Ok(Command::Debug(level)),
            _ => Err(self.unexpected("a level", "write `debug 0` to `debug 10`")),
        }
    }

    fn psrun(&mut self) -> Command {
        let period = match self.peek() {
            Some(Token::Integer(period)) => i64::try_from(*period).ok(),
            Some(Token::Negative(period)) => i64::try_from(*period).ok().map(|period| -period),
            _ => None,
        };
        self.next += usize::from(period.is_some());
        let seconds = match self.peek() {
            Some(Token::Integer(seconds)) if period.is_some() => Some(*seconds),
            _ => None,
        };
        self.next += usize::from(seconds.is_some());
        Command::PsRun(period, seconds)
    }

    fn create(&mut self) -> Parsed<Command> {
        match self.peek() {
            Some(Token::Word(word))
                if ["file", "files", "fileset", "filesets"].contains(&word.as_str()) =>
            {
                self.next += 1;
                Ok(Command::CreateFiles)
            }
            Some(Token::Word(word)) if word == "process" || word == "processes" => {
                self.next += 1;
                Ok(Command::CreateProcesses)
            }
            _ => Err(self.unexpected("what to create", "write `create files`")),
        }
    }

    fn list(&mut self) -> Parsed<Command> {
        match self.peek() {
            Some(Token::Word(word)) if word.starts_with("fileset") => {
                self.next += 1;
                Ok(Command::ListFileSets)
            }
            Some(Token::Word(word)) if word == "flowop" => {
                self.next += 1;
                Ok(Command::ListFlowOps)
            }
            _ => Err(self.unexpected("what to list", "write `list fileset` or `list flowop`")),
        }
    }

    fn set(&mut self) -> Parsed<Command> {
        if self.accept_word("mode") {
            return self.mode();
        }
        let Some(Token::Variable(name)) = self.peek().cloned() else {
            return Err(self.unexpected("a variable or `mode`", "write `set $name=value`"));
        };
        self.next += 1;
        self.expect(&Token::Assign, "write `set $name=value`")?;
        for (word, attributes) in [("randvar", RANDOM), ("cvar", CUSTOM)] {
            if self.accept_word(word) {
                self.expect(&Token::OpenParenthesis, "write `(type=...)` behind it")?;
                let list = self.attributes(attributes)?;
                self.expect(&Token::CloseParenthesis, "close the list of attributes")?;
                return Ok(if word == "cvar" {
                    Command::SetCustom(name, list)
                } else {
                    Command::SetRandom(name, list)
                });
            }
        }
        Ok(Command::Set(name, self.value()?))
    }

    fn mode(&mut self) -> Parsed<Command> {
        if self.accept_word("nousestats") {
            return Ok(Command::ModeNoStats);
        }
        let remedy = "write `set mode quit timeout`, `alldone` or `firstdone`";
        if !self.accept_word("quit") {
            return Err(self.unexpected("`quit` or `nousestats`", remedy));
        }
        for (word, quit) in
            [("timeout", Quit::Timeout), ("alldone", Quit::AllDone), ("firstdone", Quit::FirstDone)]
        {
            if self.accept_word(word) {
                return Ok(Command::ModeQuit(quit));
            }
        }
        Err(self.unexpected("when to quit", remedy))
    }

    fn define(&mut self) -> Parsed<Command> {
        let remedy = "define a fileset, file, process or flowop";
        let Some(Token::Word(word)) = self.peek().cloned() else {
            return Err(self.unexpected("what to define", remedy));
        };
        let unexpected = self.unexpected("what to define", remedy);
        self.next += 1;
        match word.as_str() {
            "fileset" | "filesets" => self.attributes(FILE_SET).map(Command::FileSet),
            "file" => self.attributes(FILE).map(Command::File),
            "process" | "processes" => self.process(),
            "flowop" => {
                let list = self.attributes(COMPOSITE)?;
                Ok(Command::Composite(list, self.operations()?))
            }
            "randvar" => self.random_of_1_4(),
            _ => Err(unexpected),
        }
    }

    /// `define randvar name=$x, ...` of 1.4 is equivalent to `set $x=randvar(...)`.
    fn random_of_1_4(&mut self) -> Parsed<Command> {
        let position = self.position();
        let mut list = self.attributes(RANDOM)?;
        let at = list.iter().position(|attribute| attribute.name == "name");
        match at.map(|at| list.remove(at).value) {
            Some(Some(Value::Variable(name))) => Ok(Command::SetRandom(name, list)),
            _ => Err(Mistake::new(
                position,
                "a random variable without a name",
                "write name=$variable",
            )),
        }
    }

    fn process(&mut self) -> Parsed<Command> {
        let list = self.attributes(PROCESS)?;
        self.expect(&Token::OpenBrace, "write the threads of a process in braces")?;
        let mut threads = Vec::new();
        while !self.accept(&Token::CloseBrace) {
            let position = self.position();
            if !self.accept_word("thread") {
                return Err(self.unexpected("`thread` or `}`", "close the process with `}`"));
            }
            let attributes = self.attributes(THREAD)?;
            let operations = self.operations()?;
            threads.push(ThreadBlock { attributes, operations, position });
        }
        Ok(Command::Process(list, threads))
    }

    /// Parses `{ flowop ... }`. A mistake in one operation does not hide those in the next.
    fn operations(&mut self) -> Parsed<Vec<FlowOp>> {
        self.expect(&Token::OpenBrace, "write operations in braces")?;
        let mut list = Vec::new();
        while !self.accept(&Token::CloseBrace) {
            let position = self.position();
            if !self.accept_word("flowop") {
                return Err(self.unexpected("`flowop` or `}`", "close the list with `}`"));
            }
            let read = self.word("the type of an operation").and_then(|kind| {
                let attributes = self.attributes(FLOW_OP)?;
                Ok(FlowOp { kind, attributes, position })
            });
            match read {
                Ok(operation) => list.push(operation),
                Err(mistake) => {
                    self.mistakes.push(mistake);
                    self.skip_in_block();
                }
            }
        }
        Ok(list)
    }

    /// Skips to the next operation or to the brace that closes the block.
    fn skip_in_block(&mut self) {
        while let Some(token) = self.peek() {
            if *token == Token::CloseBrace || self.next_is_word("flowop") {
                return;
            }
            self.next += 1;
        }
    }

    fn attributes(&mut self, known: &[&str]) -> Parsed<Vec<Attribute>> {
        let mut list = Vec::new();
        // A process may have none, `thread { ... }` too; the resolver requires their names.
        if !matches!(self.peek(), Some(Token::Word(_) | Token::Variable(_))) {
            return Ok(list);
        }
        loop {
            let position = self.position();
            let name = match self.peek() {
                Some(Token::Word(word)) => word.clone(),
                Some(Token::Variable(name)) => format!("${name}"),
                _ => return Err(self.unexpected("an attribute", "remove the comma before it")),
            };
            self.next += 1;
            let value = if self.accept(&Token::Assign) { Some(self.value()?) } else { None };
            if !known.contains(&name.as_str()) && !name.starts_with('$') {
                // Reported without stopping: the rest of the list may have more mistakes.
                let what = format!("unknown attribute `{name}`");
                self.unknown.push(Mistake::new(position, what, suggestion(&name, known)));
            }
            list.push(Attribute { name, value, position });
            if !self.accept(&Token::Comma) {
                return Ok(list);
            }
        }
    }

    fn value(&mut self) -> Parsed<Value> {
        let remedy = "write a number, a word, a \"text\", true, false or $variable";
        let value = match self.peek() {
            Some(Token::Integer(number)) => Value::Integer(*number),
            Some(Token::Word(word)) => match word.as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                _ => Value::Word(word.clone()),
            },
            Some(Token::Text(pieces)) => Value::Text(pieces.clone()),
            Some(Token::Variable(name)) => Value::Variable(name.clone()),
            Some(Token::OpenBrace) => return self.table(),
            _ => return Err(self.unexpected("a value", remedy)),
        };
        self.next += 1;
        Ok(value)
    }

    fn table(&mut self) -> Parsed<Value> {
        let remedy = "write {{percent, low, high}, ...}";
        self.expect(&Token::OpenBrace, remedy)?;
        let mut rows = Vec::new();
        loop {
            self.expect(&Token::OpenBrace, remedy)?;
            let mut row = Vec::with_capacity(3);
            for column in 0..3 {
                if column > 0 {
                    self.expect(&Token::Comma, remedy)?;
                }
                let cell = self.amount().ok_or_else(|| self.unexpected("a number", remedy))?;
                row.push(Box::new(cell));
            }
            self.expect(&Token::CloseBrace, remedy)?;
            if let Ok(row) = row.try_into() {
                rows.push(row);
            }
            if !self.accept(&Token::Comma) {
                break;
            }
        }
        self.expect(&Token::CloseBrace, remedy)?;
        Ok(Value::Table(rows))
    }
}

fn describe(token: &Token) -> String {
    match token {
        Token::Word(word) => format!("`{word}`"),
        Token::Integer(number) => format!("`{number}`"),
        Token::Negative(number) => format!("`-{number}`"),
        Token::Variable(name) => format!("`${name}`"),
        Token::Text(_) => "a text".to_owned(),
        Token::OpenBrace => "`{`".to_owned(),
        Token::CloseBrace => "`}`".to_owned(),
        Token::OpenParenthesis => "`(`".to_owned(),
        Token::CloseParenthesis => "`)`".to_owned(),
        Token::Assign => "`=`".to_owned(),
        Token::Comma => "`,`".to_owned(),
    }
}
