//! The one place where generators are listed. Adding one is its folder, a line here and a page in
//! docs/load.

use crate::generator::Entry;
use crate::graph500::Graph500;
use crate::ycsb::Ycsb;

/// All generators, in the order of the help text.
pub const GENERATORS: &[Entry] = &[Entry::of::<Graph500>(), Entry::of::<Ycsb>()];
