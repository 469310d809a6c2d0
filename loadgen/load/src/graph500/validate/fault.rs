//! Faults in the result of a search.

use std::fmt;

/// A violated rule, with its first occurrence. `code` is the return code of `verify.c` of 2.1.4.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    /// The root is not its own parent, or not at distance 0.
    Root { root: u32 },
    /// The number of entries in the tree is not the number of labels.
    Length { expected: usize, found: usize },
    /// The parents form a cycle.
    Cycle { vertex: u32 },
    /// The path from parent to parent reaches a vertex that has none.
    OffTheEnd { vertex: u32 },
    /// A tuple names a label that the tree does not cover.
    Label { from: u32, to: u32, labels: usize },
    /// One end of a tuple is reached and the other is not: the tree does not span its component.
    HalfReached { from: u32, to: u32, from_is: bool },
    /// A tuple joins levels that differ by more than one.
    Levels { from: u32, to: u32, levels: [u32; 2] },
    /// A vertex and its parent are not an edge of the list, or not one of that weight.
    NoSuchEdge { vertex: u32, parent: u32 },
    /// A vertex besides the root is its own parent.
    SecondRoot { vertex: u32 },
    /// A vertex has a parent but no distance, a distance but no parent, or an invalid distance.
    Distance { vertex: u32, distance: f32 },
    /// A tuple is a shorter path to one of its ends.
    Triangle { from: u32, to: u32, weight: f32, distances: [f32; 2] },
}

impl Fault {
    /// The return code of the reference; it has none for distances.
    pub(crate) fn code(self) -> i32 {
        match self {
            Self::Root { .. } => -999,
            Self::Cycle { .. } => -1,
            Self::OffTheEnd { .. } => -2,
            Self::Length { .. } | Self::Label { .. } => -10,
            Self::HalfReached { from_is: true, .. } => -12,
            Self::HalfReached { from_is: false, .. } => -13,
            Self::Levels { .. } | Self::Triangle { .. } => -14,
            Self::NoSuchEdge { .. } | Self::Distance { .. } => -15,
            Self::SecondRoot { .. } => -16,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root { root } => {
                write!(f, "the root {root} is not its own parent at distance 0")
            }
            Self::Length { expected, found } => {
                write!(f, "the tree has {found} entries and the graph has {expected} labels")
            }
            Self::Cycle { vertex } => write!(f, "the parents of vertex {vertex} form a cycle"),
            Self::OffTheEnd { vertex } => {
                write!(f, "the parents of vertex {vertex} end before the root")
            }
            Self::Label { from, to, labels } => {
                write!(f, "edge ({from}, {to}) is beyond the {labels} labels of the tree")
            }
            Self::HalfReached { from, to, .. } => {
                write!(f, "only one end of edge ({from}, {to}) was reached")
            }
            Self::Levels { from, to, levels: [one, other] } => {
                write!(f, "edge ({from}, {to}) joins the levels {one} and {other}")
            }
            Self::NoSuchEdge { vertex, parent } => {
                write!(
                    f,
                    "vertex {vertex} and its parent {parent} are not joined by a matching edge"
                )
            }
            Self::SecondRoot { vertex } => {
                write!(f, "vertex {vertex} is its own parent and not the root")
            }
            Self::Distance { vertex, distance } => {
                write!(
                    f,
                    "vertex {vertex} has the distance {distance}, inconsistent with its parent"
                )
            }
            Self::Triangle { from, to, weight, distances: [one, other] } => write!(
                f,
                "edge ({from}, {to}) of weight {weight} joins the distances {one} and {other}"
            ),
        }?;
        write!(f, " ({})", self.code())
    }
}
