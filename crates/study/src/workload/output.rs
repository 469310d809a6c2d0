//! Captured output of a workload and the metrics parsed from it.

use std::collections::BTreeMap;

use assay_record::run_folder::{Curve, Latency, Phase};

/// The output of a process.
#[derive(Debug, Clone, Copy)]
pub struct CapturedOutput<'s> {
    /// Its standard output.
    pub stdout: &'s str,
    /// Its standard error.
    pub stderr: &'s str,
}

/// Metrics and other data parsed from it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Output {
    /// Why the metrics are invalid.
    pub failure: Option<String>,
    /// Seconds measured by the tool itself.
    pub runtime_s: Option<f64>,
    /// Metrics by name, with the unit in the name.
    pub metrics: BTreeMap<String, f64>,
    /// Metrics that are not available, with the reason.
    pub not_available: BTreeMap<String, String>,
    /// Latency by operation.
    pub latency: BTreeMap<String, Latency>,
    /// Its phases with their times.
    pub phases: Vec<Phase>,
    /// Curves to draw.
    pub curves: Vec<Curve>,
    /// What a user should know before interpreting the metrics.
    pub findings: Vec<String>,
}

/// Numbers and texts that a workload may report, and bytes of its texts. They are recorded for every
/// repeat, in a document that is read whole.
const MOST: (usize, usize) = (1 << 14, 1 << 18);

impl Output {
    /// The same; an error if it is too much to be recorded.
    pub(crate) fn limited(self) -> Result<Self, String> {
        let percentiles = self.latency.values().map(|one| one.percentiles_ns.len());
        let on_curves = self.curves.iter().map(|curve| curve.points.len() + curve.marks.len());
        let numbers = self.metrics.len()
            + self.not_available.len()
            + self.phases.len()
            + self.findings.len()
            + percentiles.chain(on_curves).map(|count| count + 1).sum::<usize>();
        let missing = self.not_available.iter().flat_map(|(name, why)| [name, why]);
        let of_latency = self.latency.values().flat_map(|one| one.percentiles_ns.keys());
        let of_curves = self.curves.iter().flat_map(|curve| {
            let labels = curve.marks.iter().map(|mark| &mark.label);
            [&curve.name, &curve.x, &curve.y].into_iter().chain(labels)
        });
        let texts = self.metrics.keys().chain(missing).chain(self.latency.keys()).chain(of_latency);
        let texts = texts.chain(of_curves).chain(self.phases.iter().map(|phase| &phase.name));
        let bytes: usize = texts.chain(&self.findings).map(String::len).sum();
        if numbers > MOST.0 || bytes > MOST.1 {
            return Err(format!(
                "it reports {numbers} numbers and texts, with {bytes} bytes of text; the limits are {} \
                 and {}",
                MOST.0, MOST.1
            ));
        }
        Ok(self)
    }
}

/// The beginning of a text of unknown length, for a message.
#[must_use]
pub fn excerpt(text: &str) -> &str {
    assay_sys::escape::beginning(text, 300)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_is_too_long_to_be_recorded_is_an_error() {
        let findings = |count: usize, bytes: usize| {
            let findings = vec!["x".repeat(bytes); count];
            Output { findings, ..Output::default() }.limited()
        };
        assert!(findings(10, 1000).is_ok());
        assert!(findings(1, 1 << 19).unwrap_err().contains("524288 bytes of text"));
        assert!(findings(1 << 15, 0).unwrap_err().contains("reports 32768 numbers"));
        let percentiles_ns = (0..1 << 15).map(|key: u32| (key.to_string(), 1.0)).collect();
        let latency = Latency { mean_ns: 1.0, percentiles_ns };
        let latency = BTreeMap::from([("read".to_owned(), latency)]);
        assert!(Output { latency, ..Output::default() }.limited().is_err());
    }
}
