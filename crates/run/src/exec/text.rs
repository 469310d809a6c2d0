//! The text report: resource usage, then one line per limit.

use assay_host::facts::Available;

use crate::exec::amount::{bytes, count, seconds};
use crate::exec::limits_hit::Binding;
use crate::exec::report::{Ended, LimitReport, Report};
use crate::exec::usage::{Io, Peak, ResourceUsage};

/// The report as text, without a trailing newline. `bold` highlights limits that were hit.
#[must_use]
pub fn text(report: &Report, bold: bool) -> String {
    let mut lines =
        vec![format!("assay exec: {} after {}", ended(report.ended), seconds(report.used.wall_s))];
    lines.extend(used(&report.used));
    if let Some(left) = &report.left {
        let what = if left.killed { "killed" } else { "waited for" };
        let them = count(left.processes as u64, "process", "processes");
        lines.push(line("left", &format!("{them} outlived the command: {what}")));
    }
    let width = report.limits.iter().map(|limit| name(limit).len()).max().unwrap_or(0);
    for limit in &report.limits {
        lines.extend(limit_lines(limit, width, bold));
    }
    for refused in &report.not_set {
        lines.push(format!("{}={}  NOT SET: {}", refused.knob, refused.value, refused.reason));
    }
    if !report.restored {
        lines.push("the host could not be restored entirely: run `assay restore`".to_owned());
    }
    lines.join("\n")
}

fn ended(ended: Ended) -> String {
    match ended {
        Ended::ExitCode(code) => format!("exit code {code}"),
        Ended::Signal(signal) => format!("killed by signal {signal}"),
    }
}

fn line(what: &str, text: &str) -> String {
    format!("  {what:<10} {text}")
}

fn used(used: &ResourceUsage) -> Vec<String> {
    vec![
        line("CPU", &cpu(used)),
        line("memory", &memory(used)),
        line("I/O", &or_why(&used.io, io)),
        line(
            "processes",
            &or_why(&used.processes_peak, |peak| {
                format!("{} at once", at_most(peak, u64::to_string))
            }),
        ),
    ]
}

fn cpu(used: &ResourceUsage) -> String {
    let time = |time: &Available<f64>| or_why(time, |time| seconds(*time));
    let total = time(&used.cpu_s);
    if used.cpu_s.value().is_none() {
        return total;
    }
    format!(
        "{total} (user {}, system {}), {} CPUs on average",
        time(&used.user_s),
        time(&used.system_s),
        or_why(&used.cpus_on_average, |cpus| format!("{cpus:.2}"))
    )
}

fn memory(used: &ResourceUsage) -> String {
    let memory = or_why(&used.memory_peak, |peak| at_most(peak, |value| bytes(*value)));
    let swap = or_why(&used.swap_peak, |peak| at_most(peak, |value| bytes(*value)));
    format!("{memory}; swap {swap}")
}

/// Marks a sampled peak.
fn at_most(peak: &Peak, show: impl FnOnce(&u64) -> String) -> String {
    let sampled = if peak.sampled { " (largest of samples)" } else { "" };
    format!("at most {}{sampled}", show(&peak.value))
}

fn io(io: &Io) -> String {
    let by = match io.source.as_str() {
        "getrusage" => " (by getrusage: no file of the group counts it here)",
        _ => "",
    };
    format!("read {}, written {}{by}", bytes(io.read_bytes), bytes(io.write_bytes))
}

fn or_why<T>(available: &Available<T>, show: impl FnOnce(&T) -> String) -> String {
    match available {
        Available::Value(value) => show(value),
        Available::NotAvailable(why) => format!("not available: {why}"),
    }
}

fn name(limit: &LimitReport) -> String {
    let amount = limit.asked.parse::<assay_sys::units::Bytes>().ok();
    let is_bytes = assay_host::knob::find(&limit.knob)
        .is_some_and(|knob| knob.unit == assay_host::knob::Unit::Bytes);
    match amount {
        Some(amount) if is_bytes => format!("{} {amount}", limit.knob),
        _ => format!("{} {}", limit.knob, limit.asked),
    }
}

fn limit_lines(limit: &LimitReport, width: usize, bold: bool) -> Vec<String> {
    let words = limit.judged.binding.words();
    let words = match limit.judged.binding {
        Binding::Bound if bold => format!("\x1b[1m{words}\x1b[0m"),
        _ => words.to_owned(),
    };
    let mut lines = vec![format!("{:<width$}  {words}: {}", name(limit), limit.judged.figures)];
    match &limit.reads {
        Available::Value(reads) if limit.differs => lines.push(format!(
            "{:width$}  read-back differs: {} contains `{reads}`, `{}` was written",
            "", limit.file, limit.written
        )),
        Available::Value(_) => {}
        Available::NotAvailable(why) => {
            lines.push(format!("{:width$}  cannot be read back: {why}", ""));
        }
    }
    if let Some(now) = &limit.changed_to {
        lines.push(format!(
            "{:width$}  changed during the run: {} now contains `{now}`",
            "", limit.file
        ));
    }
    lines
}

#[cfg(test)]
mod tests;
