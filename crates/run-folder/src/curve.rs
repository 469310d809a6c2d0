//! Curves that a workload reports for plotting.

use serde::{Deserialize, Serialize};

/// One curve, in the units named on its axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// What it shows, `random`.
    pub name: String,
    /// Label of the x axis, with its unit.
    pub x: String,
    /// Label of the y axis, with its unit.
    pub y: String,
    /// Whether both axes are logarithmic.
    pub logarithmic: bool,
    /// Points, `x` and `y`.
    pub points: Vec<[f64; 2]>,
    /// Highlighted positions on the x axis.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

/// A position on the x axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Position, in the unit of the axis.
    pub x: f64,
    /// Label, `L2`.
    pub label: String,
}
