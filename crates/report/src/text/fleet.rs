//! The verdicts of a fleet's hosts, for a terminal.

use assay_verdict::{FleetHost, FleetJudgement, FleetPromise, FleetTrial, Verdict};

use super::MIN_WIDTH;
use super::layout::{Align, Column, table, wrap};
use super::paint::Paint;
use super::trial::heading;
use crate::fleet::{HostRow, SpreadRow, spreads};
use crate::wording;

/// Maximum number of hosts whose reasons are shown; all are in the page and in fleet-verdict.json.
const REASONS: usize = 8;

/// The full text, ending with a newline.
pub(crate) fn render(judgement: &FleetJudgement, width: usize, color: bool) -> String {
    let width = width.max(MIN_WIDTH);
    let paint = Paint { color };
    let mut lines: Vec<String> = Vec::new();
    lines.extend(wrap(&judgement.title, width, "").iter().map(|line| paint.bold(line)));
    let word =
        format!("{} {}", wording::mark(judgement.verdict), wording::verdict(judgement.verdict));
    lines.push(paint.verdict(judgement.verdict, &word));
    lines.extend(wrap(&format!("  {}", wording::sentence(&judgement.reason)), width, "  "));
    lines.push(String::new());
    lines.extend(hosts(&judgement.hosts, width, paint));
    lines.extend(differences(judgement, width));
    for comparison in &judgement.comparisons {
        let of = comparison
            .hosts
            .iter()
            .map(|host| format!("{} {}", host.node, wording::verdict(host.verdict)));
        let of = match &comparison.reason {
            Some(why) => format!("{}: {why}", wording::verdict(comparison.verdict)),
            None => of.collect::<Vec<_>>().join(", "),
        };
        let over = comparison.over.join(", ");
        let text = format!("  {} over {over}: {of}", comparison.measure);
        lines.push(String::new());
        lines.extend(wrap(&text, width, "    "));
    }
    for trial in &judgement.trials {
        lines.extend(trial_lines(trial, width, paint));
    }
    lines.push(String::new());
    for (what, why) in &judgement.not_available {
        lines.extend(wrap(&format!("not available: {what}: {why}"), width, "  "));
    }
    lines.extend(super::restored(judgement.restored, width, paint));
    let mut text = lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

/// The states of a fleet's tasks, as a table.
pub(crate) fn hosts_text(hosts_of: &[FleetHost], width: usize, color: bool) -> String {
    let lines = hosts(hosts_of, width.max(MIN_WIDTH), Paint { color });
    let mut text = lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

fn hosts(hosts: &[FleetHost], width: usize, paint: Paint) -> Vec<String> {
    let rows: Vec<HostRow> = hosts.iter().map(HostRow::new).collect();
    let cells = |of: &dyn Fn(&HostRow) -> String| -> Vec<String> { rows.iter().map(of).collect() };
    let mut shown = vec![
        Column::new("host", Align::Left, 0, cells(&|row| row.node.clone())),
        Column::new("verdict", Align::Left, 0, cells(&|row| format!("{} {}", row.mark, row.word))),
        Column::new("restored", Align::Left, 2, cells(&|row| row.restored.to_owned())),
        Column::new("seed", Align::Right, 3, cells(&|row| row.seed.to_string())),
    ];
    if rows.iter().any(|row| row.slice.is_some()) {
        let slice = |row: &HostRow| row.slice.clone().unwrap_or_default();
        shown.push(Column::new("part", Align::Left, 1, cells(&slice)));
    }
    let mut lines = table(shown, width);
    if let Some(first) = lines.first_mut() {
        *first = paint.faint(first);
    }
    for row in &rows {
        if let Some(why) = &row.why {
            lines.extend(wrap(&format!("  {}: {why}", row.node), width, "    "));
        }
    }
    lines
}

fn differences(judgement: &FleetJudgement, width: usize) -> Vec<String> {
    let line = |difference: &assay_verdict::HostDifference| {
        let others: Vec<String> =
            difference.others.iter().map(|one| format!("{}: {}", one.node, one.is)).collect();
        let alike = wording::count(difference.alike, "host");
        format!(
            "  {} differs: {alike}: {}; {}",
            difference.what,
            difference.usual,
            others.join("; ")
        )
    };
    judgement
        .differences
        .iter()
        .flat_map(|difference| wrap(&line(difference), width, "    "))
        .collect()
}

fn trial_lines(trial: &FleetTrial, width: usize, paint: Paint) -> Vec<String> {
    let word = format!("{} {}", wording::mark(trial.verdict), wording::verdict(trial.verdict));
    let painted = paint.verdict(trial.verdict, &word);
    let factors = wording::factors(&trial.factors);
    let mut lines = vec![String::new(), heading(&factors, &word, &painted, width, paint)];
    for promise in &trial.promises {
        lines.extend(promise_lines(promise, width, paint));
    }
    lines
}

fn promise_lines(promise: &FleetPromise, width: usize, paint: Paint) -> Vec<String> {
    let verdict = wording::verdict(promise.verdict);
    let mut lines =
        wrap(&format!("  {}: {verdict}", wording::fleet_promise(promise)), width, "    ");
    let not_kept = promise.hosts.iter().filter(|host| host.verdict != Verdict::Kept);
    for host in not_kept.take(REASONS) {
        let line = format!("  {} {}: {}", host.node, wording::verdict(host.verdict), host.reason);
        lines.extend(wrap(&line, width, "    "));
    }
    let rows = spreads(promise);
    let cells =
        |of: &dyn Fn(&SpreadRow) -> String| -> Vec<String> { rows.iter().map(of).collect() };
    let shown = vec![
        Column::new("over hosts", Align::Left, 0, cells(&|row| row.what.clone())),
        Column::new("mean", Align::Right, 0, cells(&|row| row.mean.clone())),
        Column::new("interval", Align::Right, 1, cells(&|row| row.interval.clone())),
        Column::new("ratio", Align::Right, 2, cells(&|row| row.ratio.clone())),
        Column::new("lowest", Align::Right, 3, cells(&|row| row.lowest.clone())),
        Column::new("highest", Align::Right, 3, cells(&|row| row.highest.clone())),
    ];
    let mut table = table(shown, width);
    if let Some(first) = table.first_mut() {
        *first = paint.faint(first);
    }
    lines.extend(table);
    for row in &rows {
        if let Some(why) = &row.not_available {
            lines.extend(wrap(&format!("  {}: not available: {why}", row.what), width, "    "));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::tests::three_hosts;

    #[test]
    fn text_has_every_host_difference_and_spread() {
        let text = render(&three_hosts(), 100, false);
        for line in [
            "broken\n  Broken on 1 of 3 hosts (beta)",
            "gamma: its node failed",
            "kernel differs: 1 host: 6.1.0; beta: 6.12.0",
            "io.bytes proportional to io.weight, within 10 %",
            "not available: Slurm's accounting: it is disabled",
        ] {
            assert!(text.contains(line), "`{line}` in\n{text}");
        }
    }

    #[test]
    fn forty_columns_keep_host_and_verdict() {
        let text = render(&three_hosts(), 40, false);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 44, "{widest} columns in\n{text}");
        assert!(text.contains("alpha  \u{2713} kept"), "{text}");
    }
}
