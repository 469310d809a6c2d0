//! The four verdicts.

use serde::{Deserialize, Serialize};

/// Verdict on a promise, a trial or a study.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All bounds lie within the margin.
    Kept,
    /// The bounds of some group lie outside the margin.
    Broken,
    /// More starts are needed to tell.
    Undecided,
    /// The run could not have shown it.
    #[default]
    Void,
}

impl Verdict {
    /// The worst of many: broken, void, undecided, kept, in that order; void without any.
    #[must_use]
    pub fn worst(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let rank = |verdict: &Self| match verdict {
            Self::Kept => 0,
            Self::Undecided => 1,
            Self::Void => 2,
            Self::Broken => 3,
        };
        verdicts.into_iter().max_by_key(rank).unwrap_or(Self::Void)
    }

    /// Its word in verdict.json.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Broken => "broken",
            Self::Undecided => "undecided",
            Self::Void => "void",
        }
    }
}
