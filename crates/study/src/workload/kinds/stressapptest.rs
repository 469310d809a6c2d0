//! `stressapptest`: memory traffic of Google's stressful application test, unmodified.

use crate::workload::kind::{Kind, Program, Threads, WaitMethod};
use crate::workload::options::STRESSAPPTEST;
use crate::workload::output::{CapturedOutput, Output, excerpt};

/// The kind. Without `s` it runs until the window is over.
pub(crate) const KIND: Kind = Kind {
    name: "stressapptest",
    about: "memory traffic of stressapptest, with its own flags",
    page: "workloads.md#stressapptest",
    program: Program::Host { name: "stressapptest", package: "stressapptest" },
    needs: &[],
    keys: &[],
    options: STRESSAPPTEST,
    property_option: None,
    known_properties: "",
    owned: &[("l", "remove it: its output is kept in the run folder")],
    seconds: Some("s"),
    instead_of_seconds: &[],
    wait: WaitMethod::Shell,
    reports_on_sigint: true,
    threads: Threads::Option("m"),
    does_io: false,
    headline: &["memory_copy_mb_per_s", "nodes_seen", "cpus_seen", "errors"],
    read,
};

/// Lines that name a rate: `Stats: Memory Copy: 138334.00M at 27665.62MB/s`.
const RATES: [(&str, &str); 6] = [
    ("Memory Copy", "memory_copy_mb_per_s"),
    ("File Copy", "file_copy_mb_per_s"),
    ("Net Copy", "net_copy_mb_per_s"),
    ("Data Check", "data_check_mb_per_s"),
    ("Invert Data", "invert_data_mb_per_s"),
    ("Disk", "disk_mb_per_s"),
];

fn read(captured: &CapturedOutput<'_>) -> Result<Output, String> {
    let mut output = Output::default();
    let mut passed = None;
    for line in captured.stdout.lines().chain(captured.stderr.lines()) {
        if let Some(stats) = after(line, "Stats: ") {
            rates(stats, &mut output);
            completed(stats, &mut output);
        } else if let Some(log) = after(line, "Log: ") {
            nodes(log, &mut output);
        } else if let Some(status) = after(line, "Status: ") {
            passed = Some(status.starts_with("PASS"));
            output.failure =
                status.starts_with("FAIL").then(|| format!("its status is: {}", excerpt(status)));
        }
    }
    if passed.is_none() {
        let last = captured.stdout.trim().lines().last().or(captured.stderr.trim().lines().last());
        let last = excerpt(last.unwrap_or("none"));
        return Err(format!("it printed no status; its last line is: {last}"));
    }
    node_flags(captured.stdout, &mut output);
    Ok(output)
}

/// The text after a word, which some builds precede with a date.
fn after<'l>(line: &'l str, word: &str) -> Option<&'l str> {
    line.find(word).map(|at| line[at + word.len()..].trim())
}

fn rates(stats: &str, output: &mut Output) {
    for (label, name) in RATES {
        let rest = stats.strip_prefix(label).and_then(|rest| rest.strip_prefix(": "));
        let rate = rest.and_then(|rest| rest.split_once(" at ")?.1.strip_suffix("MB/s"));
        if let Some(rate) = rate.and_then(|rate| rate.trim().parse().ok()) {
            output.metrics.insert(name.to_owned(), rate);
        }
    }
}

/// `Completed: 138334.00M in 5.00s 27662.31MB/s, with 0 hardware incidents, 0 errors`.
fn completed(stats: &str, output: &mut Output) {
    let Some(rest) = stats.strip_prefix("Completed: ") else { return };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let number = |index: usize, unit: &str| -> Option<f64> {
        words.get(index)?.trim_end_matches(',').strip_suffix(unit)?.parse().ok()
    };
    output.runtime_s = number(2, "s");
    let named = [
        ("completed_mib", number(0, "M")),
        ("completed_mb_per_s", number(3, "MB/s")),
        ("hardware_incidents", number(5, "")),
        ("errors", number(8, "")),
    ];
    for (name, value) in named {
        output.metrics.extend(value.map(|value| (name.to_owned(), value)));
    }
}

/// `1 nodes, 16 cpus.`
fn nodes(log: &str, output: &mut Output) {
    let Some((nodes, cpus)) = log.split_once(" nodes, ") else { return };
    let cpus = cpus.split_whitespace().next().unwrap_or_default();
    for (name, value) in [("nodes_seen", nodes), ("cpus_seen", cpus)] {
        if let Ok(number) = value.parse() {
            output.metrics.insert(name.to_owned(), number);
        }
    }
}

/// Reports node flags without effect. The public build has one node on every machine, and its
/// "regions" are pieces of physical memory, not nodes (os.h and sat.cc of 1.0.6: `num_nodes_` is
/// 1). A user who compares the two flags must know this.
fn node_flags(stdout: &str, output: &mut Output) {
    let flags: Vec<&str> = ["--local_numa", "--remote_numa"]
        .into_iter()
        .filter(|flag| {
            let lines = stdout.lines().filter(|line| line.contains("Commandline"));
            lines.flat_map(str::split_whitespace).any(|word| word == *flag)
        })
        .collect();
    let nodes = output.metrics.get("nodes_seen").copied();
    if let (Some(flag), Some(nodes)) = (flags.first(), nodes)
        && nodes <= 1.0
    {
        output.findings.push(format!(
            "stressapptest saw {nodes} node and placed no memory by node: `{flag}` chooses between pieces \
             of physical memory, so it cannot show a difference between local and \
             remote memory; to compare nodes, set `place` of the workload"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
Log: Commandline - stressapptest -s 2 -M 16 --local_numa
Stats: SAT revision 1.0.6_autoconf, 64 bit binary
Log: 1 nodes, 16 cpus.
Stats: Starting SAT, 16M, 2 seconds
Stats: Found 0 hardware incidents
Stats: Completed: 138334.00M in 5.00s 27662.31MB/s, with 0 hardware incidents, 0 errors
Stats: Memory Copy: 138334.00M at 27665.62MB/s
Stats: File Copy: 0.00M at 0.00MB/s

Status: PASS - please verify no corrected errors
";

    fn output(stdout: &str) -> Output {
        read(&CapturedOutput { stdout, stderr: "" }).unwrap()
    }

    #[test]
    fn rates_nodes_and_the_run_time_are_parsed() {
        let output = output(OUTPUT);
        assert_eq!(output.metrics["memory_copy_mb_per_s"], 27665.62);
        assert_eq!(output.metrics["cpus_seen"], 16.0);
        assert_eq!(output.metrics["errors"], 0.0);
        assert_eq!(output.runtime_s, Some(5.0));
        assert_eq!(output.failure, None);
    }

    #[test]
    fn a_line_with_a_date_is_parsed_too() {
        let dated = OUTPUT.replace("Stats: ", "2026/11/21-10:00:00(UTC) Stats: ");
        assert_eq!(output(&dated).metrics["memory_copy_mb_per_s"], 27665.62);
    }

    #[test]
    fn a_node_flag_on_one_node_is_reported() {
        assert!(output(OUTPUT).findings[0].contains("saw 1 node"));
        assert!(output(&OUTPUT.replace(" --local_numa", "")).findings.is_empty());
        assert!(output(&OUTPUT.replace("1 nodes", "2 nodes")).findings.is_empty());
    }

    #[test]
    fn a_failed_test_is_a_failure_and_no_status_is_an_error() {
        let failed = OUTPUT.replace("PASS - please", "FAIL - test encountered procedural errors");
        assert!(output(&failed).failure.unwrap().contains("procedural"));
        let quiet = CapturedOutput { stdout: "", stderr: "bad flag\n" };
        assert!(read(&quiet).unwrap_err().contains("bad flag"));
    }
}
