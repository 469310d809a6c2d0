//! The report: STREAM's table as text, and more detail as JSON.

use serde_json::{Map, Value, json};

use super::check;
use super::kernels::{Kernel, Stores};
use super::matrix::{NOT_REQUESTED, Pair, PairMeasurement};
use super::measure::{Job, Streamed};
use super::times::Times;
use crate::footprint::format_bytes;
use crate::generator::Report;
use crate::measured::known;

/// Names of the metrics that compare remote with local memory.
const FAR_LOAD: &str = "far_to_near_load";
const FAR_READ: &str = "far_to_near_read";

/// The report of docs/load/memory.md.
pub(super) fn report(job: &Job, streamed: &Streamed, matrix: &Result<Vec<Pair>, String>) -> Report {
    let stores = match job.stores {
        Stores::Cached => "cached",
        Stores::Streaming => "streaming",
    };
    let mut text = format!(
        "Array size = {} (elements), {} each\nNumber of Threads = {}, {stores} stores\n\
         Function    Best Rate MB/s  Avg time     Min time     Max time\n",
        job.items,
        format_bytes((job.items * size_of::<f64>()) as u64),
        streamed.threads
    );
    let (mut loops, mut metrics) = (Map::new(), Map::new());
    for (kernel, times) in job.kernels.iter().zip(&streamed.times) {
        text.push_str(&line(*kernel, times, job.items));
        loops.insert(kernel.name().to_owned(), loop_json(*kernel, times, job));
        let counted = (kernel.counted() * job.items as u64) as f64;
        metrics.insert(format!("{}_bytes_per_s", kernel.name()), json!(counted / times.least));
        metrics.insert(format!("{}_mean_bytes_per_s", kernel.name()), json!(counted / times.mean));
    }
    text.push_str(&format!(
        "Solution Validates: avg error {:e} is less than {:e} on all three arrays\n",
        streamed.error,
        check::TOLERANCE
    ));
    matrix_metrics(matrix, &mut metrics);
    match matrix {
        Ok(pairs) => text.push_str(&matrix_text(pairs)),
        Err(reason) => text.push_str(&format!("node pairs: not available: {reason}\n")),
    }
    let mut json = json!({
        "array_bytes": job.items * size_of::<f64>(),
        "threads": streamed.threads,
        "stores": stores,
        "pinned": job.pin,
        "loops": loops,
        "error": streamed.error,
        "validated": true,
        "matrix": known(matrix.as_ref().map(|pairs| pairs.iter().map(pair_json).collect())),
        "metrics": metrics,
    });
    if let Some(signal) = streamed.ended_by {
        json["ended_by"] = signal.into();
    }
    Report { text, json }
}

/// `Triad:          12345.6     0.031337     0.031111     0.032222`: in millions of bytes.
fn line(kernel: Kernel, times: &Times, items: usize) -> String {
    let name = kernel.name();
    let name = format!("{}{}:", name[..1].to_uppercase(), &name[1..]);
    let rate = (kernel.counted() * items as u64) as f64 / times.least * 1e-6;
    let Times { mean, least, most, .. } = times;
    format!("{name:<11}{rate:>12.1}  {mean:>11.6}  {least:>11.6}  {most:>11.6}\n")
}

fn loop_json(kernel: Kernel, times: &Times, job: &Job) -> Value {
    let counted = kernel.counted() * job.items as u64;
    let moved = kernel.moved(job.stores) * job.items as u64;
    let interval = times.interval();
    let (low, high) = interval.unzip();
    let rate = |seconds: Option<f64>| seconds.map(|seconds| counted as f64 / seconds);
    json!({
        "counted_bytes": counted,
        "moved_bytes": moved,
        "repeats": times.count,
        "least_s": times.least,
        "mean_s": times.mean,
        "mean_low_s": low,
        "mean_high_s": high,
        "most_s": times.most,
        "best_bytes_per_s": rate(Some(times.least)),
        "mean_bytes_per_s": rate(Some(times.mean)),
        // The longest time is the lowest rate. A mean whose interval reaches 0 s has no upper rate.
        "mean_low_bytes_per_s": rate(high),
        "mean_high_bytes_per_s": rate(low.filter(|low| *low > 0.0)),
        "best_moved_bytes_per_s": moved as f64 / times.least,
        "times_s": times.first,
    })
}

fn matrix_text(pairs: &[Pair]) -> String {
    let mut text = format!(
        "{:>9} {:>11} {:>12} {:>10} {:>8}\n",
        "CPUs of", "memory of", "read MB/s", "load ns", "in place"
    );
    for Pair { cpu_node, memory_node, measurement } in pairs {
        text.push_str(&format!("{cpu_node:>9} {memory_node:>11} "));
        text.push_str(&match measurement {
            Ok(PairMeasurement { bytes_per_s, load_ns, fraction_on_node, .. }) => {
                let fraction_on_node = match fraction_on_node {
                    Ok(part) => format!("{:.0} %", part * 100.0),
                    Err(_) => "not known".to_owned(),
                };
                format!("{:>12.1} {load_ns:>10.2} {fraction_on_node:>8}\n", bytes_per_s * 1e-6)
            }
            Err(reason) => format!("not available: {reason}\n"),
        });
    }
    text
}

/// Flat metrics of the pairs, and of remote against local memory; none without `--matrix`.
fn matrix_metrics(matrix: &Result<Vec<Pair>, String>, metrics: &mut Map<String, Value>) {
    let pairs = match matrix {
        Ok(pairs) => pairs,
        Err(reason) if reason == NOT_REQUESTED => return,
        Err(reason) => {
            for name in [FAR_LOAD, FAR_READ] {
                metrics.insert(name.to_owned(), json!({ "not_available": reason }));
            }
            return;
        }
    };
    for Pair { cpu_node, memory_node, measurement } in pairs {
        let name = format!("node{cpu_node}_node{memory_node}");
        let (read, load) = match measurement {
            Ok(measurement) => (json!(measurement.bytes_per_s), json!(measurement.load_ns)),
            Err(reason) => {
                let why = json!({ "not_available": reason });
                (why.clone(), why)
            }
        };
        metrics.insert(format!("{name}_read_bytes_per_s"), read);
        metrics.insert(format!("{name}_load_ns"), load);
    }
    for (name, value) in [
        (
            FAR_LOAD,
            (|measurement: &PairMeasurement| measurement.load_ns) as fn(&PairMeasurement) -> f64,
        ),
        (FAR_READ, |measurement: &PairMeasurement| measurement.bytes_per_s),
    ] {
        let ratio = far_to_near(pairs, value);
        let none = || json!({ "not_available": "not both local and remote pairs were measured" });
        metrics.insert(name.to_owned(), ratio.map_or_else(none, |ratio| json!(ratio)));
    }
}

/// Geometric mean over pairs of different nodes, divided by that over pairs of one node.
fn far_to_near(pairs: &[Pair], value: fn(&PairMeasurement) -> f64) -> Option<f64> {
    let mean = |is_near: bool| {
        let side = pairs.iter().filter(|pair| (pair.cpu_node == pair.memory_node) == is_near);
        let logs: Vec<f64> =
            side.filter_map(|pair| Some(value(pair.measurement.as_ref().ok()?).ln())).collect();
        (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
    };
    Some((mean(false)? - mean(true)?).exp())
}

fn pair_json(pair: &Pair) -> Value {
    let mut json = match &pair.measurement {
        Ok(measurement) => json!({
            "threads": measurement.threads,
            "read_bytes_per_s": measurement.bytes_per_s,
            "load_ns": measurement.load_ns,
            "in_place": known(measurement.fraction_on_node.as_ref().map(|part| json!(part))),
        }),
        Err(reason) => json!({ "not_available": reason }),
    };
    json["cpu_node"] = pair.cpu_node.into();
    json["memory_node"] = pair.memory_node.into();
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streamed(seconds: &[f64]) -> (Job, Streamed) {
        let mut times = Times::empty();
        seconds.iter().for_each(|seconds| times.add(*seconds));
        let job = Job {
            kernels: vec![Kernel::Triad],
            stores: Stores::Cached,
            items: 1_000_000,
            repeats: 3,
            for_ns: None,
            pin: false,
        };
        (job, Streamed { threads: 2, times: vec![times], error: 0.0, ended_by: None })
    }

    /// 24 bytes for each of a million elements in 2 ms are 12 GB/s; memory traffic was 32.
    #[test]
    fn the_line_of_a_loop_is_as_stream_prints_it() {
        let (job, streamed) = streamed(&[0.003, 0.002]);
        let report = report(&job, &streamed, &Err("one node".to_owned()));
        let expected = "Triad:          12000.0     0.002500     0.002000     0.003000\n";
        assert!(report.text.contains(expected), "{}", report.text);
        assert!(report.text.contains("Solution Validates"), "{}", report.text);
        let triad = &report.json["loops"]["triad"];
        assert_eq!(triad["best_bytes_per_s"], 1.2e10);
        assert_eq!(triad["best_moved_bytes_per_s"], 1.6e10);
        assert_eq!(report.json["metrics"]["triad_bytes_per_s"], 1.2e10);
        assert_eq!(report.json["matrix"]["not_available"], "one node");
    }

    #[test]
    fn an_unbounded_interval_is_null_and_not_infinite() {
        let (job, streamed) = streamed(&[0.001, 0.009]);
        let report = report(&job, &streamed, &Err(String::new()));
        let triad = &report.json["loops"]["triad"];
        assert!(triad["mean_high_bytes_per_s"].is_null(), "{triad}");
        assert!(triad["mean_low_bytes_per_s"].as_f64().unwrap() > 0.0, "{triad}");
    }

    #[test]
    fn pairs_are_listed_and_a_failed_one_has_its_reason() {
        let (job, streamed) = streamed(&[0.002, 0.002]);
        let measurement = PairMeasurement {
            bytes_per_s: 5e9,
            load_ns: 91.5,
            fraction_on_node: Ok(1.0),
            threads: 4,
        };
        let pairs = vec![
            Pair { cpu_node: 0, memory_node: 0, measurement: Ok(measurement) },
            Pair { cpu_node: 0, memory_node: 1, measurement: Err("forbidden".to_owned()) },
        ];
        let report = report(&job, &streamed, &Ok(pairs));
        assert!(report.text.contains("      5000.0      91.50    100 %"), "{}", report.text);
        assert!(report.text.contains("not available: forbidden"), "{}", report.text);
        assert_eq!(report.json["matrix"][0]["read_bytes_per_s"], 5e9);
        assert_eq!(report.json["matrix"][1]["memory_node"], 1);
        assert_eq!(report.json["matrix"][1]["not_available"], "forbidden");
        let metrics = &report.json["metrics"];
        assert_eq!(metrics["node0_node0_read_bytes_per_s"], 5e9);
        assert_eq!(metrics["node0_node0_load_ns"], 91.5);
        assert_eq!(metrics["node0_node1_load_ns"]["not_available"], "forbidden");
        assert!(metrics["far_to_near_load"]["not_available"].is_string(), "{metrics}");
    }

    #[test]
    fn remote_is_compared_with_local_memory_only_on_request() {
        let (job, streamed) = streamed(&[0.002, 0.002]);
        let pair = |cpu_node, memory_node, bytes_per_s, load_ns| Pair {
            cpu_node,
            memory_node,
            measurement: Ok(PairMeasurement {
                bytes_per_s,
                load_ns,
                fraction_on_node: Ok(1.0),
                threads: 1,
            }),
        };
        let pairs = vec![pair(0, 0, 8e9, 80.0), pair(0, 1, 4e9, 120.0), pair(1, 0, 4e9, 120.0)];
        let measurement = report(&job, &streamed, &Ok(pairs)).json;
        let metric = |name: &str| measurement["metrics"][name].as_f64().unwrap();
        assert!((metric("far_to_near_load") - 1.5).abs() < 1e-9);
        assert!((metric("far_to_near_read") - 0.5).abs() < 1e-9);
        let one = report(&job, &streamed, &Err("one node".to_owned())).json;
        assert_eq!(one["metrics"]["far_to_near_load"]["not_available"], "one node");
        let unasked = report(&job, &streamed, &Err(NOT_REQUESTED.to_owned())).json;
        assert!(unasked["metrics"].get("far_to_near_load").is_none());
    }
}
