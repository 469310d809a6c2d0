//! YAML as far as manifests need it: every scalar as text, aliases copied, merge keys followed. A document comes from
//! anywhere, so depth and size are bounded: aliases of aliases would fill the memory.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};

/// Nesting of sequences and mappings at most.
const MAX_DEPTH: usize = 64;

/// Scalars, sequences and mappings at most, copies included.
const MAX_NODES: usize = 100_000;

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

    /// The value below several keys.
    pub(crate) fn at(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().try_fold(self, |value, key| value.get(key))
    }

    /// A scalar below several keys.
    pub(crate) fn text(&self, keys: &[&str]) -> Option<&str> {
        match self.at(keys)? {
            Self::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// The values of a sequence.
    pub(crate) fn items(&self) -> &[Self] {
        match self {
            Self::Sequence(items) => items,
            _ => &[],
        }
    }

    /// The keys and values of a mapping.
    pub(crate) fn entries(&self) -> &[(String, Self)] {
        match self {
            Self::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// How many values it is made of, and how deep they are nested.
    fn size(&self) -> (usize, usize) {
        let inner = self.items().iter().chain(self.entries().iter().map(|(_, value)| value));
        let (count, depth) = inner
            .map(Self::size)
            .fold((0, 0), |(count, depth), (more, other)| (count + more, depth.max(other)));
        (count + 1, depth + 1)
    }
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
                let value = self.anchors.get(&anchor).cloned().ok_or("an alias of nothing")?;
                let (count, depth) = value.size();
                self.count(count)?;
                self.check_depth(depth)?;
                self.place(value, 0)
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

    fn count(&mut self, more: usize) -> Result<(), String> {
        self.nodes += more;
        match self.nodes > MAX_NODES {
            true => Err(format!("more than {MAX_NODES} values, with those of aliases")),
            false => Ok(()),
        }
    }

    fn place(&mut self, value: Yaml, anchor: usize) -> Result<(), String> {
        self.count(1)?;
        if anchor > 0 {
            self.count(value.size().0)?;
            self.anchors.insert(anchor, value.clone());
        }
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
        assert_eq!((b.text(&["x"]), b.get("y")), (Some("1"), Some(&Yaml::Null)));
        assert_eq!(b.get("z").unwrap().items()[1], Yaml::Scalar("~".to_owned()));
        assert_eq!(documents[1].entries().len(), 1);
        assert_eq!(documents[0].text(&["a", "x", "none"]), None);
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
        for wrong in ["a: b: c: d", "{", "[a", "? [x]\n: y", "*none"] {
            assert!(documents(wrong).is_err(), "{wrong}");
        }
    }
}
