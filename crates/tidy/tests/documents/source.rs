//! The types of the crates, read from their source.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use syn::{Attribute, Item, ItemEnum, ItemStruct, ItemType, UseTree};

/// A type that documents have.
pub(crate) struct Type {
    /// The crate, by its folder: `run-folder`.
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) item: Definition,
    file: PathBuf,
    uses: Rc<Uses>,
}

pub(crate) enum Definition {
    Struct(ItemStruct),
    Enum(ItemEnum),
    Alias(ItemType),
}

/// What the names of a file stand for: the path of each.
type Uses = BTreeMap<String, Vec<String>>;

/// All of them, by crate and name.
pub(crate) struct Source(BTreeMap<(String, String), Vec<Rc<Type>>>);

impl Source {
    /// The types of all crates in a folder.
    pub(crate) fn read(crates: &Path) -> Self {
        let mut source = Self(BTreeMap::new());
        for entry in fs::read_dir(crates).unwrap() {
            let folder = entry.unwrap().path();
            let owner = folder.file_name().unwrap().to_str().unwrap().to_owned();
            source.read_folder(&folder.join("src"), &owner);
        }
        source
    }

    fn read_folder(&mut self, folder: &Path, owner: &str) {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.read_folder(&path, owner);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                self.read_file(&path, owner);
            }
        }
    }

    fn read_file(&mut self, path: &Path, owner: &str) {
        let text = fs::read_to_string(path).unwrap();
        if !text.contains("Serialize") && !text.contains("\npub type ") {
            return;
        }
        let file = syn::parse_file(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let mut uses = Uses::new();
        for item in &file.items {
            if let Item::Use(item) = item {
                add_uses(&item.tree, &mut Vec::new(), &mut uses);
            }
        }
        let uses = Rc::new(uses);
        for item in file.items {
            let (name, item) = match item {
                Item::Struct(item) if is_written(&item.attrs) => {
                    (item.ident.to_string(), Definition::Struct(item))
                }
                Item::Enum(item) if is_written(&item.attrs) => {
                    (item.ident.to_string(), Definition::Enum(item))
                }
                Item::Type(item) => (item.ident.to_string(), Definition::Alias(item)),
                _ => continue,
            };
            let (owner, file, uses) = (owner.to_owned(), path.to_owned(), Rc::clone(&uses));
            let found = Type { owner: owner.clone(), name: name.clone(), item, file, uses };
            self.0.entry((owner, name)).or_default().push(Rc::new(found));
        }
    }

    /// The type `CRATE::TYPE`.
    pub(crate) fn named(&self, path: &str) -> Rc<Type> {
        let (owner, name) = path.split_once("::").unwrap();
        match self.0.get(&(owner.to_owned(), name.to_owned())).map(Vec::as_slice) {
            Some([only]) => Rc::clone(only),
            Some(_) => panic!("{path} stands for several types"),
            None => panic!("no type {path} derives Serialize"),
        }
    }

    /// The type that a path stands for in the file of another.
    pub(crate) fn resolve(&self, path: &syn::Path, from: &Type) -> Rc<Type> {
        let path = from.full(path);
        let (name, above) = path.split_last().unwrap();
        let owner = match above.first().and_then(|first| first.strip_prefix("assay_")) {
            Some(owner) => owner.replace('_', "-"),
            None => from.owner.clone(),
        };
        let found = match self.0.get(&(owner, name.clone())) {
            Some(found) => found.clone(),
            // What a crate re-exports is another's.
            None => {
                let named = self.0.iter().filter(|((_, other), _)| other == name);
                named.flat_map(|(_, types)| types.clone()).collect()
            }
        };
        // Of several with one name: that in the modules of the path, or the nearest one to the file that names it.
        let nearness = |one: &&Rc<Type>| {
            let shown = one.file.to_string_lossy();
            let named = above.iter().filter(|module| shown.contains(&format!("/{module}")));
            let shared = one.file.iter().zip(from.file.iter()).take_while(|(a, b)| a == b);
            (named.count(), one.file == from.file, shared.count())
        };
        let nearest = found.iter().max_by_key(nearness);
        let chosen = nearest
            .filter(|best| found.iter().filter(|one| nearness(one) == nearness(best)).count() == 1);
        chosen.cloned().unwrap_or_else(|| {
            let (count, file) = (found.len(), from.file.display());
            panic!("{file}: {} is one of {count} types that derive Serialize", path.join("::"))
        })
    }
}

impl Type {
    /// The path with its first name replaced by what the file uses it for.
    pub(crate) fn full(&self, path: &syn::Path) -> Vec<String> {
        let mut names: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let Some(used) = self.uses.get(&names[0]) {
            names.splice(..1, used.iter().cloned());
        }
        names
    }

    /// Which type it is.
    pub(crate) fn id(&self) -> (PathBuf, String) {
        (self.file.clone(), self.name.clone())
    }

    pub(crate) fn attributes(&self) -> &[Attribute] {
        match &self.item {
            Definition::Struct(item) => &item.attrs,
            Definition::Enum(item) => &item.attrs,
            Definition::Alias(item) => &item.attrs,
        }
    }
}

/// Whether a type derives `Serialize`.
fn is_written(attributes: &[Attribute]) -> bool {
    let mut written = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        let _ = attribute.parse_nested_meta(|meta| {
            written |= meta.path.segments.last().is_some_and(|last| last.ident == "Serialize");
            Ok(())
        });
    }
    written
}

fn add_uses(tree: &UseTree, above: &mut Vec<String>, uses: &mut Uses) {
    let whole = |above: &[String], name: String| [above, &[name]].concat();
    match tree {
        UseTree::Path(path) => {
            above.push(path.ident.to_string());
            add_uses(&path.tree, above, uses);
            above.pop();
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            // `use a::{self}` is another name of the last part.
            let path = if name == "self" { above.clone() } else { whole(above, name) };
            uses.insert(path.last().cloned().unwrap_or_default(), path);
        }
        UseTree::Rename(rename) => {
            uses.insert(rename.rename.to_string(), whole(above, rename.ident.to_string()));
        }
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| add_uses(tree, above, uses));
        }
        UseTree::Glob(_) => (),
    }
}
