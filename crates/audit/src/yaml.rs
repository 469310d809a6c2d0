//! YAML as far as manifests need it: every scalar as text, aliases copied, merge keys followed. A document comes from
//! anywhere, so depth and size are bounded: aliases of aliases would fill the memory.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};

/// Nesting of sequences and mappings at most.
const MAX_DEPTH: usize = 64;

/// Scalars, sequences and mappings at most, copies included.
const MAX_NODES: usize = 100_000;

/// Bytes of scalars and keys at most, copies included: a few long ones fill the memory as well as many short ones.
const MAX_BYTES: usize = 16 << 20;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Yaml {
    Null,
    Scalar(String),
    Sequence(Vec<Yaml>),
    Mapping(Vec<(String, Yaml)>),
}

impl Yaml {
    /// The value of a key: its own, or one of the mappings that `<<` merges in.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Mapping(entries) = self else { return None };
        let of = |name: &str| entries.iter().find(|(own, _)| own == name).map(|(_, value)| value);
        of(key).or_else(|| match of("<<")? {
            Self::Sequence(merged) => merged.iter().find_map(|one| one.get(key)),
            merged => merged.get(key),
        })
    }

    /// A scalar below several keys, `metadata.name`.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        match path.split('.').try_fold(self, |value, key| value.get(key))? {
            Self::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// The values of a sequence below a key.
    pub(crate) fn list(&self, key: &str) -> &[Self] {
        self.get(key).map(Self::items).unwrap_or_default()
    }

    /// The values of a sequence.
    fn items(&self) -> &[Self] {
        match self {
            Self::Sequence(items) => items,
            _ => &[],
        }
    }

    /// The keys of a mapping and of those that `<<` merges in, each once.
    pub(crate) fn keys(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for (key, value) in self.entries() {
            let more = match key.as_str() {
                "<<" => [value].into_iter().chain(value.items()).flat_map(Self::keys).collect(),
                key => vec![key],
            };
            all.extend(more);
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The keys and values of a mapping.
    pub(crate) fn entries(&self) -> &[(String, Self)] {
        match self {
            Self::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// How large it is, with all inside.
    fn size(&self) -> Size {
        let inner = self.items().iter().chain(self.entries().iter().map(|(_, value)| value));
        let keys: usize = self.entries().iter().map(|(key, _)| key.len()).sum();
        let own = match self {
            Self::Scalar(text) => text.len(),
            _ => keys,
        };
        let start = Size { values: 1, bytes: own, depth: 1 };
        inner.map(Self::size).fold(start, |sum, one| Size {
            values: sum.values + one.values,
            bytes: sum.bytes + one.bytes,
            depth: sum.depth.max(one.depth + 1),
        })
    }
}

/// The size of a value.
#[derive(Clone, Copy)]
struct Size {
    /// The values that it is made of, itself included.
    values: usize,
    /// Of its scalars and keys.
    bytes: usize,
    /// How deep they are nested.
    depth: usize,
}

/// The documents of a text.
pub(crate) fn documents(text: &str) -> Result<Vec<Yaml>, String> {
    let mut reader = Reader::default();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| error.to_string())?;
        reader.event(event)?;
    }
    Ok(reader.documents)
}

#[derive(Default)]
struct Reader {
    documents: Vec<Yaml>,
    /// What is open, the innermost last.
    open: Vec<Open>,
    anchors: HashMap<usize, Yaml>,
    nodes: usize,
    bytes: usize,
}

struct Open {
    value: Yaml,
    anchor: usize,
    /// Of a mapping, the key whose value comes next.
    key: Option<String>,
}

impl Reader {
    fn event(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let is_null = style == ScalarStyle::Plain
                    && matches!(text.as_ref(), "" | "~" | "null" | "Null" | "NULL");
                let value = if is_null { Yaml::Null } else { Yaml::Scalar(text.into_owned()) };
                self.place(value, anchor)
            }
            Event::SequenceStart(anchor, _) => self.begin(Yaml::Sequence(Vec::new()), anchor),
            Event::MappingStart(anchor, _) => self.begin(Yaml::Mapping(Vec::new()), anchor),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(done) => self.place(done.value, done.anchor),
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let size = self.anchors.get(&anchor).ok_or("an alias of nothing")?.size();
                // All is charged before the copy is made.
                self.charge(size)?;
                self.check_depth(size.depth)?;
                let value = self.anchors.get(&anchor).cloned().ok_or("an alias of nothing")?;
                self.put(value)
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, value: Yaml, anchor: usize) -> Result<(), String> {
        self.check_depth(1)?;
        self.open.push(Open { value, anchor, key: None });
        Ok(())
    }

    fn check_depth(&self, more: usize) -> Result<(), String> {
        match self.open.len() + more > MAX_DEPTH {
            true => Err(format!("nested deeper than {MAX_DEPTH} levels")),
            false => Ok(()),
        }
    }

    /// Counts values and bytes that are about to be kept.
    fn charge(&mut self, more: Size) -> Result<(), String> {
        self.nodes = self.nodes.saturating_add(more.values);
        self.bytes = self.bytes.saturating_add(more.bytes);
        if self.nodes > MAX_NODES {
            return Err(format!("more than {MAX_NODES} values, with those of aliases"));
        }
        if self.bytes > MAX_BYTES {
            let limit = MAX_BYTES >> 20;
            return Err(format!("more than {limit} MiB of text, with that of aliases"));
        }
        Ok(())
    }

    /// Places a value of the text itself.
    fn place(&mut self, value: Yaml, anchor: usize) -> Result<(), String> {
        // What is inside was charged when it was placed.
        let bytes = if let Yaml::Scalar(text) = &value { text.len() } else { 0 };
        self.charge(Size { values: 1, bytes, depth: 1 })?;
        if anchor > 0 {
            self.charge(value.size())?;
            self.anchors.insert(anchor, value.clone());
        }
        self.put(value)
    }

    /// Puts a value, which has been charged, where the text has it.
    fn put(&mut self, value: Yaml) -> Result<(), String> {
        let Some(above) = self.open.last_mut() else {
            self.documents.push(value);
            return Ok(());
        };
        match (&mut above.value, above.key.take(), value) {
            (Yaml::Sequence(items), _, value) => items.push(value),
            (Yaml::Mapping(entries), Some(key), value) => entries.push((key, value)),
            (_, None, Yaml::Scalar(key)) => above.key = Some(key),
            (_, None, Yaml::Null) => above.key = Some(String::new()),
            _ => return Err("a key that is not a scalar".to_owned()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_read_with_aliases_and_merge_keys() {
        let text = "a: &base {x: 1, y: ~}\nb:\n  <<: *base\n  z: ['2', \"~\"]\n---\nc: d\n";
        let documents = documents(text).unwrap();
        assert_eq!(documents.len(), 2);
        let b = documents[0].get("b").unwrap();
        assert_eq!((b.text("x"), b.get("y")), (Some("1"), Some(&Yaml::Null)));
        assert_eq!(b.list("z")[1], Yaml::Scalar("~".to_owned()));
        assert_eq!(documents[1].entries().len(), 1);
        assert_eq!(documents[0].text("a.x.none"), None);
    }

    #[test]
    fn what_would_grow_without_end_is_refused() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let one = format!("*a{}", level - 1);
            bomb += &format!("a{level}: &a{level} [{}]\n", vec![one; 9].join(", "));
        }
        assert!(documents(&bomb).unwrap_err().contains("more than"));
        assert!(documents(&"[".repeat(10_000)).is_err());
        let deep = |depth: usize| "- ".repeat(depth) + "x";
        assert!(documents(&deep(MAX_DEPTH)).is_ok());
        assert!(documents(&deep(MAX_DEPTH + 1)).unwrap_err().contains("nested deeper"));
        let scalar = "x".repeat(1 << 20);
        let copies = |count: usize| format!("- &a {scalar}\n") + &"- *a\n".repeat(count);
        assert!(documents(&copies(8)).is_ok());
        assert!(documents(&copies(49_000)).unwrap_err().contains("more than 16 MiB"));
        let keys = format!("- &a {{\"{}\": x}}\n", "k".repeat(1000));
        let error = documents(&(keys + &"- *a\n".repeat(20_000))).unwrap_err();
        assert!(error.contains("more than 16 MiB"), "{error}");
        for wrong in ["a: b: c: d", "{", "[a", "? [x]\n: y", "*none"] {
            assert!(documents(wrong).is_err(), "{wrong}");
        }
    }
}
