//! Logical lines of a property file: without comments and blank lines, continuations joined, each
//! character with its position.

/// A character and its position, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PositionedChar {
    character: char,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// A logical line: at least one character that is not white space, and not a comment.
#[derive(Debug, Default)]
pub(super) struct Line {
    characters: Vec<PositionedChar>,
}

/// White space within a line.
fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\u{c}')
}

/// The logical lines of a text.
pub(super) fn lines(text: &[char]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut current = Line::default();
    for (number, natural) in physical_lines(text).into_iter().enumerate() {
        let indent = natural.iter().take_while(|character| is_space(**character)).count();
        let body = &natural[indent..];
        let is_comment = matches!(body.first(), None | Some('#' | '!'));
        if current.characters.is_empty() && is_comment {
            continue;
        }
        let backslashes = body.iter().rev().take_while(|character| **character == '\\').count();
        let continues = backslashes % 2 == 1;
        let kept = &body[..body.len() - usize::from(continues)];
        current.characters.extend(kept.iter().enumerate().map(|(offset, character)| {
            PositionedChar { character: *character, line: number + 1, column: indent + offset + 1 }
        }));
        if !continues {
            lines.push(std::mem::take(&mut current));
        }
    }
    lines.push(current);
    lines.retain(|line| !line.characters.is_empty());
    lines
}

/// Physical lines, ended by LF, CR or both.
fn physical_lines(text: &[char]) -> Vec<&[char]> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.iter().position(|character| matches!(character, '\n' | '\r')) {
        lines.push(&rest[..end]);
        let both = rest[end..].starts_with(&['\r', '\n']);
        rest = &rest[end + 1 + usize::from(both)..];
    }
    lines.push(rest);
    lines
}

impl Line {
    /// The key and the value, both still escaped. The key ends at the first `=`, `:` or white space
    /// that is not escaped.
    pub(super) fn split(&self) -> (&[PositionedChar], &[PositionedChar]) {
        let is_separator = |character: char| matches!(character, '=' | ':');
        let mut escaped = false;
        let end = self.characters.iter().position(|spot| {
            let ends = !escaped && (is_separator(spot.character) || is_space(spot.character));
            escaped = spot.character == '\\' && !escaped;
            ends
        });
        let (key, rest) = self.characters.split_at(end.unwrap_or(self.characters.len()));
        let mut value = skip_space(rest);
        if value.first().is_some_and(|spot| is_separator(spot.character)) {
            value = skip_space(&value[1..]);
        }
        (key, value)
    }
}

fn skip_space(characters: &[PositionedChar]) -> &[PositionedChar] {
    let spaces = characters.iter().take_while(|spot| is_space(spot.character)).count();
    &characters[spaces..]
}

/// Resolves escapes. A `\u` without four hexadecimal digits is the only error in Java; returned is
/// its position.
pub(super) fn unescaped(characters: &[PositionedChar]) -> Result<String, PositionedChar> {
    let mut units: Vec<u16> = Vec::with_capacity(characters.len());
    let mut rest = characters.iter();
    while let Some(spot) = rest.next() {
        let character = if spot.character == '\\' {
            let Some(escaped) = rest.next() else { break };
            match escaped.character {
                't' => '\t',
                'n' => '\n',
                'r' => '\r',
                'f' => '\u{c}',
                'u' => {
                    let digits: String = rest.by_ref().take(4).map(|spot| spot.character).collect();
                    let is_hexadecimal =
                        digits.len() == 4 && digits.chars().all(|digit| digit.is_ascii_hexdigit());
                    let unit = u16::from_str_radix(&digits, 16).ok().filter(|_| is_hexadecimal);
                    units.push(unit.ok_or(*spot)?);
                    continue;
                }
                other => other,
            }
        } else {
            spot.character
        };
        units.extend_from_slice(character.encode_utf16(&mut [0; 2]));
    }
    Ok(String::from_utf16_lossy(&units))
}
