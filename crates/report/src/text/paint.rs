//! Terminal colours. They are never the only carrier of information: a verdict is also a word.

use assay_verdict::Verdict;

/// Applies colours, if enabled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) color: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn faint(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.with("1;31", text)
    }

    /// A text in the colour of a verdict.
    pub(crate) fn verdict(self, verdict: Verdict, text: &str) -> String {
        let code = match verdict {
            Verdict::Kept => "1;32",
            Verdict::Broken => "1;31",
            Verdict::Undecided => "1;33",
            Verdict::Void => "1;35",
        };
        self.with(code, text)
    }
}
