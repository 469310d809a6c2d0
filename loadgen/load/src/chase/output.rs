//! The latency curve and the cache sizes derived from it, as text and as JSON.

use serde_json::{Value, json};

use super::capacity::{self, CacheLevel};
use super::knee::{Knee, Plateau, Point, agrees, knees, plateaus};
use super::measure::Chased;
use crate::caches::Cache;
use crate::footprint::format_bytes;
use crate::generator::Report;

/// The report of docs/load/memory.md.
pub(super) fn report(chased: &Chased) -> Report {
    let mut text = String::new();
    let (mut curves, mut metrics) = (Vec::new(), serde_json::Map::new());
    let mut figures = Vec::new();
    for (order, points) in &chased.curves {
        text.push_str(&format!("order {}, CPU {}\n", order.name(), chased.cpu));
        let headings = ["bytes", "least ns", "median ns", "wall ns"];
        text.push_str(&row(headings.map(str::to_owned)));
        for point in points {
            let times = [point.min_ns, point.median_ns, point.wall_ns];
            let [least, median, wall] = times.map(|ns| format!("{ns:.3}"));
            text.push_str(&row([point.bytes.to_string(), least, median, wall]));
        }
        let (detected, levels) = (knees(points), plateaus(points));
        text.push_str(&levels_text(&detected, &levels, &chased.caches));
        curves.push(json!({
            "order": order.name(),
            "points": points.iter().map(point_json).collect::<Vec<_>>(),
            "knees": detected.iter().map(|knee| knee_json(knee, &chased.caches)).collect::<Vec<_>>(),
            "memory_ns": memory(&detected, &levels),
        }));
        figures.push(figure(order.name(), points, &chased.caches));
        let levels = capacity::levels(points, &chased.caches);
        text.push_str(&capacities_text(&levels));
        text.push('\n');
        note(&mut metrics, order.name(), &levels);
    }
    let caches: Vec<Value> = chased
        .caches
        .iter()
        .map(|cache| json!({ "level": cache.level, "bytes": cache.bytes }))
        .collect();
    let mut json = json!({
        "cpu": chased.cpu,
        "caches": if caches.is_empty() {
            json!({ "not_available": "the kernel reports no caches (sysfs)" })
        } else {
            Value::Array(caches)
        },
        "curves": curves,
        "figures": figures,
        "metrics": metrics,
    });
    if let Some(signal) = chased.ended_by {
        json["ended_by"] = signal.into();
    }
    Report { text, json }
}

/// The curve as drawn in Assay's report, with the caches reported by the kernel.
fn figure(order: &str, points: &[Point], caches: &[Cache]) -> Value {
    let points: Vec<[f64; 2]> =
        points.iter().map(|point| [point.bytes as f64, point.min_ns]).collect();
    let marks: Vec<Value> = caches
        .iter()
        .map(|cache| json!({ "x": cache.bytes, "label": format!("L{}", cache.level) }))
        .collect();
    json!({
        "name": order,
        "x": "working set, bytes",
        "y": "nanoseconds per load",
        "logarithmic": true,
        "points": points,
        "marks": marks,
    })
}

fn row([bytes, least, median, wall]: [String; 4]) -> String {
    format!("{bytes:>12} {least:>10} {median:>10} {wall:>10}\n")
}

/// Metrics of each level that need no knee detection: its latency, and for a cache its capacity, in
/// bytes and as a fraction of the size reported by the kernel.
fn note(metrics: &mut serde_json::Map<String, Value>, order: &str, levels: &[CacheLevel]) {
    for level in levels {
        let mut put = |what: &str, value: f64| {
            metrics.insert(format!("{order}_{}_{what}", level.name), json!(value));
        };
        put("ns", level.ns);
        if let (Some(bytes), Some(capacity)) = (level.bytes, level.capacity) {
            put("capacity_bytes", capacity);
            put("capacity_part", capacity / bytes as f64);
        }
    }
    if let Some(rise) = capacity::min_rise(levels) {
        metrics.insert(format!("{order}_least_rise"), json!(rise));
    }
}

fn capacities_text(levels: &[CacheLevel]) -> String {
    let mut text = String::new();
    for level in levels {
        if let (Some(bytes), Some(capacity)) = (level.bytes, level.capacity) {
            text.push_str(&format!(
                "{} ends at {}, {:.2} of the size in sysfs: half-way to the next level\n",
                level.name.to_uppercase(),
                format_bytes(capacity as u64),
                capacity / bytes as f64
            ));
        }
    }
    text
}

/// The reported cache that a knee corresponds to.
fn known(knee: &Knee, caches: &[Cache]) -> Option<Cache> {
    caches.iter().copied().find(|cache| agrees(knee.bytes, cache.bytes))
}

fn memory(knees: &[Knee], plateaus: &[Plateau]) -> Value {
    match plateaus.last() {
        Some(last) if plateaus.len() == knees.len() + 1 && !knees.is_empty() => json!(last.ns),
        _ => json!({ "not_available": "the curve has no plateau after its last knee" }),
    }
}

fn levels_text(knees: &[Knee], plateaus: &[Plateau], caches: &[Cache]) -> String {
    let mut text = String::new();
    for knee in knees {
        let cache_note = match known(knee, caches) {
            Some(cache) => format!("L{} of {} in sysfs", cache.level, format_bytes(cache.bytes)),
            None => "no cache of that size in sysfs".to_owned(),
        };
        text.push_str(&format!(
            "knee at {}: {:.2} ns per load up to it ({cache_note})\n",
            format_bytes(knee.bytes),
            knee.ns
        ));
    }
    for cache in caches.iter().filter(|cache| !knees.iter().any(|k| agrees(k.bytes, cache.bytes))) {
        text.push_str(&format!(
            "no knee at L{} of {} reported by sysfs: the curve has no sharp bend there\n",
            cache.level,
            format_bytes(cache.bytes)
        ));
    }
    if let Some(ns) = memory(knees, plateaus).as_f64() {
        text.push_str(&format!("after the last knee: {ns:.2} ns per load\n"));
    }
    text
}

fn point_json(point: &Point) -> Value {
    json!({
        "bytes": point.bytes,
        "least_ns": point.min_ns,
        "median_ns": point.median_ns,
        "wall_ns": point.wall_ns,
    })
}

fn knee_json(knee: &Knee, caches: &[Cache]) -> Value {
    let cache = known(knee, caches).map_or_else(
        || json!({ "not_available": "no cache of that size in sysfs" }),
        |cache| json!({ "level": cache.level, "bytes": cache.bytes }),
    );
    json!({ "bytes": knee.bytes, "ns": knee.ns, "cache": cache })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chase::order::Order;

    fn chased(ns: &[(u64, f64)], caches: &[(u32, u64)]) -> Chased {
        let point = |(bytes, ns): &(u64, f64)| Point {
            bytes: *bytes,
            min_ns: *ns,
            median_ns: *ns,
            wall_ns: *ns,
        };
        Chased {
            cpu: 0,
            caches: caches
                .iter()
                .map(|(level, bytes)| Cache { level: *level, bytes: *bytes })
                .collect(),
            curves: vec![(Order::Random, ns.iter().map(point).collect())],
            ended_by: None,
        }
    }

    /// Two levels: 32 KiB at 1 ns, then 10 ns.
    const STEP: [(u64, f64); 6] = [
        (8 << 10, 1.0),
        (16 << 10, 1.0),
        (32 << 10, 1.05),
        (64 << 10, 6.0),
        (128 << 10, 10.0),
        (256 << 10, 10.1),
    ];

    #[test]
    fn a_knee_is_shown_with_the_matching_cache() {
        let report = report(&chased(&STEP, &[(1, 32 << 10)]));
        assert!(report.text.contains("knee at 32.0 KiB: 1.00 ns"), "{}", report.text);
        assert!(report.text.contains("L1 of 32.0 KiB in sysfs"), "{}", report.text);
        let knee = &report.json["curves"][0]["knees"][0];
        assert_eq!(knee["cache"]["level"], 1);
        assert_eq!(report.json["curves"][0]["memory_ns"], 10.1);
        assert_eq!(report.json["metrics"]["random_l1_ns"], 1.0);
        let figure = &report.json["figures"][0];
        assert_eq!(figure["points"][3], json!([65536.0, 6.0]));
        assert_eq!(figure["marks"][0]["x"], 32 << 10);
        assert_eq!(report.json["metrics"]["random_memory_ns"], 10.1);
    }

    #[test]
    fn without_sysfs_knees_are_detected_and_caches_are_unknown() {
        let report = report(&chased(&STEP, &[]));
        assert!(report.text.contains("no cache of that size in sysfs"), "{}", report.text);
        assert!(report.json["caches"]["not_available"].is_string());
        assert_eq!(report.json["metrics"], json!({}));
    }

    #[test]
    fn a_cache_without_a_knee_is_reported() {
        let report = report(&chased(&STEP[..3], &[(1, 32 << 10), (2, 1 << 20)]));
        assert!(report.text.contains("no knee at L2 of 1.00 MiB"), "{}", report.text);
        assert!(report.json["curves"][0]["memory_ns"]["not_available"].is_string());
    }
}
