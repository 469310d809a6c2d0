//! The tree of a file set: depth, width and file sizes. Numbers are drawn in the same order as in
//! filebench, so that the same script gives the same tree.

use std::ffi::CStr;

use super::super::distribution::{Distribution, Shape, gamma_draw};
use super::super::uniform::Drand48;
use super::super::workload::{Amount, FileSet};

/// A file or a leaf directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filebench) struct Node {
    parent: u32,
    serial: u32,
    /// Size of a fully written file in bytes; 0 for a directory.
    pub(in crate::filebench) size: u64,
}

/// A directory and its parent; the first one is the top.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Directory {
    parent: u32,
    serial: u32,
}

/// The tree of one set.
#[derive(Debug, Clone)]
pub(in crate::filebench) struct Layout {
    directories: Vec<Directory>,
    pub(in crate::filebench) files: Vec<Node>,
    pub(in crate::filebench) leafdirs: Vec<Node>,
    pub(in crate::filebench) bytes: u64,
    pub(in crate::filebench) mean_width: u64,
    pub(in crate::filebench) mean_depth: f64,
}

impl Layout {
    /// Draws the tree of a set.
    pub(in crate::filebench) fn draw(set: &FileSet, source: &Drand48) -> Self {
        let mean_width = set.width.mean().trunc();
        let mean_depth = ((set.entries + set.leafdirs) as f64).ln() / mean_width.ln();
        let layout = Self {
            directories: Vec::new(),
            files: Vec::with_capacity(set.entries as usize),
            leafdirs: Vec::with_capacity(set.leafdirs as usize),
            bytes: 0,
            mean_width: mean_width as u64,
            mean_depth,
        };
        let depths = set.depth.as_ref().map(|depth| with_mean(depth, mean_depth));
        let mut drawing = Drawing { set, source, depths, layout };
        drawing.directory(None, 1, 0);
        drawing.layout
    }

    /// Paths of all directories below the top, parents first.
    pub(in crate::filebench) fn directory_paths(&self) -> Paths {
        let below_top = self.directories.iter().skip(1);
        self.paths(below_top.map(|directory| (directory.parent, directory.serial)))
    }

    /// Paths of these nodes.
    pub(in crate::filebench) fn node_paths(&self, nodes: &[Node]) -> Paths {
        self.paths(nodes.iter().map(|node| (node.parent, node.serial)))
    }

    fn paths(&self, of: impl Iterator<Item = (u32, u32)>) -> Paths {
        let mut paths = Paths { bytes: Vec::new(), starts: Vec::with_capacity(of.size_hint().0) };
        for (parent, serial) in of {
            paths.starts.push(paths.bytes.len());
            self.write_directory(parent, &mut paths.bytes);
            paths.bytes.extend_from_slice(format!("{serial:08}").as_bytes());
            paths.bytes.push(0);
        }
        paths
    }

    /// Writes the path of a directory with a trailing slash; nothing for the top.
    fn write_directory(&self, at: u32, bytes: &mut Vec<u8>) {
        if at == 0 {
            return;
        }
        let directory = self.directories[at as usize];
        self.write_directory(directory.parent, bytes);
        bytes.extend_from_slice(format!("{:08}/", directory.serial).as_bytes());
    }
}

/// Paths below the top of a tree, stored contiguously as C strings, so that a run allocates none.
#[derive(Debug, Clone)]
pub(in crate::filebench) struct Paths {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl Paths {
    pub(in crate::filebench) fn len(&self) -> usize {
        self.starts.len()
    }

    pub(in crate::filebench) fn get(&self, at: usize) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes[self.starts[at]..]).unwrap_or_default()
    }

    /// The same as text.
    pub(in crate::filebench) fn text(&self, at: usize) -> String {
        self.get(at).to_string_lossy().into_owned()
    }
}

/// The random variable for depths: its mean is replaced by the mean depth, as in filebench.
fn with_mean(variable: &Distribution, mean: f64) -> Distribution {
    let span = mean - variable.trim.offset;
    let shape = match &variable.shape {
        Shape::Gamma { gamma, .. } => Shape::Gamma { gamma: *gamma, mean: span },
        Shape::Uniform { .. } => Shape::Uniform { low: 0.0, high: 2.0 * span },
        Shape::Table { rows, .. } => Shape::Table { rows: rows.clone(), scale: span },
        other => other.clone(),
    };
    Distribution { shape, ..variable.clone() }
}

struct Drawing<'s> {
    set: &'s FileSet,
    source: &'s Drand48,
    depths: Option<Distribution>,
    layout: Layout,
}

impl Drawing<'_> {
    fn spread(&self, mean: f64) -> f64 {
        let gamma = self.set.gamma as f64 / 1000.0;
        if gamma > 0.0 { gamma_draw(gamma, self.source) * (mean / gamma) } else { mean }
    }

    /// Draws a directory and its contents. The top continues until all entries are placed; any
    /// other directory holds files if it is as deep as its drawn depth, and directories otherwise.
    fn directory(&mut self, parent: Option<u32>, serial: u32, above: u32) {
        let depth = above + 1;
        let own = self.layout.directories.len() as u32;
        self.layout.directories.push(Directory { parent: parent.unwrap_or(0), serial });
        let deepest = match &self.depths {
            Some(depths) => depths.draw_whole(),
            // The depth of a width of 1 is infinite, and as an int of filebench on x86 the least of all: each directory below
            // the top has files.
            None => Some(self.spread(self.layout.mean_depth))
                .filter(|depth| depth.is_finite())
                .map_or(0, |depth| depth as u64),
        };
        let width = match &self.set.width {
            Amount::Fixed(width) => self.spread(*width as f64),
            Amount::Random(widths) => widths.draw(),
        };
        let width = if width == 0.0 { 1.0 } else { width };
        let is_leaf = u64::from(depth) >= deepest.max(1);
        let top = parent.is_none();
        let has_room = |serial: u32| top || f64::from(serial) < width + 1.0;
        let mut serial = 1;
        while has_room(serial) && (self.layout.files.len() as u64) < self.set.entries {
            if !top && is_leaf {
                let size = self.set.size.get();
                self.layout.bytes = self.layout.bytes.saturating_add(size);
                self.layout.files.push(Node { parent: own, serial, size });
            } else {
                self.directory(Some(own), serial, depth);
            }
            serial += 1;
        }
        // filebench restarts the numbering at 1, so that files and leaf directories of one set
        // collide.
        let used = serial - 1;
        serial = 1;
        while has_room(serial) && (self.layout.leafdirs.len() as u64) < self.set.leafdirs {
            if !top && is_leaf {
                self.layout.leafdirs.push(Node { parent: own, serial: used + serial, size: 0 });
            } else {
                self.directory(Some(own), used + serial, depth);
            }
            serial += 1;
        }
    }
}

#[cfg(test)]
mod tests;
