//! Escaping of untrusted text, one function per destination, used everywhere; and cutting it.
//!
//! Names of groups, processes and units, output of workloads, and everything in a run folder may
//! have been chosen by an attacker.

pub mod page;
mod script;
mod table;
mod terminal;

pub use script::{shell_word, shell_words, slurm_word};
pub use table::{csv, openmetrics, quoted};
pub use terminal::{line, painted, terminal};

/// Escapes text for HTML and SVG, as content or inside a quoted attribute.
#[must_use]
pub fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            sign => escaped.push(sign),
        }
    }
    escaped
}

/// Escapes text for XML 1.0, as content or inside a quoted attribute. Characters that XML cannot hold are
/// shown as a terminal would show them.
#[must_use]
pub fn xml(text: &str) -> String {
    html(&terminal(text)).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// Escapes text for a cell of a table in Markdown.
#[must_use]
pub fn markdown_cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The beginning of a text of unknown length: whole characters in at most so many bytes.
#[must_use]
pub fn beginning(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

/// Escapes JSON for a `script` element: no text in it can end the element or begin a comment. `<`
/// appears only inside strings, where JSON allows an escape.
#[must_use]
pub fn json_in_html(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_text_ends_between_characters() {
        assert_eq!(beginning("short", 300), "short");
        assert_eq!(beginning("short", 0), "");
        assert_eq!(beginning(&"\u{20ac}".repeat(200), 300).len(), 300);
        assert_eq!(beginning(&format!("x{}", "\u{20ac}".repeat(200)), 300).len(), 298);
        assert_eq!(beginning(&format!("x{}", "\u{e4}".repeat(5000)), 1024).len(), 1023);
    }

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(html("<a & \"b\" 'c'>"), "&lt;a &amp; &quot;b&quot; &#39;c&#39;&gt;");
        assert_eq!(json_in_html("\"</script><!--\""), "\"\\u003c/script>\\u003c!--\"");
    }
}
