//! Metric families as OpenMetrics text.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Metric families by name, with their metadata and samples.
#[derive(Debug, Default)]
pub(crate) struct Families(BTreeMap<String, Family>);

#[derive(Debug, Default)]
struct Family {
    kind: &'static str,
    unit: &'static str,
    help: &'static str,
    samples: Vec<String>,
}

impl Families {
    pub(crate) fn add(
        &mut self,
        name: &str,
        about: (&'static str, &'static str, &'static str),
        labels: &[(&str, &str)],
        value: f64,
    ) {
        if !value.is_finite() {
            return;
        }
        let (kind, unit, help) = about;
        let family = self.0.entry(name.to_owned()).or_default();
        (family.kind, family.unit, family.help) = (kind, unit, help);
        let end = match kind {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        family.samples.push(format!("{name}{end}{} {value}", text(labels)));
    }

    /// Formats all families one after the other, ending with `# EOF`, as OpenMetrics requires.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (name, family) in &self.0 {
            let _ = writeln!(text, "# TYPE {name} {}", family.kind);
            if !family.unit.is_empty() {
                let _ = writeln!(text, "# UNIT {name} {}", family.unit);
            }
            if !family.help.is_empty() {
                let _ = writeln!(text, "# HELP {name} {}", family.help);
            }
            for sample in &family.samples {
                let _ = writeln!(text, "{sample}");
            }
        }
        text.push_str("# EOF\n");
        text
    }
}

fn text(labels: &[(&str, &str)]) -> String {
    let labels: Vec<String> = labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{}\"", assay_escape::openmetrics(value)))
        .collect();
    if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) }
}
