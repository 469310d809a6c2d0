//! What a generator says while it works. Libraries do not print: the binary decides where it goes.

/// Where talk goes. Implementations may be called from any thread.
pub trait Reporter: Sync {
    /// One line for people.
    fn say(&self, line: &str);

    /// `done` of `all` steps of `what` are behind us. Called often; an implementation may drop
    /// what nobody would see.
    fn progress(&self, what: &str, done: usize, all: usize);
}

/// Says nothing, for tests and for callers that need no talk.
#[cfg(test)]
pub(crate) struct Silence;

#[cfg(test)]
impl Reporter for Silence {
    fn say(&self, _: &str) {}
    fn progress(&self, _: &str, _: usize, _: usize) {}
}
