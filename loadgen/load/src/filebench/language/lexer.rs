//! The lexer: words, numbers with binary suffixes, variables, quoted text.

use super::mistake::{Mistake, Position};
use super::script::Piece;

/// A token. Keywords are words: the parser distinguishes them by context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    Integer(u64),
    /// `-10`: the period of `psrun`.
    Negative(u64),
    /// Without its dollar sign and braces.
    Variable(String),
    Text(Vec<Piece>),
    OpenBrace,
    CloseBrace,
    OpenParenthesis,
    CloseParenthesis,
    Assign,
    Comma,
}

/// A token and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spanned {
    pub(super) token: Token,
    pub(super) position: Position,
}

/// All tokens of a text. Characters that begin no token are reported as mistakes and skipped.
pub(super) fn tokens(text: &str) -> (Vec<Spanned>, Vec<Mistake>, Position) {
    let mut lexer = Lexer {
        rest: text.chars().peekable(),
        at: Position { line: 1, column: 1 },
        mistakes: Vec::new(),
    };
    let mut tokens = Vec::new();
    while let Some(spanned) = lexer.token() {
        tokens.push(spanned);
    }
    (tokens, lexer.mistakes, lexer.at)
}

struct Lexer<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    at: Position,
    mistakes: Vec<Mistake>,
}

fn begins_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '/' || c == '-'
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "/._:;-".contains(c)
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        if c == '\n' {
            self.at = Position { line: self.at.line + 1, column: 1 };
        } else {
            self.at.column += 1;
        }
        Some(c)
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let mut word = String::new();
        while let Some(c) = self.rest.next_if(|c| belongs(*c)) {
            self.at.column += 1;
            word.push(c);
        }
        word
    }

    fn token(&mut self) -> Option<Spanned> {
        loop {
            let position = self.at;
            let first = *self.rest.peek()?;
            let token = match first {
                c if c.is_whitespace() => {
                    self.next();
                    continue;
                }
                '#' => {
                    self.take(|c| c != '\n');
                    continue;
                }
                '{' => self.single(Token::OpenBrace),
                '}' => self.single(Token::CloseBrace),
                '(' => self.single(Token::OpenParenthesis),
                ')' => self.single(Token::CloseParenthesis),
                '=' => self.single(Token::Assign),
                ',' => self.single(Token::Comma),
                '"' => self.text(position),
                '$' => match self.variable(position) {
                    Some(name) => Token::Variable(name),
                    None => continue,
                },
                c if c.is_ascii_digit() => self.number(position),
                c if begins_word(c) => self.word(),
                c => {
                    self.next();
                    self.mistakes.push(Mistake::new(
                        position,
                        format!("unexpected character `{}`", c.escape_default()),
                        "remove it, or put text with such characters in double quotes",
                    ));
                    continue;
                }
            };
            return Some(Spanned { token, position });
        }
    }

    fn single(&mut self, token: Token) -> Token {
        self.next();
        token
    }

    fn word(&mut self) -> Token {
        let word = self.take(in_word);
        match word.strip_prefix('-').map(str::parse) {
            Some(Ok(number)) => Token::Negative(number),
            _ => Token::Word(word),
        }
    }

    fn number(&mut self, position: Position) -> Token {
        let digits = self.take(|c| c.is_ascii_digit());
        let scale: u64 = match self.rest.peek() {
            Some('k') => 1 << 10,
            Some('m') => 1 << 20,
            Some('g') => 1 << 30,
            _ => 1,
        };
        if scale > 1 {
            self.next();
        }
        let value = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(scale));
        Token::Integer(value.unwrap_or_else(|| {
            self.mistakes.push(Mistake::new(
                position,
                format!("{digits} with its suffix does not fit 64 bits"),
                "write a smaller number; k, m and g are powers of 1024",
            ));
            0
        }))
    }

    /// `$name`, `${name}` or `$(name)`.
    fn variable(&mut self, position: Position) -> Option<String> {
        self.next();
        let close = match self.rest.peek() {
            Some('{') => Some('}'),
            Some('(') => Some(')'),
            _ => None,
        };
        if close.is_some() {
            self.next();
        }
        let name = self.take(|c| c.is_ascii_alphanumeric() || c == '_');
        let closed = close.is_none_or(|close| self.rest.next_if_eq(&close).is_some());
        self.at.column += u32::from(close.is_some() && closed);
        if closed && name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Some(name);
        }
        self.mistakes.push(Mistake::new(
            position,
            "a dollar sign without a variable name",
            "write $name or ${name}; a name begins with a letter",
        ));
        None
    }

    fn text(&mut self, opened: Position) -> Token {
        self.next();
        let mut pieces = Vec::new();
        let mut literal = String::new();
        loop {
            let position = self.at;
            match self.rest.peek().copied() {
                None => {
                    self.mistakes.push(Mistake::new(
                        opened,
                        "unterminated text",
                        "close it with a double quote",
                    ));
                    break;
                }
                Some('"') => {
                    self.next();
                    break;
                }
                Some('$') => {
                    if let Some(name) = self.variable(position) {
                        if !literal.is_empty() {
                            pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                        }
                        pieces.push(Piece::Variable(name));
                    }
                }
                Some('\\') => {
                    self.next();
                    match self.next() {
                        Some('n') => literal.push('\n'),
                        Some(c) => literal.push(c),
                        None => {}
                    }
                }
                Some(c) => {
                    self.next();
                    literal.push(c);
                }
            }
        }
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Token::Text(pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Vec<Token> {
        let (tokens, mistakes, _) = tokens(text);
        assert_eq!(mistakes, []);
        tokens.into_iter().map(|spanned| spanned.token).collect()
    }

    #[test]
    fn suffixes_are_powers_of_1024() {
        let expected = [5, 16 << 10, 10 << 20, 2 << 30].map(Token::Integer);
        assert_eq!(only("05 16k 10m 2g"), expected);
        assert_eq!(only("-10"), [Token::Negative(10)]);
    }

    #[test]
    fn words_may_be_paths_and_parameters_of_custom_variables() {
        let word = |text: &str| Token::Word(text.to_owned());
        assert_eq!(
            only("/tmp/a_b mean:131072;gamma:1.5"),
            [word("/tmp/a_b"), word("mean:131072;gamma:1.5")]
        );
    }

    #[test]
    fn variables_may_be_bare_braced_or_in_text() {
        let variable = || Token::Variable("dir".to_owned());
        assert_eq!(only("$dir ${dir} $(dir)"), [variable(), variable(), variable()]);
        assert_eq!(
            only(r#""in $dir\n\$5""#),
            [Token::Text(vec![
                Piece::Literal("in ".to_owned()),
                Piece::Variable("dir".to_owned()),
                Piece::Literal("\n$5".to_owned()),
            ])]
        );
    }

    #[test]
    fn each_stray_character_is_a_mistake_with_its_position() {
        let (found, mistakes, _) = tokens("set # comment %\n  % ?\nrun");
        assert_eq!(found.len(), 2);
        let positions: Vec<String> = mistakes.iter().map(|m| m.position.to_string()).collect();
        assert_eq!(positions, ["2:3", "2:5"]);
        let (_, mistakes, _) = tokens("echo \"open");
        assert_eq!(mistakes[0].position, Position { line: 1, column: 6 });
        let (_, mistakes, _) = tokens("99999999999g");
        assert!(mistakes[0].what.contains("64 bits"), "{mistakes:?}");
    }
}
