//! File sets: their trees, which of their files exist, and making them on disk.

pub(super) mod layout;
pub(super) mod members;
pub(super) mod picks;
pub(super) mod prepare;
pub(super) mod remove;
