//! Common parts of the generators of `assay-load`: their options, their start barrier, and the JSON
//! document described in docs/load/README.md.

use assay_record::run_folder::{Curve, Phase};
use serde_json::Value;

use crate::workload::kind::{Kind, Program, Threads, WaitMethod};
use crate::workload::metric::{document, numbers};
use crate::workload::options::ASSAY_LOAD;
use crate::workload::output::{CapturedOutput, Output, excerpt};

/// Options of a generator that the run sets itself.
const OWNED: &[(&str, &str)] = &[
    ("json", "remove it: the run reads the JSON document"),
    ("start-barrier", "remove it: the run sets it up"),
    // Its former name, which the generators still take.
    ("gate", "remove it: the run sets up the start barrier"),
    ("predict", "remove it: a prediction runs nothing"),
];

/// A generator with defaults for everything; kinds override what differs.
pub(crate) const fn generator(name: &'static str, about: &'static str, page: &'static str) -> Kind {
    Kind {
        name,
        about,
        page,
        program: Program::Load,
        needs: &[],
        keys: &[],
        options: ASSAY_LOAD,
        property_option: None,
        known_properties: "",
        owned: OWNED,
        seconds: None,
        instead_of_seconds: &[],
        wait: WaitMethod::Native,
        reports_on_sigint: false,
        threads: Threads::Option("threads"),
        does_io: false,
        headline: &[],
        read,
    }
}

/// Parses the document: `metrics`, the footprint as metrics, and phases if present.
pub(crate) fn read(captured: &CapturedOutput<'_>) -> Result<Output, String> {
    let document = document(captured.stdout).ok_or_else(|| {
        let last = captured.stderr.trim().lines().last().unwrap_or("nothing");
        format!("it printed no result; its last line is: {}", excerpt(last))
    })?;
    Ok(from_document(&document?))
}

pub(crate) fn from_document(document: &Value) -> Output {
    let mut output = Output { metrics: numbers(document.get("metrics")), ..Output::default() };
    let missing = document.get("metrics").and_then(Value::as_object).into_iter().flatten();
    for (name, why) in missing {
        if let Some(why) = why.get("not_available").and_then(Value::as_str) {
            output.not_available.insert(name.clone(), why.to_owned());
        }
    }
    for (name, pointer) in [
        ("footprint_predicted_bytes", "/footprint/predicted_bytes"),
        ("footprint_peak_bytes", "/footprint/measured_peak_bytes"),
    ] {
        if let Some(number) = document.pointer(pointer).and_then(Value::as_f64) {
            output.metrics.insert(name.to_owned(), number);
        }
    }
    output.phases = phases(document.get("phases"));
    output.curves = curves(document.get("figures"));
    output.findings = texts(document.get("findings"));
    output
}

/// Parses phases with their times on CLOCK_MONOTONIC in nanoseconds; incomplete entries are
/// skipped.
fn phases(list: Option<&Value>) -> Vec<Phase> {
    let entries = list.and_then(Value::as_array).into_iter().flatten();
    let phase = |entry: &Value| {
        Some(Phase {
            name: entry.get("name")?.as_str()?.to_owned(),
            begin_ns: entry.get("begin_ns")?.as_u64()?,
            end_ns: entry.get("end_ns")?.as_u64()?,
        })
    };
    entries.filter_map(phase).collect()
}

/// Parses curves; invalid entries are skipped.
fn curves(list: Option<&Value>) -> Vec<Curve> {
    let entries = list.and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| serde_json::from_value(entry.clone()).ok()).collect()
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let entries = list.and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.as_str()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_footprint_and_phases_are_parsed() {
        let captured = CapturedOutput {
            stdout: "{\"metrics\": {\"steps_per_s\": 5, \"knee_ns\": {\"not_available\": \"one \
                     cache\"}}, \"footprint\": {\"predicted_bytes\": 100, \
                     \"measured_peak_bytes\": 90}, \"phases\": [{\"name\": \"create\", \
                     \"begin_ns\": 1, \"end_ns\": 3}, {\"name\": \"broken\"}]}",
            stderr: "",
        };
        let output = read(&captured).unwrap();
        assert_eq!(output.metrics["steps_per_s"], 5.0);
        assert_eq!(output.metrics["footprint_peak_bytes"], 90.0);
        assert_eq!(output.not_available["knee_ns"], "one cache");
        let create = Phase { name: "create".to_owned(), begin_ns: 1, end_ns: 3 };
        assert_eq!(output.phases, [create]);
    }

    #[test]
    fn curves_are_parsed_with_their_marks_and_invalid_ones_skipped() {
        let captured = CapturedOutput {
            stdout: "{\"figures\": [{\"name\": \"random\", \"x\": \"bytes\", \"y\": \"ns\", \
                     \"logarithmic\": true, \"points\": [[4096, 1.2], [8192, 4.5]], \"marks\": \
                     [{\"x\": 4096, \"label\": \"L1\"}]}, {\"name\": \"broken\"}]}",
            stderr: "",
        };
        let output = read(&captured).unwrap();
        assert_eq!(output.curves.len(), 1);
        assert_eq!(output.curves[0].points[1], [8192.0, 4.5]);
        assert_eq!(output.curves[0].marks[0].label, "L1");
    }

    #[test]
    fn the_last_line_of_a_generator_without_a_result_is_quoted() {
        let captured =
            CapturedOutput { stdout: "", stderr: "footprint: 1 MiB\nerror: it does not fit\n" };
        assert!(read(&captured).unwrap_err().contains("error: it does not fit"));
    }
}
