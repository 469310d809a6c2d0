//! docs/reference/audit-rules.md, from the table.

use assay_sys::escape::markdown_cell;
use std::fmt::Write;

use crate::finding::Class;
use crate::rules;

/// The page of all rules.
#[must_use]
pub fn reference() -> String {
    let mut page = String::from(
        "# Rules of `assay audit`\n\n`assay explain CODE` prints when a rule fires, its source, and what to do.\n",
    );
    for (word, class, heading) in Class::ALL {
        let _ = writeln!(
            page,
            "\n## {heading} (`{word}`)\n\n| rule | meaning | applies to |\n|---|---|---|"
        );
        for rule in rules::all().filter(|rule| rule.class == class) {
            let _ = writeln!(
                page,
                "| `{}` | {} | {} |",
                rule.code,
                markdown_cell(rule.meaning),
                markdown_cell(rule.versions)
            );
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_page_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/audit-rules.md");
        if std::env::var_os("ASSAY_BLESS").is_some() {
            std::fs::write(path, reference()).unwrap();
        }
        let present = std::fs::read_to_string(path).unwrap_or_default();
        assert!(present == reference(), "ASSAY_BLESS=1 cargo test -p assay-audit writes {path}");
    }

    #[test]
    fn every_code_is_used_once_and_says_all() {
        let mut codes = BTreeSet::new();
        for rule in rules::all() {
            assert!(codes.insert(rule.code), "{} stands twice", rule.code);
            assert!(rule.code.starts_with("A-") && !rule.code.contains(|c: char| c.is_lowercase()));
            for text in [rule.condition, rule.versions, rule.meaning, rule.remedy, rule.source] {
                assert!(text.len() > 1 && !text.ends_with('.'), "{}: {text}", rule.code);
            }
        }
    }

    /// The names of all fields, at any depth.
    fn names(value: &serde_json::Value, into: &mut BTreeSet<String>) {
        match value {
            serde_json::Value::Array(items) => items.iter().for_each(|item| names(item, into)),
            serde_json::Value::Object(fields) => {
                for (name, value) in fields {
                    into.insert(name.clone());
                    names(value, into);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn every_field_of_a_document_is_on_its_page() {
        let files = [("memory.low", "8192"), ("memory.current", "4096"), ("cpu.weight", "10000")];
        let host = |weight: &str| {
            crate::fake::Fake::v2()
                .host_file("/proc/self/cgroup", "0::/a.service\n")
                .group("/a.service", &files)
                .also("cpu.weight", weight)
                .snapshot()
        };
        let unit = ("a.service".to_owned(), "[Service]\nCPUWeight=5\n".to_owned());
        let manifest = crate::manifest(&[unit]).unwrap();
        let (before, after) = (host("100"), host("10000"));
        let mut found = BTreeSet::new();
        for document in [
            serde_json::to_value(crate::audit(&after)).unwrap(),
            serde_json::to_value(crate::drift(&before, &after)).unwrap(),
            serde_json::to_value(crate::fulfilment(&manifest, None, &after).unwrap()).unwrap(),
            serde_json::to_value(crate::own(&after)).unwrap(),
        ] {
            names(&document, &mut found);
        }
        let path = "/../../docs/reference/audit-documents.md";
        let page = std::fs::read_to_string(env!("CARGO_MANIFEST_DIR").to_owned() + path).unwrap();
        // The fields of an owner are those of another page.
        let missing: Vec<&String> = found
            .iter()
            .filter(|name| *name != "name" && !page.contains(&format!("`{name}")))
            .collect();
        assert!(found.len() > 30 && missing.is_empty(), "{missing:?}");
    }
}
