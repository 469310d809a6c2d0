//! Curves that a workload hands over to be drawn.

use serde::{Deserialize, Serialize};

/// One curve, in the units that its axes name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// What it shows, `random`.
    pub name: String,
    /// What stands on the x axis, with its unit.
    pub x: String,
    /// What stands on the y axis, with its unit.
    pub y: String,
    /// Whether both axes are logarithmic.
    pub logarithmic: bool,
    /// Points, `x` and `y`.
    pub points: Vec<[f64; 2]>,
    /// Places on the x axis that a reader should see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

/// A place on the x axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Where, in the unit of the axis.
    pub x: f64,
    /// What is there, `L2`.
    pub label: String,
}
