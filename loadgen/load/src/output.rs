//! Messages and progress of a generator. Libraries do not print: the binary decides where the
//! output goes.

/// Receives messages and progress. Methods may be called from any thread.
pub trait Reporter: Sync {
    /// Reports one line for people.
    fn line(&self, line: &str);

    /// Reports that `done` of `all` steps of `what` are completed. Called often; an implementation
    /// may drop updates.
    fn progress(&self, what: &str, done: usize, all: usize);
}

/// Discards everything; for tests.
#[cfg(test)]
pub(crate) struct Silence;

#[cfg(test)]
impl Reporter for Silence {
    fn line(&self, _: &str) {}
    fn progress(&self, _: &str, _: usize, _: usize) {}
}
