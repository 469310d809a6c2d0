//! What a placement is promised for.

/// A measure of the relation `placed`; no other relation applies to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlacementMeasure {
    /// Samples of threads.
    Threads,
    /// Bytes of anonymous memory.
    Pages,
    /// Bytes of mapped files, without programs and libraries.
    FilePages,
}

impl PlacementMeasure {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Threads, Self::Pages, Self::FilePages];

    /// Its name in a study.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Pages => "pages",
            Self::FilePages => "file_pages",
        }
    }

    /// The measure of this name in a study.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.name() == name)
    }
}
