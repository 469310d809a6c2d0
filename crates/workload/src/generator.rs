//! What the generators of `assay-load` have in common: their options, their gate, and the one JSON
//! document of docs/load/README.md.

use assay_run_folder::{Curve, Phase};
use serde_json::Value;

use crate::kind::{Gate, Kind, Program, Threads};
use crate::metric::{document, numbers};
use crate::options::ASSAY_LOAD;
use crate::output::{CapturedOutput, Output};

/// What the run itself tells a generator.
const OWNED: &[(&str, &str)] = &[
    ("json", "remove it: the run reads the JSON document itself"),
    ("gate", "remove it: the run makes the gate"),
    ("predict", "remove it: `assay-load` alone predicts"),
];

/// A generator with nothing special about it. Kinds change what differs.
pub(crate) const fn generator(name: &'static str, about: &'static str, page: &'static str) -> Kind {
    Kind {
        name,
        about,
        page,
        program: Program::Load,
        needs: &[],
        keys: &[],
        options: ASSAY_LOAD,
        others: None,
        known_others: "",
        owned: OWNED,
        seconds: None,
        instead_of_seconds: &[],
        gate: Gate::Own,
        ends_with_figures: false,
        threads: Threads::Option("threads"),
        does_io: false,
        headline: &[],
        read,
    }
}

/// The document: `metrics` as it is, the footprint beside it, and phases where it has them.
pub(crate) fn read(said: &CapturedOutput<'_>) -> Result<Output, String> {
    let document = document(said.stdout).ok_or_else(|| {
        let last = said.stderr.trim().lines().last().unwrap_or("nothing");
        format!("it printed no result; it said: {last}")
    })?;
    Ok(of_document(&document))
}

pub(crate) fn of_document(document: &Value) -> Output {
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

/// Phases with their times on CLOCK_MONOTONIC in nanoseconds; an entry without them is none.
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

/// Curves; an entry that is none is left out.
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
    fn metrics_footprint_and_phases_are_read() {
        let said = CapturedOutput {
            stdout: "{\"metrics\": {\"steps_per_s\": 5, \"knee_ns\": {\"not_available\": \"one \
                     cache\"}}, \"footprint\": {\"predicted_bytes\": 100, \
                     \"measured_peak_bytes\": 90}, \"phases\": [{\"name\": \"create\", \
                     \"begin_ns\": 1, \"end_ns\": 3}, {\"name\": \"broken\"}]}",
            stderr: "",
        };
        let output = read(&said).unwrap();
        assert_eq!(output.metrics["steps_per_s"], 5.0);
        assert_eq!(output.metrics["footprint_peak_bytes"], 90.0);
        assert_eq!(output.not_available["knee_ns"], "one cache");
        let create = Phase { name: "create".to_owned(), begin_ns: 1, end_ns: 3 };
        assert_eq!(output.phases, [create]);
    }

    #[test]
    fn curves_are_read_with_their_marks_and_what_is_none_is_left_out() {
        let said = CapturedOutput {
            stdout: "{\"figures\": [{\"name\": \"random\", \"x\": \"bytes\", \"y\": \"ns\", \
                     \"logarithmic\": true, \"points\": [[4096, 1.2], [8192, 4.5]], \"marks\": \
                     [{\"x\": 4096, \"label\": \"L1\"}]}, {\"name\": \"broken\"}]}",
            stderr: "",
        };
        let output = read(&said).unwrap();
        assert_eq!(output.curves.len(), 1);
        assert_eq!(output.curves[0].points[1], [8192.0, 4.5]);
        assert_eq!(output.curves[0].marks[0].label, "L1");
    }

    #[test]
    fn a_generator_that_said_no_result_is_quoted() {
        let said =
            CapturedOutput { stdout: "", stderr: "footprint: 1 MiB\nerror: it does not fit\n" };
        assert!(read(&said).unwrap_err().contains("error: it does not fit"));
    }
}
