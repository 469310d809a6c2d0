//! File sets: their trees, the tracking of existing files, and creation on disk.

pub(super) mod layout;
pub(super) mod members;
pub(super) mod picks;
pub(super) mod prepare;
pub(super) mod remove;
