//! Metric families as text: OpenMetrics, or what the textfile collector of node_exporter reads.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Metric families by name, with their metadata and samples.
#[derive(Debug, Default)]
pub struct Families(BTreeMap<String, Family>);

#[derive(Debug, Default)]
struct Family {
    kind: &'static str,
    unit: &'static str,
    help: &'static str,
    samples: Vec<String>,
}

impl Families {
    /// Adds a number to the family of this name, kind, unit and help.
    pub fn add(
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
        family.samples.push(format!("{name}{}{} {value}", end(kind), text(labels)));
    }

    /// Formats all families one after the other, ending with `# EOF`, as OpenMetrics requires.
    pub fn text(&self) -> String {
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

    /// The same in the text format of Prometheus 0.0.4, in which a family has the name of its samples, and neither a unit
    /// nor the type `info`.
    pub fn textfile(&self) -> String {
        let mut text = String::new();
        for (name, Family { kind, help, samples, .. }) in &self.0 {
            let name = format!("{name}{}", end(kind));
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            samples.iter().for_each(|sample| text += &format!("{sample}\n"));
        }
        text
    }
}

/// What the names of samples have after the name of their family.
fn end(kind: &str) -> &'static str {
    match kind {
        "counter" => "_total",
        "info" => "_info",
        _ => "",
    }
}

fn text(labels: &[(&str, &str)]) -> String {
    let labels: Vec<String> = labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{}\"", assay_sys::escape::openmetrics(value)))
        .collect();
    if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) }
}
