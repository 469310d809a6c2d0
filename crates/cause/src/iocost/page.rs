//! The parameters of iocost for a disk, for a terminal.

use assay_sys::escape::page::wrap;

use crate::iocost::IoCost;

/// What was measured, the lines for the kernel and for systemd, and what a study of weights showed under them, for a
/// terminal of `width` columns.
#[must_use]
pub fn render(found: &IoCost, width: usize) -> String {
    let width = width.max(40);
    let mut lines = vec![format!("{} ({}, {})", found.disk, found.device, found.numbers)];
    if found.ended_early {
        lines.push("  ended early: what was not measured is missing".to_owned());
    }
    for (key, value) in &found.measured {
        let unit = match key.as_str() {
            "rbps" | "wbps" => "bytes/s".to_owned(),
            "rlat" | "wlat" => format!("us, percentile {}", found.percentile),
            _ => "requests/s".to_owned(),
        };
        lines.push(format!("  {key:<10}{value:>14.0} {unit}"));
    }
    let missing = found.not_available.iter().filter(|(what, _)| *what != "proof");
    for (what, why) in missing {
        lines.extend(wrap(&format!("  {what}: not available: {why}"), width, "    "));
    }
    // Lines to copy are not wrapped.
    for (file, line) in [("io.cost.model", &found.model), ("io.cost.qos", &found.qos)] {
        if let Some(line) = line {
            lines.extend([String::new(), format!("{file}:"), format!("  {line}")]);
        }
    }
    if !found.hwdb.is_empty() {
        lines
            .extend([String::new(), "systemd (/etc/udev/hwdb.d/90-iocost-local.hwdb):".to_owned()]);
        lines.extend(found.hwdb.iter().map(|line| format!("  {line}")));
    }
    lines.push(String::new());
    let proof = match (&found.proof, found.not_available.get("proof")) {
        (Some(proof), _) => format!(
            "proof: {} under these parameters, {} repeats: {}: {}",
            proof.study,
            proof.repeats,
            proof.verdict.word(),
            proof.reason
        ),
        (None, why) => format!("proof: not available: {}", why.map_or("", String::as_str)),
    };
    lines.extend(wrap(&proof, width, "  "));
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn lines_to_copy_are_whole_and_what_is_missing_is_named() {
        let model = format!("8:0 ctrl=user model=linear rbps={}", "1".repeat(60));
        let found = IoCost {
            schema: 1,
            disk: "/dev/sda".to_owned(),
            device: "sda".to_owned(),
            numbers: "8:0".to_owned(),
            model_name: None,
            measured: BTreeMap::from([("rbps".to_owned(), 1_234_567.0), ("rlat".to_owned(), 90.4)]),
            percentile: 95,
            model: Some(model.clone()),
            qos: Some("8:0 enable=1".to_owned()),
            hwdb: Vec::new(),
            proof: None,
            not_available: [("wbps", "only read"), ("proof", "cgroup v1")]
                .map(|(what, why)| (what.to_owned(), why.to_owned()))
                .into(),
            ended_early: false,
        };
        let text = render(&found, 50);
        assert!(text.contains(&format!("  {model}\n")), "{text}");
        assert!(
            text.contains("1234567 bytes/s") && text.contains("90 us, percentile 95"),
            "{text}"
        );
        assert!(text.contains("wbps: not available: only read"), "{text}");
        assert!(text.contains("proof: not available: cgroup v1"), "{text}");
    }
}
