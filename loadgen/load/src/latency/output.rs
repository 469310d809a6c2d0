//! The curve as a table and as JSON.

use serde_json::{Value, json};

use super::curve::{Point, knee};
use super::measure::{Curve, Job};
use crate::footprint::format_bytes;
use crate::generator::Report;

/// The report of docs/load/memory.md.
pub(super) fn report(job: &Job, curve: &Curve) -> Report {
    let aggressors: Vec<String> = job.cpus[1..].iter().map(u16::to_string).collect();
    let mut text = format!(
        "victim on CPU {} in {}, aggressors ({}) on CPUs {} in {}\n\
         Inject  Latency Bandwidth      least       most\nDelay   (ns)    MB/sec           \
         (ns)       (ns)\n==============================================\n",
        job.cpus[0],
        format_bytes(job.size),
        job.traffic.name(),
        aggressors.join(","),
        format_bytes(job.load)
    );
    curve.points.iter().for_each(|point| text.push_str(&line(point)));
    let knee = knee(&curve.points);
    text.push_str(&match &knee {
        Ok(knee) => format!(
            "knee at {:.1} MB/s and {:.2} ns: beyond it latency grows more than bandwidth\n",
            knee.load_bytes_per_s * 1e-6,
            knee.median_ns
        ),
        Err(reason) => format!("no knee: {reason}\n"),
    });
    let mut json = json!({
        "victim": { "cpu": job.cpus[0], "bytes": job.size },
        "aggressors": {
            "cpus": job.cpus[1..],
            "bytes": job.load,
            "traffic": job.traffic.name(),
        },
        "points": curve.points.iter().map(point_json).collect::<Vec<_>>(),
        "knee": match &knee {
            Ok(knee) => point_json(knee),
            Err(reason) => json!({ "not_available": reason }),
        },
        "figures": [figure(&curve.points)],
        "validated": true,
        "metrics": metrics(&curve.points),
    });
    if let Some(signal) = curve.ended_by {
        json["ended_by"] = signal.into();
    }
    Report { text, json }
}

/// The curve as drawn in Assay's report.
fn figure(points: &[Point]) -> Value {
    let pairs: Vec<[f64; 2]> =
        points.iter().map(|point| [point.load_bytes_per_s, point.median_ns]).collect();
    let marks = knee(points)
        .map(|knee| json!({ "x": knee.load_bytes_per_s, "label": "knee" }))
        .into_iter()
        .collect::<Vec<_>>();
    json!({
        "name": "loaded latency",
        "x": "bytes per second of the aggressors",
        "y": "nanoseconds per load",
        "logarithmic": false,
        "points": pairs,
        "marks": marks,
    })
}

/// `00200  88.41  12345.6`, as Intel's tool prints it; `idle` without aggressors.
fn line(point: &Point) -> String {
    let delay = point.delay.map_or_else(|| " idle".to_owned(), |delay| format!("{delay:05}"));
    format!(
        "{delay:<6} {:>7.2} {:>10.1} {:>10.2} {:>10.2}\n",
        point.median_ns,
        point.load_bytes_per_s * 1e-6,
        point.least_ns,
        point.most_ns
    )
}

fn point_json(point: &Point) -> Value {
    json!({
        "delay_steps": point.delay,
        "load_bytes_per_s": point.load_bytes_per_s,
        "least_ns": point.least_ns,
        "median_ns": point.median_ns,
        "most_ns": point.most_ns,
        "wall_ns": point.wall_ns,
    })
}

/// Metrics without the curve: with idle aggressors, and at their highest bandwidth.
fn metrics(points: &[Point]) -> Value {
    let mut metrics = serde_json::Map::new();
    for point in points.iter().filter(|point| point.delay.is_none()) {
        metrics.insert("idle_ns".to_owned(), json!(point.median_ns));
    }
    let most = points
        .iter()
        .filter(|point| point.delay.is_some())
        .max_by(|one, other| one.load_bytes_per_s.total_cmp(&other.load_bytes_per_s));
    if let Some(most) = most {
        metrics.insert("loaded_ns".to_owned(), json!(most.median_ns));
        metrics.insert("peak_load_bytes_per_s".to_owned(), json!(most.load_bytes_per_s));
    }
    if let Ok(knee) = knee(points) {
        metrics.insert("knee_ns".to_owned(), json!(knee.median_ns));
        metrics.insert("knee_load_bytes_per_s".to_owned(), json!(knee.load_bytes_per_s));
    }
    Value::Object(metrics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::curve::Sample;
    use crate::latency::pressure::Traffic;

    fn point(delay: Option<u64>, bytes_per_s: f64, ns: f64) -> Point {
        Point::from_samples(delay, &[Sample { own_ns: ns, wall_ns: ns, bytes_per_s }])
    }

    fn reported(points: Vec<Point>) -> Report {
        let job = Job {
            cpus: vec![0, 1],
            delays: Vec::new(),
            traffic: Traffic::Read,
            size: 1 << 27,
            load: 1 << 27,
            samples: 1,
            sample_ns: 1,
        };
        report(&job, &Curve { points, ended_by: None })
    }

    #[test]
    fn points_are_printed_as_intel_s_tool_does() {
        let report = reported(vec![
            point(None, 0.0, 90.0),
            point(Some(200), 5e9, 95.5),
            point(Some(0), 8e9, 250.25),
        ]);
        assert!(report.text.contains(" idle    90.00"), "{}", report.text);
        assert!(report.text.contains("00200    95.50     5000.0"), "{}", report.text);
        assert!(report.text.contains("knee at 5000.0 MB/s and 95.50 ns"), "{}", report.text);
        let metrics = &report.json["metrics"];
        assert_eq!(metrics["idle_ns"], 90.0);
        assert_eq!(metrics["loaded_ns"], 250.25);
        assert_eq!(metrics["knee_load_bytes_per_s"], 5e9);
        assert!(report.json["points"][0]["delay_steps"].is_null());
    }

    #[test]
    fn a_curve_without_a_knee_has_a_reason() {
        let report = reported(vec![point(None, 0.0, 90.0), point(Some(0), 8e9, 91.0)]);
        assert!(report.json["knee"]["not_available"].as_str().unwrap().contains("saturate"));
        assert!(report.json["metrics"].get("knee_ns").is_none());
    }
}
