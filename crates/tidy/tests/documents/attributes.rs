//! What attributes say about the JSON of a type: those of serde that are used, and comments.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The attributes of serde at a type, variant or field.
#[derive(Default)]
pub(crate) struct Serde {
    pub(crate) rename: Option<String>,
    pub(crate) rename_all: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) content: Option<String>,
    /// The function or type that writes it.
    pub(crate) with: Option<String>,
    pub(crate) into: Option<String>,
    pub(crate) flatten: bool,
    pub(crate) transparent: bool,
    pub(crate) untagged: bool,
    pub(crate) skip: bool,
    /// Whether documents may lack it: of this version, or of an earlier one.
    pub(crate) may_lack: bool,
}

impl Serde {
    pub(crate) fn read(attributes: &[Attribute]) -> Self {
        let mut found = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            let read = attribute.parse_nested_meta(|meta| {
                let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                let text = match meta.input.peek(syn::Token![=]) {
                    true => Some(meta.value()?.parse::<syn::LitStr>()?.value()),
                    false => None,
                };
                found.add(&name, text);
                Ok(())
            });
            read.unwrap_or_else(|why| panic!("an attribute of serde: {why}"));
        }
        found
    }

    fn add(&mut self, name: &str, text: Option<String>) {
        match name {
            "rename" => self.rename = text,
            "rename_all" => self.rename_all = text,
            "tag" => self.tag = text,
            "content" => self.content = text,
            "with" | "serialize_with" => self.with = text,
            "into" => self.into = text,
            "flatten" => self.flatten = true,
            "transparent" => self.transparent = true,
            "untagged" => self.untagged = true,
            "skip" | "skip_serializing" => self.skip = true,
            "skip_serializing_if" | "default" => self.may_lack = true,
            // These are about reading.
            "alias"
            | "try_from"
            | "from"
            | "bound"
            | "deny_unknown_fields"
            | "deserialize_with" => (),
            other => panic!("the attribute `{other}` of serde is not known here"),
        }
    }

    /// The name of a variant of an enum with these attributes.
    pub(crate) fn of_variant(&self, own: &Self, name: &str) -> String {
        own.rename.clone().unwrap_or_else(|| match self.rename_all.as_deref() {
            None | Some("PascalCase") => name.to_owned(),
            Some("lowercase") => name.to_lowercase(),
            Some("snake_case") => separated(name, '_'),
            Some("kebab-case") => separated(name, '-'),
            Some(other) => panic!("the case `{other}` is not known here"),
        })
    }

    /// The name of a field of a struct with these attributes.
    pub(crate) fn of_field(&self, own: &Self, name: &str) -> String {
        let name = name.strip_prefix("r#").unwrap_or(name);
        own.rename.clone().unwrap_or_else(|| match self.rename_all.as_deref() {
            None | Some("snake_case" | "lowercase") => name.to_owned(),
            Some("kebab-case") => name.replace('_', "-"),
            Some(other) => panic!("the case `{other}` is not known here"),
        })
    }
}

/// `NotAvailable` as `not_available`.
fn separated(name: &str, by: char) -> String {
    let mut text = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && at > 0 {
            text.push(by);
        }
        text.extend(letter.to_lowercase());
    }
    text
}

/// The first paragraph of a comment, without links between types.
pub(crate) fn comment(attributes: &[Attribute]) -> Option<String> {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let text = lines.join(" ").replace("[`", "`").replace("`]", "`");
    (!text.is_empty()).then_some(text)
}

#[test]
fn names_are_those_that_serde_writes() {
    assert_eq!(separated("NotAvailable", '_'), "not_available");
    assert_eq!(separated("DidNotBind", '-'), "did-not-bind");
    let kebab = Serde { rename_all: Some("kebab-case".to_owned()), ..Serde::default() };
    assert_eq!(kebab.of_field(&Serde::default(), "r#in_a"), "in-a");
}
