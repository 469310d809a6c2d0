//! `stressapptest`: memory traffic of Google's stressful application test, as it is.

use crate::kind::{Gate, Kind, Program, Threads};
use crate::options::STRESSAPPTEST;
use crate::output::{CapturedOutput, Output};

/// The kind. Without `s` it runs until the window is over.
pub(crate) const KIND: Kind = Kind {
    name: "stressapptest",
    about: "memory traffic of stressapptest, with its own flags",
    page: "workloads.md#stressapptest",
    program: Program::Host { name: "stressapptest", package: "stressapptest" },
    needs: &[],
    keys: &[],
    options: STRESSAPPTEST,
    others: None,
    known_others: "",
    owned: &[("l", "remove it: its output is kept in the run folder")],
    seconds: Some("s"),
    instead_of_seconds: &[],
    gate: Gate::Shell,
    ends_with_figures: true,
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

fn read(said: &CapturedOutput<'_>) -> Result<Output, String> {
    let mut output = Output::default();
    let mut passed = None;
    for line in said.stdout.lines().chain(said.stderr.lines()) {
        if let Some(stats) = after(line, "Stats: ") {
            rates(stats, &mut output);
            completed(stats, &mut output);
        } else if let Some(log) = after(line, "Log: ") {
            nodes(log, &mut output);
        } else if let Some(status) = after(line, "Status: ") {
            passed = Some(status.starts_with("PASS"));
            output.failure = status.starts_with("FAIL").then(|| format!("it says: {status}"));
        }
    }
    if passed.is_none() {
        let last = said.stdout.trim().lines().last().or(said.stderr.trim().lines().last());
        return Err(format!("it said no status; its last line is: {}", last.unwrap_or("none")));
    }
    node_flags(said.stdout, &mut output);
    Ok(output)
}

/// What stands behind a word that some builds print a date before.
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

/// The public build has one node whatever the machine has, and its "regions" are pieces of physical
/// memory, not nodes (os.h and sat.cc of 1.0.6: `num_nodes_` is 1). A user who compares the two
/// flags must know.
fn node_flags(stdout: &str, output: &mut Output) {
    let asked: Vec<&str> = ["--local_numa", "--remote_numa"]
        .into_iter()
        .filter(|flag| {
            let lines = stdout.lines().filter(|line| line.contains("Commandline"));
            lines.flat_map(str::split_whitespace).any(|word| word == *flag)
        })
        .collect();
    let seen = output.metrics.get("nodes_seen").copied();
    if let (Some(flag), Some(seen)) = (asked.first(), seen)
        && seen <= 1.0
    {
        output.findings.push(format!(
            "stressapptest saw {seen} node and placed nothing by node: `{flag}` chose among pieces \
             of physical memory, so that no difference between local and remote memory could \
             show; to compare nodes, place the workload itself"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
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
    fn rates_nodes_and_the_run_time_are_read() {
        let output = output(SAID);
        assert_eq!(output.metrics["memory_copy_mb_per_s"], 27665.62);
        assert_eq!(output.metrics["cpus_seen"], 16.0);
        assert_eq!(output.metrics["errors"], 0.0);
        assert_eq!(output.runtime_s, Some(5.0));
        assert_eq!(output.failure, None);
    }

    #[test]
    fn a_dated_line_is_read_as_well() {
        let dated = SAID.replace("Stats: ", "2026/11/21-10:00:00(UTC) Stats: ");
        assert_eq!(output(&dated).metrics["memory_copy_mb_per_s"], 27665.62);
    }

    #[test]
    fn one_node_under_a_node_flag_is_told() {
        assert!(output(SAID).findings[0].contains("saw 1 node"));
        assert!(output(&SAID.replace(" --local_numa", "")).findings.is_empty());
        assert!(output(&SAID.replace("1 nodes", "2 nodes")).findings.is_empty());
    }

    #[test]
    fn a_failed_test_is_a_failure_and_silence_is_no_result() {
        let failed = SAID.replace("PASS - please", "FAIL - test encountered procedural errors");
        assert!(output(&failed).failure.unwrap().contains("procedural"));
        let quiet = CapturedOutput { stdout: "", stderr: "bad flag\n" };
        assert!(read(&quiet).unwrap_err().contains("bad flag"));
    }
}
