//! A type's JSON schema (2020-12), by the rules of serde's derives.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use serde_json::{Map, Value, json};
use syn::{Fields, GenericArgument, Generics, ItemEnum, PathArguments, Type as Written};

use crate::attributes::{Serde, comment};
use crate::source::{Definition, Source, Type};
use crate::table::Document;

/// What the parameters of a generic type stand for.
type Arguments = BTreeMap<String, Value>;

/// The schema of a document.
pub(crate) fn of(source: &Source, document: &Document) -> Value {
    let list = document.root.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let root = source.named(list.unwrap_or(document.root));
    let mut writer = Writer { source, definitions: Map::new(), names: BTreeMap::new() };
    let body = match list {
        Some(_) => json!({ "type": "array", "items": writer.reference(&root) }),
        None => writer.definition(&root, &Arguments::new()),
    };
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!(document.from.replace('`', "")));
    schema.extend(body.as_object().unwrap().clone());
    if !writer.definitions.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(writer.definitions));
    }
    Value::Object(schema)
}

struct Writer<'s> {
    source: &'s Source,
    definitions: Map<String, Value>,
    /// The name of each type's definition.
    names: BTreeMap<(PathBuf, String), String>,
}

impl Writer<'_> {
    /// A reference to the definition of a type, which is added if it is not there.
    fn reference(&mut self, found: &Type) -> Value {
        let name = match self.names.get(&found.id()) {
            Some(name) => name.clone(),
            None => {
                let is_taken = self.definitions.contains_key(&found.name);
                let name = match is_taken {
                    true => format!("{}-{}", found.owner, found.name),
                    false => found.name.clone(),
                };
                self.names.insert(found.id(), name.clone());
                // Its place is taken first: a type may contain itself.
                self.definitions.insert(name.clone(), Value::Null);
                let definition = self.definition(found, &Arguments::new());
                self.definitions.insert(name.clone(), definition);
                name
            }
        };
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    fn definition(&mut self, found: &Type, arguments: &Arguments) -> Value {
        let serde = Serde::read(found.attributes());
        let body = match (&serde.into, &found.item) {
            (Some(into), _) if into == "String" => json!({ "type": "string" }),
            (Some(into), _) => panic!("`into = {into}` is not known here"),
            (None, Definition::Struct(item)) => self.fields(&item.fields, &serde, found, arguments),
            (None, Definition::Enum(item)) => self.variants(item, &serde, found, arguments),
            (None, Definition::Alias(item)) => self.value(&item.ty, found, arguments),
        };
        described(body, comment(found.attributes()))
    }

    /// The value of a struct's fields, or of a variant's.
    fn fields(&mut self, fields: &Fields, serde: &Serde, of: &Type, with: &Arguments) -> Value {
        match fields {
            Fields::Named(named) if serde.transparent => {
                self.value(&named.named.first().unwrap().ty, of, with)
            }
            Fields::Named(_) => self.object(fields, serde, of, with),
            Fields::Unnamed(unnamed) if unnamed.unnamed.len() == 1 => {
                self.value(&unnamed.unnamed[0].ty, of, with)
            }
            Fields::Unnamed(unnamed) => {
                let items = unnamed.unnamed.iter().map(|field| self.value(&field.ty, of, with));
                tuple(&items.collect::<Vec<_>>())
            }
            Fields::Unit => json!({ "type": "null" }),
        }
    }

    fn object(&mut self, fields: &Fields, serde: &Serde, of: &Type, with: &Arguments) -> Value {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for field in fields {
            let own = Serde::read(&field.attrs);
            if own.skip {
                continue;
            }
            if own.flatten {
                let inner = self.flattened(&field.ty, of);
                properties.extend(inner["properties"].as_object().unwrap().clone());
                required.extend(inner["required"].as_array().unwrap().iter().cloned());
                continue;
            }
            let name = serde.of_field(&own, &field.ident.as_ref().unwrap().to_string());
            let value = match own.with.as_deref() {
                Some(with) if with.ends_with("unbounded") => json!({ "type": ["number", "null"] }),
                Some(with) => panic!("`with = {with}` is not known here"),
                None if name == "schema" => json!({ "const": 1 }),
                None => self.value(&field.ty, of, with),
            };
            let about = match name.as_str() {
                "schema" => Some("Version of this format.".to_owned()),
                _ => comment(&field.attrs),
            };
            properties.insert(name.clone(), described(value, about));
            if !own.may_lack {
                required.push(json!(name));
            }
        }
        json!({ "type": "object", "properties": properties, "required": required })
    }

    /// The object of a field whose own fields stand beside the others.
    fn flattened(&mut self, written: &Written, of: &Type) -> Value {
        let Written::Path(path) = unreferenced(written) else { panic!("{}: flatten", of.name) };
        let inner = self.source.resolve(&path.path, of);
        let object = self.definition(&inner, &Arguments::new());
        assert!(object["properties"].is_object(), "{}: {} is flattened", of.name, inner.name);
        object
    }

    fn variants(&mut self, item: &ItemEnum, serde: &Serde, of: &Type, with: &Arguments) -> Value {
        let mut choices = Vec::new();
        for variant in &item.variants {
            let own = Serde::read(&variant.attrs);
            if own.skip {
                continue;
            }
            let name = serde.of_variant(&own, &variant.ident.to_string());
            // The case of an enum is that of its variants, not of their fields.
            let inner = Serde { rename_all: own.rename_all, ..Serde::default() };
            let is_unit = matches!(variant.fields, Fields::Unit);
            let value = match (&serde.tag, &serde.content) {
                _ if serde.untagged => self.fields(&variant.fields, &inner, of, with),
                (None, _) if is_unit => json!({ "const": name }),
                (None, _) => only(&name, &self.fields(&variant.fields, &inner, of, with)),
                (Some(tag), _) if is_unit => only(tag, &json!({ "const": name })),
                (Some(tag), Some(content)) => {
                    let content = only(content, &self.fields(&variant.fields, &inner, of, with));
                    tagged(tag, &name, &content)
                }
                (Some(tag), None) => {
                    let object = match &variant.fields {
                        Fields::Unnamed(fields) => self.flattened(&fields.unnamed[0].ty, of),
                        fields => self.object(fields, &inner, of, with),
                    };
                    tagged(tag, &name, &object)
                }
            };
            choices.push(described(value, comment(&variant.attrs)));
        }
        json!({ "anyOf": choices })
    }

    fn value(&mut self, written: &Written, of: &Type, with: &Arguments) -> Value {
        match unreferenced(written) {
            Written::Slice(slice) => list(&self.value(&slice.elem, of, with)),
            Written::Array(array) => list(&self.value(&array.elem, of, with)),
            Written::Tuple(items) => tuple(
                &items.elems.iter().map(|item| self.value(item, of, with)).collect::<Vec<_>>(),
            ),
            Written::Path(path) => self.path(&path.path, of, with),
            _ => panic!("{}: a type that is not known here", of.name),
        }
    }

    fn path(&mut self, path: &syn::Path, of: &Type, with: &Arguments) -> Value {
        let last = path.segments.last().unwrap();
        let mut inner = Vec::new();
        if let PathArguments::AngleBracketed(arguments) = &last.arguments {
            for argument in &arguments.args {
                if let GenericArgument::Type(argument) = argument {
                    inner.push(self.value(argument, of, with));
                }
            }
        }
        let name = last.ident.to_string();
        let first = || inner.first().cloned().unwrap_or_default();
        match name.as_str() {
            "String" | "str" | "PathBuf" | "Path" | "char" => json!({ "type": "string" }),
            "bool" => json!({ "type": "boolean" }),
            "u8" | "u16" | "u32" | "u64" | "usize" => json!({ "type": "integer", "minimum": 0 }),
            "i8" | "i16" | "i32" | "i64" | "isize" => json!({ "type": "integer" }),
            "f32" | "f64" => json!({ "type": "number" }),
            "Option" => nullable(first()),
            "Vec" | "VecDeque" | "BTreeSet" | "HashSet" => list(&first()),
            "Box" | "Rc" | "Arc" | "Cow" => first(),
            "BTreeMap" | "HashMap" => {
                json!({ "type": "object", "additionalProperties": inner.get(1) })
            }
            "Range" => json!({
                "type": "object",
                "properties": { "start": first(), "end": first() },
                "required": ["start", "end"],
            }),
            _ if with.contains_key(&name) => with[&name].clone(),
            "Value" if of.full(path)[0] == "serde_json" => json!({}),
            _ => self.own(&self.source.resolve(path, of), inner),
        }
    }

    /// One of our types: in place if it is generic or another name, else by reference.
    fn own(&mut self, found: &Rc<Type>, inner: Vec<Value>) -> Value {
        let generics = match &found.item {
            Definition::Struct(item) => &item.generics,
            Definition::Enum(item) => &item.generics,
            Definition::Alias(item) => return self.value(&item.ty, found, &Arguments::new()),
        };
        match parameters(generics) {
            names if names.is_empty() => self.reference(found),
            names => self.definition(found, &names.into_iter().zip(inner).collect()),
        }
    }
}

fn parameters(generics: &Generics) -> Vec<String> {
    generics.type_params().map(|parameter| parameter.ident.to_string()).collect()
}

fn unreferenced(written: &Written) -> &Written {
    match written {
        Written::Reference(reference) => unreferenced(&reference.elem),
        Written::Paren(paren) => unreferenced(&paren.elem),
        Written::Group(group) => unreferenced(&group.elem),
        other => other,
    }
}

fn list(items: &Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn tuple(items: &[Value]) -> Value {
    let length = items.len();
    if length == 0 {
        return json!({ "type": "null" });
    }
    json!({ "type": "array", "prefixItems": items, "minItems": length, "maxItems": length })
}

fn nullable(value: Value) -> Value {
    match value.get("type") {
        Some(Value::String(kind)) if kind != "object" => {
            let mut value = value.clone();
            value["type"] = json!([kind, "null"]);
            value
        }
        _ if value == json!({}) => value,
        _ => json!({ "anyOf": [value, { "type": "null" }] }),
    }
}

/// An object with this field alone.
fn only(name: &str, value: &Value) -> Value {
    json!({ "type": "object", "properties": { name: value }, "required": [name] })
}

/// An object with a field that names the variant.
fn tagged(tag: &str, name: &str, object: &Value) -> Value {
    let mut tagged = only(tag, &json!({ "const": name }));
    let properties = object["properties"].as_object().unwrap().clone();
    tagged["properties"].as_object_mut().unwrap().extend(properties);
    let required = object["required"].as_array().unwrap().clone();
    tagged["required"].as_array_mut().unwrap().extend(required);
    tagged
}

/// The value with its description; what the place says of it counts before what its type says.
fn described(mut value: Value, about: Option<String>) -> Value {
    if let (Some(object), Some(about)) = (value.as_object_mut(), about) {
        object.insert("description".to_owned(), json!(about));
    }
    value
}
