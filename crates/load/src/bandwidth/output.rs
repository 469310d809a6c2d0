//! The report: STREAM's table, and what it leaves out as JSON.

use serde_json::{Map, Value, json};

use super::check;
use super::kernels::{Kernel, Stores};
use super::matrix::{Found, Pair};
use super::measure::{Job, Streamed};
use super::times::Times;
use crate::footprint::shown;
use crate::generator::Report;
use crate::measured::known;

/// The report of docs/load/bandwidth.md.
pub(super) fn report(job: &Job, streamed: &Streamed, matrix: &Result<Vec<Pair>, String>) -> Report {
    let stores = match job.stores {
        Stores::Cached => "cached",
        Stores::Streaming => "streaming",
    };
    let mut text = format!(
        "Array size = {} (elements), {} each\nNumber of Threads = {}, {stores} stores\n\
         Function    Best Rate MB/s  Avg time     Min time     Max time\n",
        job.items,
        shown((job.items * size_of::<f64>()) as u64),
        streamed.threads
    );
    let (mut loops, mut metrics) = (Map::new(), Map::new());
    for (kernel, times) in job.kernels.iter().zip(&streamed.times) {
        text.push_str(&line(*kernel, times, job.items));
        loops.insert(kernel.name().to_owned(), of_loop(*kernel, times, job));
        let counted = (kernel.counted() * job.items as u64) as f64;
        metrics.insert(format!("{}_bytes_per_s", kernel.name()), json!(counted / times.least));
        metrics.insert(format!("{}_mean_bytes_per_s", kernel.name()), json!(counted / times.mean));
    }
    text.push_str(&format!(
        "Solution Validates: avg error {:e} is less than {:e} on all three arrays\n",
        streamed.error,
        check::ALLOWED
    ));
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

fn of_loop(kernel: Kernel, times: &Times, job: &Job) -> Value {
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
        // The longest time is the lowest rate. A mean whose interval reaches 0 s bounds no rate.
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
    for Pair { cpu_node, memory_node, found } in pairs {
        text.push_str(&format!("{cpu_node:>9} {memory_node:>11} "));
        text.push_str(&match found {
            Ok(Found { bytes_per_s, load_ns, placed, .. }) => {
                let placed = match placed {
                    Ok(part) => format!("{:.0} %", part * 100.0),
                    Err(_) => "not known".to_owned(),
                };
                format!("{:>12.1} {load_ns:>10.2} {placed:>8}\n", bytes_per_s * 1e-6)
            }
            Err(reason) => format!("not available: {reason}\n"),
        });
    }
    text
}

fn pair_json(pair: &Pair) -> Value {
    let mut json = match &pair.found {
        Ok(found) => json!({
            "threads": found.threads,
            "read_bytes_per_s": found.bytes_per_s,
            "load_ns": found.load_ns,
            "in_place": known(found.placed.as_ref().map(|part| json!(part))),
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
        let mut times = Times::none();
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

    /// 24 bytes for each of a million numbers in 2 ms are 12 GB/s; the memory has moved 32.
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
    fn an_interval_that_bounds_nothing_is_null_and_not_infinite() {
        let (job, streamed) = streamed(&[0.001, 0.009]);
        let report = report(&job, &streamed, &Err(String::new()));
        let triad = &report.json["loops"]["triad"];
        assert!(triad["mean_high_bytes_per_s"].is_null(), "{triad}");
        assert!(triad["mean_low_bytes_per_s"].as_f64().unwrap() > 0.0, "{triad}");
    }

    #[test]
    fn pairs_stand_below_each_other_and_one_that_failed_says_why() {
        let (job, streamed) = streamed(&[0.002, 0.002]);
        let found = Found { bytes_per_s: 5e9, load_ns: 91.5, placed: Ok(1.0), threads: 4 };
        let pairs = vec![
            Pair { cpu_node: 0, memory_node: 0, found: Ok(found) },
            Pair { cpu_node: 0, memory_node: 1, found: Err("forbidden".to_owned()) },
        ];
        let report = report(&job, &streamed, &Ok(pairs));
        assert!(report.text.contains("      5000.0      91.50    100 %"), "{}", report.text);
        assert!(report.text.contains("not available: forbidden"), "{}", report.text);
        assert_eq!(report.json["matrix"][0]["read_bytes_per_s"], 5e9);
        assert_eq!(report.json["matrix"][1]["memory_node"], 1);
        assert_eq!(report.json["matrix"][1]["not_available"], "forbidden");
    }
}
