//! The verdicts of a fleet's hosts, for a terminal.

use assay_verdict::{FleetHost, FleetJudgement, FleetPromise, FleetTrial, Verdict};

use super::MIN_WIDTH;
use super::layout::{Table, joined, wrap};
use super::paint::Paint;
use super::trial::heading;
use crate::fleet::{HostRow, spreads};
use crate::wording;

/// Maximum number of hosts whose reasons are shown; all are in the page and in fleet-verdict.json.
const REASONS: usize = 8;

/// A fleet's verdicts for a terminal of `width` columns, with ANSI colours if `color`.
#[must_use]
pub fn render(judgement: &FleetJudgement, width: usize, color: bool) -> String {
    let width = width.max(MIN_WIDTH);
    let paint = Paint { color };
    let mut lines: Vec<String> = Vec::new();
    lines.extend(wrap(&judgement.title, width, "").iter().map(|line| paint.bold(line)));
    let word = wording::marked(judgement.verdict);
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
        let of = of.collect::<Vec<_>>().join(", ");
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
    joined(&lines)
}

/// The states of a fleet's tasks, for a terminal of `width` columns.
#[must_use]
pub fn hosts_text(hosts_of: &[FleetHost], width: usize, color: bool) -> String {
    let lines = hosts(hosts_of, width.max(MIN_WIDTH), Paint { color });
    joined(&lines)
}

fn hosts(hosts: &[FleetHost], width: usize, paint: Paint) -> Vec<String> {
    let rows: Vec<HostRow> = hosts.iter().map(HostRow::new).collect();
    let table = Table::new(&rows)
        .left("host", 0, |row| row.node.clone())
        .left("verdict", 0, |row| format!("{} {}", row.mark, row.word))
        .left("restored", 2, |row| row.restored.to_owned())
        .right("seed", 3, |row| row.seed.to_string());
    let mut lines = table.lines(width, paint);
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
    let word = wording::marked(trial.verdict);
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
    let table = Table::new(&rows)
        .left("over hosts", 0, |row| row.what.clone())
        .right("mean", 0, |row| row.mean.clone())
        .right("interval", 1, |row| row.interval.clone())
        .right("ratio", 2, |row| row.ratio.clone())
        .right("lowest", 3, |row| row.lowest.clone())
        .right("highest", 3, |row| row.highest.clone());
    lines.extend(table.lines(width, paint));
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
            "not available: folder /copies/x: it has no manifest.json",
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
