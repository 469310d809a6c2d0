//! The JSON schema of study files, for editors.

use assay_host::knob::{Knob, host_settings};
use serde_json::{Map, Value, json};

use crate::key::{self, Key, Shape};

/// The schema of a study file (JSON Schema 2020-12), assembled from the tables of the checker.
/// Editors use it for TOML as well.
#[must_use]
pub fn schema() -> Value {
    let mut schema = table(key::STUDY);
    let head = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Assay study file",
    });
    if let (Value::Object(schema), Value::Object(mut head)) = (&mut schema, head) {
        head.append(schema);
        head.insert("$defs".to_owned(), json!({ "group": table(&key::GROUP) }));
        return Value::Object(head);
    }
    schema
}

fn table(keys: &'static [Key]) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| (key.name.to_owned(), described(value(key.name, key.shape), key.about)))
        .collect();
    let required: Vec<&str> = keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn described(mut value: Value, about: &str) -> Value {
    if let Value::Object(object) = &mut value {
        object.insert("description".to_owned(), json!(about));
    }
    value
}

fn value(name: &str, shape: Shape) -> Value {
    match shape {
        Shape::Text | Shape::Duration => json!({ "type": "string" }),
        Shape::Words(words) => json!({ "type": "string", "enum": words }),
        Shape::TemplatedWords(words) => json!({ "anyOf": [{ "enum": words }, template()] }),
        Shape::Boolean => json!({ "type": "boolean" }),
        Shape::TemplatedBoolean => json!({ "anyOf": [{ "type": "boolean" }, template()] }),
        Shape::Whole => json!({ "type": "integer" }),
        Shape::TemplatedWhole => json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
        Shape::Size => json!({ "type": ["string", "integer"] }),
        Shape::Percent => json!({ "type": ["string", "number"] }),
        Shape::Overlay => json!({ "type": "object" }),
        Shape::Number => json!({ "type": "number" }),
        Shape::Scalar => scalar(),
        Shape::Texts => {
            json!({ "anyOf": [{ "type": "string" }, list(&json!({ "type": "string" }))] })
        }
        Shape::Scalars => named(&scalar()),
        Shape::TextOrScalars => json!({ "anyOf": [{ "type": "string" }, named(&scalar())] }),
        Shape::Knobs => knobs(),
        Shape::Sysctls => settings(true),
        Shape::HugePages => json!({ "anyOf": [{ "type": "string" }, settings(false)] }),
        Shape::Factors => named(&list(&scalar())),
        Shape::Combinations => list(&named(&json!({ "anyOf": [scalar(), list(&scalar())] }))),
        Shape::Arguments => named(&json!({ "anyOf": [scalar(), list(&scalar())] })),
        Shape::Table(keys) => table(keys),
        Shape::Named(keys) => named(&table(keys)),
        // Groups nest, so their schema refers to itself.
        Shape::List(_) if name == "groups" => {
            json!({ "type": "array", "items": { "$ref": "#/$defs/group" } })
        }
        Shape::List(keys) => json!({ "type": "array", "items": table(keys) }),
    }
}

fn knobs() -> Value {
    let (patterns, names): (Vec<&Knob>, Vec<&Knob>) = assay_host::knob::all()
        .iter()
        .filter(|knob| knob.is_for_groups())
        .partition(|k| k.is_pattern());
    let entry = |name: String, knob: &Knob| {
        let about = format!("{}; {}", knob.about, knob.range);
        let one_or_list = json!({ "anyOf": [scalar(), list(&scalar())] });
        (name, described(one_or_list, &about))
    };
    let names: Map<String, Value> =
        names.into_iter().map(|knob| entry(knob.name.to_owned(), knob)).collect();
    let patterns: Map<String, Value> = patterns
        .into_iter()
        .map(|knob| (knob.name_for("[0-9]+(KB|MB|GB)").replace('.', "\\."), knob))
        .map(|(pattern, knob)| entry(format!("^{pattern}$"), knob))
        .collect();
    json!({
        "type": "object",
        "properties": names,
        "patternProperties": patterns,
        "additionalProperties": false,
    })
}

fn settings(sysctls: bool) -> Value {
    let known = host_settings().iter().filter(|setting| setting.is_sysctl() == sysctls);
    let entries: Map<String, Value> = known
        .map(|setting| {
            let about = format!("{}; {}", setting.about, setting.range);
            (setting.key().to_owned(), described(scalar(), &about))
        })
        .collect();
    json!({ "type": "object", "properties": entries, "additionalProperties": false })
}

fn scalar() -> Value {
    json!({ "type": ["string", "number", "boolean"] })
}

fn template() -> Value {
    json!({ "type": "string", "pattern": "\\{.+\\}" })
}

fn list(items: &Value) -> Value {
    json!({ "type": "array", "items": items, "minItems": 1 })
}

fn named(items: &Value) -> Value {
    json!({ "type": "object", "additionalProperties": items })
}
