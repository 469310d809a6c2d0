//! A page for people: made once as a value, and rendered for a terminal ([`Page::text`]) or as HTML (crate `report`).
//!
//! Texts in it are plain and may have been chosen by an attacker; each renderer escapes them.

mod paint;
mod table;
mod terminal;

pub use paint::{Paint, Tone};
pub use table::{Cell, Column, PAGE, Rows, Table, columns};
pub use terminal::{MIN_WIDTH, heading, joined, wrap};

/// A page: a head, then sections.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The title of the window.
    pub title: String,
    /// What made it, of what, and when.
    pub kicker: Vec<String>,
    /// The first line.
    pub heading: String,
    /// What it is about.
    pub question: Option<String>,
    /// The answer.
    pub verdict: Option<Verdict>,
    /// What stands before all sections.
    pub head: Parts,
    /// The sections.
    pub sections: Vec<Section>,
}

/// The answer of a page.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// In a word.
    pub tag: Tag,
    /// In a sentence.
    pub meaning: String,
    /// What a page shows below it; a terminal does not.
    pub more: Parts,
    /// What a page shows beside it.
    pub picture: Option<Figure>,
}

impl Verdict {
    /// A word and a sentence.
    #[must_use]
    pub fn new(tag: Tag, meaning: impl Into<String>) -> Self {
        Self { tag, meaning: meaning.into(), more: Parts::default(), picture: None }
    }
}

/// A word with its colour, and a mark for those who see no colours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// The colour.
    pub tone: Tone,
    /// The mark.
    pub mark: &'static str,
    /// The word.
    pub word: String,
}

impl Tag {
    /// A word with a colour and a mark.
    #[must_use]
    pub fn new(tone: Tone, mark: &'static str, word: impl Into<String>) -> Self {
        Self { tone, mark, word: word.into() }
    }

    /// The mark and the word.
    #[must_use]
    pub fn marked(&self) -> String {
        format!("{} {}", self.mark, self.word).trim_start().to_owned()
    }
}

/// A part of a page with a heading.
#[derive(Debug, Clone)]
pub struct Section {
    /// Its name in links.
    pub id: String,
    /// The heading.
    pub heading: String,
    /// Its name in the contents; without one it is not listed.
    pub listed: Option<String>,
    /// Its verdict.
    pub tag: Option<Tag>,
    /// What a page shows of it until it is opened; without this a page shows all.
    pub folded: Option<String>,
    /// What it consists of.
    pub parts: Parts,
}

impl Section {
    /// A section under its heading, which also stands in the contents.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        heading: impl Into<String>,
        fill: impl FnOnce(&mut Parts),
    ) -> Self {
        let heading = heading.into();
        let mut parts = Parts::default();
        fill(&mut parts);
        let (id, listed) = (id.into(), Some(heading.clone()));
        Self { id, listed, heading, tag: None, folded: None, parts }
    }

    /// The same with a verdict.
    #[must_use]
    pub fn tagged(self, tag: Tag) -> Self {
        Self { tag: Some(tag), ..self }
    }

    /// The same, of which a page shows only a line until it is opened.
    #[must_use]
    pub fn folded(self, line: impl Into<String>) -> Self {
        Self { folded: Some(line.into()), ..self }
    }

    /// The same with another name in the contents.
    #[must_use]
    pub fn listed(self, name: impl Into<String>) -> Self {
        Self { listed: Some(name.into()), ..self }
    }
}

/// What a section consists of.
#[derive(Debug, Clone)]
pub enum Part {
    /// A paragraph.
    Text {
        /// What it is, for the style of a page: `reading`, `note warning`; empty for plain text.
        class: &'static str,
        /// Its text; what stands between backticks is code.
        text: String,
        /// A word after it.
        tag: Option<Tag>,
    },
    /// Lines that belong together.
    List(Vec<String>),
    /// Values with their names.
    Facts(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// Figures side by side; a terminal shows none.
    Figures(Vec<Figure>),
    /// Text to copy.
    Code(String),
    /// A heading within the section, with its name in links.
    Heading(String, String),
    /// What a page shows only when it is asked for; a terminal does not show it.
    Fold(String, bool, Parts),
    /// What only a page shows.
    OnPage(Parts),
    /// What only a terminal shows.
    OnTerminal(Parts),
    /// A promise, with what belongs to it.
    Box(Tone, Parts),
}

/// A figure, or the reason why there is none.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Its name in links.
    pub id: String,
    /// The title.
    pub title: String,
    /// How to read it.
    pub reading: String,
    /// Whether it needs the full width of the page.
    pub wide: bool,
    /// Whether its numbers prove nothing.
    pub greyed: bool,
    /// A Vega-Lite specification as JSON.
    pub spec: Result<String, String>,
}

/// Parts in order.
#[derive(Debug, Clone, Default)]
pub struct Parts(pub Vec<Part>);

impl Parts {
    /// A paragraph.
    pub fn text(&mut self, text: impl Into<String>) {
        self.styled("", text);
    }

    /// A paragraph of a class.
    pub fn styled(&mut self, class: &'static str, text: impl Into<String>) {
        self.0.push(Part::Text { class, text: text.into(), tag: None });
    }

    /// A paragraph of a class with a word after it.
    pub fn tagged(&mut self, class: &'static str, text: impl Into<String>, tag: Option<Tag>) {
        self.0.push(Part::Text { class, text: text.into(), tag });
    }

    /// That something is not available, and why.
    pub fn missing(&mut self, why: &str) {
        self.styled("note missing", format!("not available: {why}"));
    }

    /// A list, unless it is empty.
    pub fn list(&mut self, lines: impl IntoIterator<Item = String>) {
        let lines: Vec<String> = lines.into_iter().collect();
        if !lines.is_empty() {
            self.0.push(Part::List(lines));
        }
    }

    /// Values with their names.
    pub fn facts<N: Into<String>>(&mut self, facts: impl IntoIterator<Item = (N, String)>) {
        self.0.push(Part::Facts(
            facts.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        ));
    }

    /// A table.
    pub fn table(&mut self, table: impl Into<Table>) {
        self.0.push(Part::Table(table.into()));
    }

    /// Figures side by side.
    pub fn figures(&mut self, figures: Vec<Figure>) {
        self.0.push(Part::Figures(figures));
    }

    /// Text to copy.
    pub fn code(&mut self, text: impl Into<String>) {
        self.0.push(Part::Code(text.into()));
    }

    /// A heading within the section.
    pub fn heading(&mut self, id: impl Into<String>, text: impl Into<String>) {
        self.0.push(Part::Heading(id.into(), text.into()));
    }

    /// What is shown only when it is asked for.
    pub fn fold(&mut self, summary: impl Into<String>, open: bool, fill: impl FnOnce(&mut Self)) {
        self.0.push(Part::Fold(summary.into(), open, Self::of(fill)));
    }

    /// What only a page shows.
    pub fn on_page(&mut self, fill: impl FnOnce(&mut Self)) {
        self.0.push(Part::OnPage(Self::of(fill)));
    }

    /// What only a terminal shows.
    pub fn on_terminal(&mut self, fill: impl FnOnce(&mut Self)) {
        self.0.push(Part::OnTerminal(Self::of(fill)));
    }

    /// Parts that were filled in.
    pub fn of(fill: impl FnOnce(&mut Self)) -> Self {
        let mut parts = Self::default();
        fill(&mut parts);
        parts
    }
}
