//! Numbers measured outside of Assay, and what they are judged against.

/// External numbers and their promise.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalData {
    /// Title of the judgement, such as the names of the files.
    pub title: String,
    /// `io.bytes`, `io.ios`, or `amount` for unknown measures.
    pub measure: String,
    /// The groups and their weights.
    pub groups: Vec<ExternalGroup>,
    /// The margin, a fraction of the expected share.
    pub within: f64,
}

/// One group.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalGroup {
    /// Its name.
    pub name: String,
    /// Its weight, given by the user; above 0.
    pub weight: f64,
    /// The amounts it got.
    pub amounts: Amounts,
    /// Other known facts.
    pub facts: ExternalFacts,
}

/// The amounts a group got.
#[derive(Debug, Clone, PartialEq)]
pub enum Amounts {
    /// Cumulative amounts by nanoseconds on a common clock, in order of time.
    Series(Vec<(u64, f64)>),
    /// One total.
    Total {
        /// In units of the measure.
        amount: f64,
        /// Duration in seconds.
        seconds: f64,
    },
}

/// Facts reported by a tool about a group in addition to its amount; all optional.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExternalFacts {
    /// Why its numbers are invalid.
    pub failure: Option<String>,
    /// Start in seconds since any common epoch.
    pub began_s: Option<f64>,
    /// End in seconds since the same epoch.
    pub ended_s: Option<f64>,
    /// Requests that it kept outstanding on average, by Little's law.
    pub outstanding: Option<f64>,
    /// Requests that it was configured to keep outstanding.
    pub wanted: Option<f64>,
    /// An option that limits its rate, as text.
    pub paced: Option<String>,
    /// Whether it bypassed the page cache.
    pub direct: Option<bool>,
    /// The disk used, and the mean number of requests in its queue.
    pub disk: Option<(String, f64)>,
}
