//! The schema in the documentation matches the tables of the checker.

// Clippy does not recognize functions shared by tests as tests.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use assay_study::schema;
use serde_json::Value;

#[test]
fn the_schema_in_the_documentation_is_up_to_date() {
    assert_written("docs/reference/study.schema.json", &schema());
}

/// SchemaStore asks for draft 7, which editors of TOML know, and for an `$id`. The tables of the checker use no
/// word that is newer but the name of the definitions.
#[test]
fn the_schema_in_the_form_of_schemastore_is_up_to_date() {
    let entry = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../packaging/schemastore/catalog-entry.json");
    let entry: Value = serde_json::from_str(&std::fs::read_to_string(entry).unwrap()).unwrap();
    let Value::Object(own) = schema() else { panic!("a schema is an object") };
    let mut stored = serde_json::Map::new();
    stored.insert("$schema".to_owned(), "http://json-schema.org/draft-07/schema#".into());
    stored.insert("$id".to_owned(), entry["url"].clone());
    for (key, value) in own {
        match key.as_str() {
            "$schema" => continue,
            "$defs" => stored.insert("definitions".to_owned(), value),
            _ => stored.insert(key, value),
        };
    }
    let text = Value::Object(stored).to_string().replace("#/$defs/", "#/definitions/");
    let stored: Value = serde_json::from_str(&text).unwrap();
    assert_written("packaging/schemastore/assay-study.json", &stored);
}

fn assert_written(path: &str, schema: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let current = format!("{}\n", serde_json::to_string_pretty(schema).unwrap());
    if std::env::var_os("ASSAY_BLESS").is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(
        written == current,
        "run `ASSAY_BLESS=1 cargo test -p assay-study` to write {}",
        path.display()
    );
}

#[test]
fn every_key_of_the_schema_is_explained_in_the_reference() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    // Knobs and host settings have their own pages.
    let page = ["study-file.md", "reference/knobs.md", "reference/settings.md"]
        .map(|page| std::fs::read_to_string(docs.join(page)).unwrap())
        .concat();
    let mut keys = vec![];
    property_names(&schema(), &mut keys);
    assert!(keys.len() > 30, "{keys:?}");
    for key in keys {
        assert!(page.contains(&format!("`{key}`")), "the reference lacks `{key}`");
    }
}

#[test]
fn groups_are_recursive_and_unknown_keys_are_refused() {
    let schema = schema();
    let group = &schema["$defs"]["group"];
    assert_eq!(group["properties"]["groups"]["items"]["$ref"], "#/$defs/group");
    assert_eq!(group["additionalProperties"], false);
    assert!(group["properties"]["place"]["properties"]["cpus"].is_object(), "{group:#}");
}

fn property_names(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            if let Some(properties) = object.get("properties").and_then(|p| p.as_object()) {
                names.extend(properties.keys().cloned());
            }
            object.values().for_each(|value| property_names(value, names));
        }
        Value::Array(array) => {
            array.iter().for_each(|value| property_names(value, names));
        }
        _ => {}
    }
}
