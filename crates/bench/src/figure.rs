//! A figure of merit, and the table of all figures.

use crate::statistics::{Estimate, Reached};

/// A figure with its target. Every figure is a ratio to the target or to another measurement of the
/// same run, since absolute values do not transfer between machines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    pub(crate) name: String,
    /// The measured value with its interval, as text with units.
    pub(crate) measured: String,
    /// The target, as text.
    pub(crate) target: String,
    /// Measured value as a fraction of the target; `None` if the target is not a bound.
    pub(crate) of_target: Option<Estimate>,
    pub(crate) reached: Reached,
    /// Remarks, one line each.
    pub(crate) remarks: Vec<String>,
}

impl Figure {
    /// A figure that must be at most `target`, shown with a unit and a factor.
    pub(crate) fn bound(name: &str, estimate: Estimate, target: f64, shown: &Shown) -> Self {
        let Estimate { value, low, high } = estimate;
        Self {
            name: name.to_owned(),
            measured: shown.interval(estimate),
            target: format!("at most {}", shown.value(target)),
            of_target: Some(Estimate {
                value: value / target,
                low: low / target,
                high: high / target,
            }),
            reached: estimate.at_most(target),
            remarks: Vec::new(),
        }
    }
}

/// What would decide an open figure, as text; `needed` is the number of `what`, if any number
/// would.
pub(crate) fn would_decide(needed: Option<usize>, what: &str) -> String {
    match needed {
        Some(needed) => format!("with this noise about {needed} {what} would decide"),
        None => format!("with this noise no affordable number of {what} would decide"),
    }
}

/// Display format of a quantity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown {
    pub(crate) factor: f64,
    pub(crate) unit: &'static str,
    pub(crate) decimals: usize,
}

impl Shown {
    pub(crate) fn value(&self, value: f64) -> String {
        let Self { factor, unit, decimals } = self;
        format!("{:.decimals$} {unit}", value * factor)
    }

    pub(crate) fn interval(&self, estimate: Estimate) -> String {
        let Self { factor, unit, decimals } = self;
        let Estimate { value, low, high } = estimate;
        format!(
            "{:.decimals$} {unit} [{:.decimals$}, {:.decimals$}]",
            value * factor,
            low * factor,
            high * factor
        )
    }
}

const HEADINGS: [&str; 5] = ["figure", "measured", "target", "measured / target", "reached"];

/// All figures as one table, followed by their remarks.
pub(crate) fn table(figures: &[Figure]) -> String {
    let rows: Vec<[String; 5]> =
        std::iter::once(HEADINGS.map(str::to_owned)).chain(figures.iter().map(cells)).collect();
    let mut widths = [0; 5];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.len().max(*width);
        }
    }
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    for figure in figures.iter().filter(|figure| !figure.remarks.is_empty()) {
        text.push_str(&format!("\n{}\n", figure.name));
        for remark in &figure.remarks {
            text.push_str(&format!("  {remark}\n"));
        }
    }
    text
}

fn cells(figure: &Figure) -> [String; 5] {
    let part = figure.of_target.map_or_else(
        || "-".to_owned(),
        |part| format!("{:.2} [{:.2}, {:.2}]", part.value, part.low, part.high),
    );
    let reached = match figure.reached {
        Reached::Yes => "yes",
        Reached::No => "no",
        Reached::Undecided => "undecided",
    };
    [figure.name.clone(), figure.measured.clone(), figure.target.clone(), part, reached.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Shown = Shown { factor: 1e3, unit: "ms", decimals: 1 };

    #[test]
    fn a_bound_is_shown_with_its_interval_and_as_a_fraction_of_its_target() {
        let estimate = Estimate { value: 0.010, low: 0.008, high: 0.015 };
        let figure = Figure::bound("start skew", estimate, 0.020, &MS);
        assert_eq!(
            cells(&figure),
            ["start skew", "10.0 ms [8.0, 15.0]", "at most 20.0 ms", "0.50 [0.40, 0.75]", "yes"]
        );
    }

    #[test]
    fn the_columns_of_a_table_are_aligned() {
        let estimate = Estimate { value: 0.03, low: 0.02, high: 0.04 };
        let mut figure = Figure::bound("a long name of a figure", estimate, 0.01, &MS);
        figure.remarks.push("measured twice".to_owned());
        let text = table(&[figure]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].find("measured"), lines[1].find("30.0 ms"), "{text}");
        assert!(lines[1].ends_with("no"), "{text}");
        assert_eq!(lines[4], "  measured twice", "{text}");
    }
}
