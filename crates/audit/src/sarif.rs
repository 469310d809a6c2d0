//! Findings as SARIF 2.1.0 (OASIS), which code scanning services and editors show.
//!
//! A finding is a result, its first reading is where it is, and the others are related places. What could not be
//! looked at is a notification of the invocation, so that an empty list of results is not taken for a clean host.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use crate::document::Audit;
use crate::finding::{Class, Finding, Reading};
use crate::rule::Rule;
use crate::rules;

/// Where the schema is published.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The document; `version` is that of the program.
#[must_use]
pub fn sarif(audit: &Audit, version: &str) -> Value {
    let number: BTreeMap<&str, usize> =
        rules::all().enumerate().map(|(number, rule)| (rule.code, number)).collect();
    let known = |text: &assay_facts::Available<String>| text.value().cloned();
    let host = known(&audit.host).unwrap_or_else(|| "unknown".to_owned());
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "assay audit",
                "version": version,
                "rules": rules::all().map(descriptor).collect::<Vec<_>>(),
            }},
            "automationDetails": {"id": format!("assay-audit/{host}")},
            "invocations": [{
                "executionSuccessful": true,
                "endTimeUtc": audit.taken_at,
                "machine": host,
                "toolExecutionNotifications": audit
                    .not_looked_at
                    .iter()
                    .map(|what| json!({"level": "note", "message": message(&format!("not looked at: {what}"))}))
                    .collect::<Vec<_>>(),
            }],
            // Paths are relative to the root of the host, as services expect paths relative to something.
            "originalUriBaseIds": {"HOST": {"uri": "file:///"}},
            "columnKind": "unicodeCodePoints",
            "results": audit
                .findings
                .iter()
                .map(|finding| result(finding, number.get(finding.code)))
                .collect::<Vec<_>>(),
            "properties": {
                "kernel": known(&audit.kernel),
                "groups": audit.groups,
                "withSettings": audit.with_settings,
            },
        }],
    })
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.code,
        "shortDescription": {"text": rule.meaning},
        "fullDescription": {"text": rule.condition},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": level(rule.class)},
        "properties": {
            "class": rule.class,
            "versions": rule.versions,
            "source": rule.source,
        },
    })
}

const fn level(class: Class) -> &'static str {
    match class {
        Class::CannotAct => "error",
        Class::Weakened | Class::MeansElse | Class::Risk => "warning",
        Class::NotNow => "note",
    }
}

fn result(finding: &Finding, rule: Option<&usize>) -> Value {
    let mut places = finding.readings.iter().map(physical);
    let mut place = places.next().unwrap_or_else(|| json!({}));
    place["logicalLocations"] =
        json!([{"fullyQualifiedName": finding.group, "kind": "control group"}]);
    let related = places.enumerate().map(|(number, mut place)| {
        place["id"] = json!(number + 1);
        place
    });
    let setting = finding.readings.first().map_or("", |reading| reading.file.as_str());
    let mut result = json!({
        "ruleId": finding.code,
        "level": level(finding.class),
        "message": message(&format!("{}. What to do: {}", finding.sentence, finding.remedy)),
        "locations": [place],
        "relatedLocations": related.collect::<Vec<_>>(),
        // The same setting of the same group stays the same alert when its number changes.
        "partialFingerprints": {"setting/v1": format!("{} {}", finding.code, setting)},
        "properties": {"class": finding.class, "owner": finding.owner},
    });
    if let Some(rule) = rule {
        result["ruleIndex"] = json!(rule);
    }
    result
}

/// A message. In its text `[words](address)` is a link (SARIF 2.1.0, 3.11.6), and a user who may name a group could show
/// one to the reader of an alert; a backslash before a bracket keeps it a bracket.
fn message(text: &str) -> Value {
    let mut escaped = String::with_capacity(text.len());
    for one in text.chars() {
        if matches!(one, '\\' | '[' | ']') {
            escaped.push('\\');
        }
        escaped.push(one);
    }
    json!({"text": escaped})
}

fn physical(reading: &Reading) -> Value {
    json!({"physicalLocation": {
        "artifactLocation": {"uri": uri(&reading.file), "uriBaseId": "HOST"},
        "region": {"startLine": 1, "snippet": {"text": reading.value}},
    }})
}

/// A path below the root as a relative reference (RFC 3986): names of groups may hold any byte but `/`.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.trim_start_matches('/').bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::audit;
    use crate::fake::Fake;

    #[test]
    fn a_finding_is_a_result_of_its_rule_at_its_file() {
        let snapshot = Fake::v2()
            .group("/a#1", &[("cpu.idle", "1")])
            .group("/b", &[("cpu.max", "1600000 100000")])
            .snapshot();
        let audit = audit(&snapshot);
        let document = sarif(&audit, "1.2.3");
        let run = &document["runs"][0];
        let results = run["results"].as_array().unwrap();
        assert_eq!(results.len(), audit.findings.len());
        for (result, finding) in results.iter().zip(&audit.findings) {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(run["tool"]["driver"]["rules"][index]["id"], finding.code);
            let place = &result["locations"][0];
            assert_eq!(place["logicalLocations"][0]["fullyQualifiedName"], finding.group.as_str());
            let uri = place["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
            assert!(!uri.starts_with('/') && !uri.contains('#'), "{uri}");
        }
        let levels: Vec<&str> = results.iter().map(|one| one["level"].as_str().unwrap()).collect();
        assert_eq!(levels[0], "error", "{levels:?}");
    }

    #[test]
    fn what_was_not_looked_at_is_a_notification() {
        let inside =
            Fake::v2().change(|snapshot| snapshot.hierarchies[0].is_whole = false).snapshot();
        let document = sarif(&audit(&inside), "1");
        let invocation = &document["runs"][0]["invocations"][0];
        let notes = invocation["toolExecutionNotifications"].as_array().unwrap();
        assert!(!notes.is_empty() && notes[0]["level"] == "note", "{notes:?}");
    }

    #[test]
    fn the_name_of_a_group_makes_no_link() {
        let snapshot =
            Fake::v2().group("/[more](https:evil.example)\\", &[("cpu.idle", "1")]).snapshot();
        let document = sarif(&audit(&snapshot), "1");
        let results = document["runs"][0]["results"].as_array().unwrap();
        assert!(!results.is_empty());
        for result in results {
            let text = result["message"]["text"].as_str().unwrap();
            assert!(!text.replace("\\[", "").contains('['), "{text}");
            assert!(!text.replace("\\]", "").contains(']'), "{text}");
        }
        assert_eq!(message("[a](b)\\"), json!({"text": "\\[a\\](b)\\\\"}));
    }

    #[test]
    fn any_name_becomes_a_valid_reference() {
        assert_eq!(uri("/sys/a b/c%d/\u{e9}"), "sys/a%20b/c%25d/%C3%A9");
    }
}
