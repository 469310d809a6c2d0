//! Escaping of text for terminals, so that it is displayed and never executed.

use std::borrow::Cow;
use std::fmt::Write;

/// The first character of a terminal escape sequence.
const ESCAPE: char = '\u{1b}';

/// Escapes text of several lines for a terminal: newlines and tabs stay, every other control
/// character is shown as in a Rust or JSON string, including those that begin a colour. A newline before what runners of CI
/// services take for a command is shown as well.
#[must_use]
pub fn terminal(text: &str) -> Cow<'_, str> {
    escaped(text, of_lines)
}

/// The length of a newline or tab at the start of `text` that may pass.
fn of_lines(text: &str, sign: char) -> Option<usize> {
    /// GitHub Actions (and Forgejo's), Azure Pipelines, TeamCity. They skip blanks in front of it.
    const COMMANDS: [&str; 4] = ["::", "##[", "##vso[", "##teamcity["];
    let is_command = || COMMANDS.iter().any(|command| text.trim_start().starts_with(command));
    match sign {
        '\t' => Some(1),
        '\n' if !is_command() => Some(1),
        _ => None,
    }
}

/// Renders with `draw` in colour or without, escaped for a terminal. An escape sequence in the
/// plain rendering comes from untrusted text; it is shown as text, and since it could not be
/// distinguished from those of `draw`, nothing is coloured then.
pub fn painted(colors: bool, draw: impl Fn(bool) -> String) -> String {
    let plain = draw(false);
    if !colors || plain.contains(ESCAPE) {
        return terminal(&plain).into_owned();
    }
    let colored = draw(true);
    let escaped_text = escaped(&colored, |rest, sign| match sign {
        ESCAPE => color(rest),
        _ => of_lines(rest, sign),
    });
    escaped_text.into_owned()
}

/// Escapes everything except newlines, for a format that encodes them in its own way.
pub(crate) fn except_newlines(text: &str) -> Cow<'_, str> {
    escaped(text, |_, sign| (sign == '\n').then_some(sign.len_utf8()))
}

/// Escapes text for a single line, such as a name in a table: newlines and tabs are escaped too.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |_, _| None)
}

/// Escapes every control character in `text`, except where `harmless` returns how many of the
/// remaining bytes may pass.
fn escaped(text: &str, harmless: impl Fn(&str, char) -> Option<usize>) -> Cow<'_, str> {
    if !text.chars().any(is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        let passes = if is_control(sign) { harmless(rest, sign) } else { Some(sign.len_utf8()) };
        let end = passes.unwrap_or_else(|| {
            push_escape(sign, &mut shown);
            sign.len_utf8()
        });
        if passes.is_some() {
            shown.push_str(&rest[..end]);
        }
        rest = &rest[end..];
    }
    Cow::Owned(shown)
}

/// Whether it controls the terminal or changes the apparent position of other characters: controls
/// (C0, DEL, C1), line and paragraph separators, and characters that change the direction of text
/// (Unicode Standard Annex 9; CVE-2021-42574).
fn is_control(sign: char) -> bool {
    sign.is_control()
        || matches!(sign, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn push_escape(sign: char, shown: &mut String) {
    match sign {
        '\n' => shown.push_str("\\n"),
        '\t' => shown.push_str("\\t"),
        '\r' => shown.push_str("\\r"),
        // For characters that JSON allows unescaped in a string (RFC 8259, 7), the escape is valid
        // JSON, so that a document stays valid.
        sign if u32::from(sign) >= 0x7f => {
            let _ = write!(shown, "\\u{:04x}", u32::from(sign));
        }
        sign => {
            let _ = write!(shown, "\\x{:02x}", u32::from(sign));
        }
    }
}

/// The length of the sequence that sets colours and font weight (ECMA-48, SGR) at the start of
/// `text`, if there is one. Sequences that hide text are excluded.
fn color(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let length = parameters.find(|sign: char| !sign.is_ascii_digit() && sign != ';')?;
    let hides = parameters[..length].split(';').any(|word| word.trim_start_matches('0') == "8");
    (parameters[length..].starts_with('m') && length <= 16 && !hides).then_some(length + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let name = "x\u{1b}]0;owned\u{7}\u{1b}[2J";
        assert_eq!(terminal(name), "x\\x1b]0;owned\\x07\\x1b[2J");
        assert_eq!(line("a\nb\tc\r\u{9b}d\u{202e}\u{7f}"), "a\\nb\\tc\\r\\u009bd\\u202e\\u007f");
    }

    #[test]
    fn newlines_and_letters_stay() {
        for text in ["one\ntwo\tthree\n", "gr\u{fc}n \u{2588} \u{1f4a1}", ""] {
            assert_eq!(terminal(text), text);
        }
    }

    /// The name of a file in a foreign run folder is in messages; a CI service reads those line by line.
    #[test]
    fn no_line_of_foreign_text_is_a_command_to_a_ci_runner() {
        let name = "samples/x\n::error title=a::b";
        assert_eq!(terminal(name), "samples/x\\n::error title=a::b");
        assert_eq!(painted(true, |_| name.to_owned()), terminal(name));
        assert_eq!(terminal("x\n \n\t##vso[task]"), "x\\n \\n\t##vso[task]");
        for ours in ["a\n## Results\n", "a\n:x", "a::b\n"] {
            assert_eq!(terminal(ours), ours);
        }
    }

    #[test]
    fn own_colours_pass_on_request_and_those_of_untrusted_text_never() {
        let red = |text: &str, color: bool| match color {
            true => format!("\u{1b}[1;31m{text}\u{1b}[0m"),
            false => text.to_owned(),
        };
        let broken = "\u{1b}[1;31mbroken\u{1b}[0m";
        assert_eq!(painted(true, |color| red("broken", color)), broken);
        assert_eq!(painted(false, |color| red("broken", color)), "broken");
        // A workload that prints green over a red verdict.
        let green = "\u{1b}[1;32mkept";
        assert_eq!(painted(true, |color| red(green, color)), "\\x1b[1;32mkept");
        assert_eq!(terminal(broken), "\\x1b[1;31mbroken\\x1b[0m");
        for other in ["\u{1b}[8mhidden", "\u{1b}[1;08m", "\u{1b}[2J", "\u{1b}[", "\u{1b}[1"] {
            let draw = |color| if color { other.to_owned() } else { String::new() };
            assert!(!painted(true, draw).contains(ESCAPE), "{other:?}");
        }
    }
}
