//! Resolves `define fileset` and `define file`.

use std::collections::HashMap;
use std::path::PathBuf;

use super::super::language::{Attribute, Position};
use super::super::workload::{Amount, FileSet};
use super::Resolver;
use super::values::{self, find};

/// filebench's defaults.
const SIZE: u64 = 1024;
const GAMMA: u64 = 1500;
/// The tree width of a single file.
const WIDTH_OF_ONE: u64 = 10;
/// Entries have 32-bit numbers here; filebench stops at 2^20.
const MOST_ENTRIES: u64 = 1 << 28;

impl Resolver<'_> {
    pub(super) fn file_set(&mut self, list: &[Attribute], position: Position, single: bool) {
        let (Some(name), Some(path)) =
            (self.required(list, "name", position), self.required(list, "path", position))
        else {
            return;
        };
        if name.contains('/') || name == "." || name == ".." {
            let remedy = "the tree is path/name; put directories into path";
            self.mistake(position, format!("`{name}` is not a valid name of a file set"), remedy);
        }
        if self.workload.sets.iter().any(|set| set.name == name) {
            self.mistake(
                position,
                format!("the file set `{name}` is defined twice"),
                "rename one of them",
            );
        }
        let fixed = |this: &mut Self, name: &str, default: u64| {
            this.amount_of(list, &[name]).map_or(default, |amount| amount.get())
        };
        let width = if single {
            Amount::Fixed(WIDTH_OF_ONE)
        } else {
            self.amount_of(list, &["dirwidth"]).unwrap_or(Amount::Fixed(0))
        };
        let set = FileSet {
            entries: if single { 1 } else { fixed(self, "entries", 0) },
            leafdirs: if single { 0 } else { fixed(self, "leafdirs", 0) },
            gamma: if single { 0 } else { self.gamma(list) },
            size: self.amount_of(list, &["size", "filesize"]).unwrap_or(Amount::Fixed(SIZE)),
            depth: self.depth(list),
            prealloc: self.prealloc(list),
            paralloc: self.flag(list, "paralloc"),
            reuse: self.flag(list, "reuse"),
            trusttree: self.flag(list, "trusttree"),
            readonly: self.flag(list, "readonly"),
            writeonly: self.flag(list, "writeonly"),
            path: PathBuf::from(path),
            single,
            name,
            width,
        };
        self.check_file_set(&set, position);
        self.workload.sets.push(set);
    }

    fn check_file_set(&mut self, set: &FileSet, position: Position) {
        let count = set.entries.saturating_add(set.leafdirs);
        if count == 0 {
            let what = format!("the file set `{}` has no files and no leaf directories", set.name);
            self.mistake(position, what, "write entries=1000, or leafdirs=1000");
        }
        if count > MOST_ENTRIES {
            let what = format!("the file set `{}` has {count} entries", set.name);
            self.mistake(position, what, format!("use at most {MOST_ENTRIES}"));
        }
        // Its mean is log(entries) / log(1).
        if set.depth.is_some() && set.width.mean().trunc() == 1.0 {
            let what = format!("the depth of the file set `{}` has no mean", set.name);
            self.mistake(position, what, "write dirwidth=20");
        }
        if set.readonly && set.writeonly {
            let what = format!("the file set `{}` is both readonly and writeonly", set.name);
            self.mistake(position, what, "remove one of the two");
        }
    }

    pub(super) fn required(
        &mut self,
        list: &[Attribute],
        name: &str,
        position: Position,
    ) -> Option<String> {
        let Some(attribute) = find(list, &[name]) else {
            self.mistake(position, format!("`{name}` is missing"), format!("add {name}=..."));
            return None;
        };
        match values::text(&attribute, &HashMap::new(), &self.variables) {
            Ok(text) => Some(text),
            Err(mistake) => {
                self.mistakes.push(mistake);
                None
            }
        }
    }

    pub(super) fn amount_of(&mut self, list: &[Attribute], names: &[&str]) -> Option<Amount> {
        let attribute = find(list, names)?;
        self.amount(&attribute, &HashMap::new())
    }

    fn flag(&mut self, list: &[Attribute], name: &str) -> bool {
        let Some(attribute) = find(list, &[name]) else { return false };
        match values::truth(&attribute, &HashMap::new(), &self.variables) {
            Ok(truth) => truth,
            Err(mistake) => {
                self.mistakes.push(mistake);
                false
            }
        }
    }

    fn gamma(&mut self, list: &[Attribute]) -> u64 {
        match self.amount_of(list, &["dirgamma"]) {
            None => GAMMA,
            Some(Amount::Fixed(gamma)) => gamma,
            Some(Amount::Random(_)) => {
                let position =
                    find(list, &["dirgamma"]).map_or_else(Position::default, |g| g.position);
                self.mistake(position, "dirgamma cannot be random", "write dirgamma=1500");
                GAMMA
            }
        }
    }

    fn depth(&mut self, list: &[Attribute]) -> Option<std::sync::Arc<super::Distribution>> {
        let position = find(list, &["dirdepthrv"])?.position;
        match self.amount_of(list, &["dirdepthrv"])? {
            Amount::Random(distribution) => Some(distribution),
            Amount::Fixed(_) => {
                let remedy = "write set $depth=randvar(type=gamma) and dirdepthrv=$depth";
                self.mistake(position, "dirdepthrv must be a random variable", remedy);
                None
            }
        }
    }

    /// A percentage, or true for all.
    fn prealloc(&mut self, list: &[Attribute]) -> u64 {
        let Some(attribute) = find(list, &["prealloc"]) else { return 0 };
        let nothing = HashMap::new();
        if let Ok(Amount::Fixed(percent)) = values::amount(&attribute, &nothing, &self.variables) {
            if percent > 100 {
                self.mistake(attribute.position, format!("prealloc={percent} %"), "write 0 to 100");
            }
            return percent.min(100);
        }
        match values::truth(&attribute, &nothing, &self.variables) {
            Ok(all) => 100 * u64::from(all),
            Err(mistake) => {
                self.mistakes.push(mistake);
                0
            }
        }
    }
}
