//! The queries of packaging/grafana/assay.json, against a page.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// What Prometheus adds to every series.
const ADDED: [&str; 2] = ["instance", "job"];

/// The names of labels of each series of a page, by its name, and whole series.
struct Page<'p> {
    labels: BTreeMap<&'p str, BTreeSet<&'p str>>,
    text: &'p str,
}

impl<'p> Page<'p> {
    fn new(text: &'p str) -> Self {
        let mut labels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap());
            let names = rest.split("=\"").filter_map(|part| part.rsplit(['{', ',']).next());
            let known = labels.entry(name).or_default();
            known.extend(names.filter(|name| !name.is_empty() && !name.contains(['"', ' '])));
        }
        Self { labels, text }
    }

    fn check(&self, query: &str) -> BTreeSet<&'p str> {
        let mut asked = BTreeSet::new();
        let mut known: BTreeSet<&str> = ADDED.into();
        for (at, _) in query.match_indices("assay_") {
            let rest = &query[at..];
            let end = rest.find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_');
            let (name, rest) = rest.split_at(end.unwrap_or(rest.len()));
            let (name, labels) =
                self.labels.get_key_value(name).unwrap_or_else(|| panic!("no `{name}`: {query}"));
            asked.insert(*name);
            known.extend(labels);
            let matchers = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
            for matcher in matchers.into_iter().flat_map(|(matchers, _)| matchers.split(", ")) {
                let (label, value) = matcher.split_once('=').unwrap();
                assert!(labels.contains(label) || ADDED.contains(&label), "no `{label}`: {query}");
                let series = format!("{label}={value}");
                let is_exact = value.starts_with('"');
                assert!(!is_exact || self.text.contains(&series), "no {series}: {query}");
            }
        }
        for by in query.split(" by (").skip(1).filter_map(|rest| rest.split(')').next()) {
            let missing: Vec<&str> =
                by.split(", ").filter(|label| !known.contains(label)).collect();
            assert!(missing.is_empty(), "no {missing:?}: {query}");
        }
        asked
    }
}

/// Every name and label that the dashboard asks for is on the page, and every name of the page is asked for.
pub(super) fn asks_only_for_what_is_there(text: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/grafana/assay.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let page = Page::new(text);
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let mut asked = BTreeSet::new();
    for target in targets {
        asked.extend(page.check(target["expr"].as_str().unwrap()));
    }
    let variable = dashboard["templating"]["list"][1]["query"]["query"].as_str().unwrap();
    let name = variable.strip_prefix("label_values(").and_then(|rest| rest.split(", ").next());
    assert!(name.is_some_and(|name| page.labels.contains_key(name)), "{variable}");
    assert_eq!(asked, page.labels.keys().copied().collect(), "what is exposed and what is shown");
}

#[test]
fn a_query_for_what_is_not_there_is_found() {
    let page = Page::new("# TYPE assay_a gauge\nassay_a{rule=\"x,y\",class=\"b\"} 1\nassay_c 2\n");
    assert_eq!(page.labels["assay_a"], ["class", "rule"].into());
    page.check("sum by (rule, instance) (assay_a{class=\"b\", job=~\"$job\"}) > 0");
    for wrong in [
        "assay_b",
        "assay_a{colour=~\"x\"}",
        "assay_a{class=\"z\"}",
        "sum by (colour) (assay_a)",
        "sum by (rule) (assay_c)",
    ] {
        let found = std::panic::catch_unwind(|| page.check(wrong));
        assert!(found.is_err(), "{wrong}");
    }
}
