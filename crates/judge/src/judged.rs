//! Which repeats a promise is judged by.

use assay_stats::rule::Starts;

use crate::repeat::Repeat;

/// The repeats that a promise is judged by.
#[derive(Clone, Copy)]
pub(crate) struct Judged<'s, 'r> {
    pub(crate) repeats: &'s [Repeat<'r>],
    /// How many others, which a check left out, were outside or have no number: of another start nothing better is known.
    pub(crate) outside: usize,
}

impl Judged<'_, '_> {
    /// The starts that were inside, of all that are known to be one or the other.
    pub(crate) fn starts(self, judged: Starts) -> Starts {
        Starts { of: judged.of + self.outside, ..judged }
    }
}
