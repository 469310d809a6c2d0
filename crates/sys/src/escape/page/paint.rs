//! Colours. They are never the only carrier of information: beside each is a word.

/// How something went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it should.
    Good,
    /// Not as it should.
    Bad,
    /// Nobody knows yet.
    Open,
    /// Nothing can be told of it.
    Void,
}

impl Tone {
    /// The class of elements with this colour.
    #[must_use]
    pub const fn class(self) -> &'static str {
        match self {
            Self::Good => "kept",
            Self::Bad => "broken",
            Self::Open => "undecided",
            Self::Void => "void",
        }
    }
}

/// Applies terminal colours, if enabled.
#[derive(Debug, Clone, Copy)]
pub struct Paint {
    /// Whether they are.
    pub color: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// Bold text.
    #[must_use]
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    /// Faint text.
    #[must_use]
    pub fn faint(self, text: &str) -> String {
        self.with("2", text)
    }

    /// Text in the colour of a success that is only mentioned.
    #[must_use]
    pub fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    /// Text in the colour of how something went.
    #[must_use]
    pub fn tone(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "1;32",
            Tone::Bad => "1;31",
            Tone::Open => "1;33",
            Tone::Void => "1;35",
        };
        self.with(code, text)
    }
}
