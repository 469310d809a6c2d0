//! What one repeat shows of each group.

/// Estimates within one repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct Within {
    /// The share or rate of each group, as measured.
    pub values: Vec<f64>,
    /// Its natural logarithm; for a group with a total of zero that of half of `quantum`.
    pub logs: Vec<f64>,
    /// The standard error of the logarithm within the repeat.
    pub errors: Vec<f64>,
    /// Degrees of freedom of these errors.
    pub freedom: f64,
    /// The same by half as many batches, which are less correlated, and its degrees of freedom.
    pub coarse: (Vec<f64>, f64),
    /// The largest amount that any group got in one step, as a share or rate of the whole. Where no
    /// group got anything, what the largest promise would have been in one batch, and at least one
    /// unit of service.
    pub quantum: f64,
    /// Effective number of service slices of each group; 0 for a group with a total of zero.
    pub turns: Vec<f64>,
}
