//! Converts sentences of a judgement to markup.

use minijinja::{HtmlEscape, Value};

/// Escapes a sentence and formats text between backticks as code.
pub(super) fn prose(text: &str) -> Value {
    let mut markup = String::with_capacity(text.len() + 16);
    let mut parts = text.split('`').peekable();
    let mut is_code = false;
    while let Some(part) = parts.next() {
        let escaped = HtmlEscape(part);
        // An unpaired backtick is literal.
        if is_code && parts.peek().is_some() {
            markup.push_str(&format!("<code>{escaped}</code>"));
        } else if is_code {
            markup.push_str(&format!("`{escaped}"));
        } else {
            markup.push_str(&escaped.to_string());
        }
        is_code = !is_code;
    }
    Value::from_safe_string(markup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_backticks_become_markup() {
        for (text, markup) in [
            ("`task1` got 3 %", "<code>task1</code> got 3 %"),
            ("a `b` c `d`", "a <code>b</code> c <code>d</code>"),
            ("one ` alone", "one ` alone"),
            ("`<b>` & <i>", "<code>&lt;b&gt;</code> &amp; &lt;i&gt;"),
        ] {
            assert_eq!(prose(text).to_string(), markup);
        }
    }
}
