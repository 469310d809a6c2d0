//! Text from outside, made harmless for the place where it goes: one function for each
//! destination, and no other anywhere.
//!
//! Names of groups, processes and units, what workloads print, and everything in the folder of a
//! run may be chosen by somebody who wants more than to be shown.

mod script;
mod table;
mod terminal;

pub use script::{shell_word, shell_words, slurm_word};
pub use table::{csv, is_metric_name, openmetrics, quoted};
pub use terminal::{line, painted, terminal};

/// Text in HTML and SVG, as content or between quotation marks of an attribute.
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

/// JSON inside a `script` element: no text in it can end the element or begin a comment. `<`
/// appears only inside strings, where JSON allows to write it as an escape.
#[must_use]
pub fn json_in_html(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_become_markup() {
        assert_eq!(html("<a & \"b\" 'c'>"), "&lt;a &amp; &quot;b&quot; &#39;c&#39;&gt;");
        assert_eq!(json_in_html("\"</script><!--\""), "\"\\u003c/script>\\u003c!--\"");
    }
}
