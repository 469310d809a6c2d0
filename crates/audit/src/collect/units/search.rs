//! Where the files of units are (systemd.unit(5), "Unit File Load Path").

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use assay_sys::kernel::{Entries, Root};
use rustix::io::Errno;

/// Folders of the system's units; a file hides those of its name in later ones.
const FOLDERS: [&str; 13] = [
    "/etc/systemd/system.control",
    "/run/systemd/system.control",
    "/run/systemd/transient",
    "/run/systemd/generator.early",
    "/etc/systemd/system",
    "/etc/systemd/system.attached",
    "/run/systemd/system",
    "/run/systemd/system.attached",
    "/run/systemd/generator",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
    "/run/systemd/generator.late",
];

/// What stands where a unit's file would be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Missing,
    Masked,
    File(String),
}

/// The folders with the names in them.
pub(super) struct Search {
    folders: Vec<(&'static str, Entries)>,
    /// Other names that have drop-ins, by unit.
    aliases: HashMap<String, Vec<String>>,
}

impl Search {
    /// # Errors
    /// A folder cannot be read: what it sets, or hides, is not known.
    pub(super) fn new(root: &Root) -> Result<Self, String> {
        let mut folders = Vec::new();
        for path in FOLDERS {
            folders.extend(listed(root, path)?.map(|entries| (path, entries)));
        }
        let mut search = Self { folders, aliases: HashMap::new() };
        search.aliases = search.find_aliases(root);
        Ok(search)
    }

    /// Drop-ins for another name of a unit, which is a link to its file, count as its own.
    fn find_aliases(&self, root: &Root) -> HashMap<String, Vec<String>> {
        let mut aliases: HashMap<String, Vec<String>> = HashMap::new();
        let all = self.folders.iter().flat_map(|(_, entries)| &entries.directories);
        for name in all.filter_map(|name| name.strip_suffix(".d")) {
            let Some(folder) = self.folder_of(name) else { continue };
            let target = root.link(format!("{folder}/{name}")).unwrap_or_default();
            let of = target.rsplit('/').next().unwrap_or_default();
            if of != name && !of.is_empty() {
                let names = aliases.entry(of.to_owned()).or_default();
                if !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        aliases
    }

    /// The first folder with a file of this name.
    fn folder_of(&self, name: &str) -> Option<&'static str> {
        self.folders.iter().find(|(_, entries)| has_file(entries, name)).map(|(path, _)| *path)
    }

    /// The unit's own file, or that of its template.
    pub(super) fn fragment(&self, root: &Root, name: &str) -> Result<Place, String> {
        let names = std::iter::once(name.to_owned()).chain(template(name));
        for name in names {
            if let Some(folder) = self.folder_of(&name) {
                return target(root, &format!("{folder}/{name}"), &name);
            }
        }
        Ok(Place::Missing)
    }

    /// The unit's drop-ins, by name: of two with the same one that for the unit's own name, or a shorter one, counts before that for another
    /// name, then the file of the earlier folder, and in it that of the longer name.
    pub(super) fn drop_ins(&self, root: &Root, name: &str) -> Result<Vec<String>, String> {
        let aliases = self.aliases.get(name).into_iter().flatten().map(String::as_str);
        let kind = name.rsplit('.').next().unwrap_or_default().to_owned();
        let passes = std::iter::once(name).chain(aliases).map(names_of_folders).chain([vec![kind]]);
        let mut found: BTreeMap<String, String> = BTreeMap::new();
        for names in passes {
            for (path, entries) in &self.folders {
                let has = |name: &&String| {
                    entries.directories.binary_search(&format!("{name}.d")).is_ok()
                };
                let is_link = |name: &&String| has_file(entries, &format!("{name}.d"));
                if let Some(name) = names.iter().find(is_link) {
                    return Err(format!("{path}/{name}.d is a link, which is not followed"));
                }
                for name in names.iter().filter(has) {
                    let folder = format!("{path}/{name}.d");
                    let files = root.entries(&folder).map_err(|error| error.to_string())?.others;
                    for file in files.into_iter().filter(|file| file.ends_with(".conf")) {
                        let path = format!("{folder}/{file}");
                        found.entry(file).or_insert(path);
                    }
                }
            }
        }
        let mut files = Vec::new();
        for (name, path) in found {
            if let Place::File(path) = target(root, &path, &name)? {
                files.push(path);
            }
        }
        Ok(files)
    }
}

/// What is in a folder, if it exists. What cannot be read may well hold something.
fn listed(root: &Root, path: &str) -> Result<Option<Entries>, String> {
    let on_the_way = || Path::new(path).ancestors().filter(|part| part.parent().is_some());
    let leads_out = |part: &Path| root.link(part).is_ok_and(|to| to.starts_with('/'));
    if !root.is_real() && on_the_way().any(leads_out) {
        return Err(format!("{path}: a link leads out of the root that is looked at"));
    }
    let dangles = |part: &Path| root.link(part).is_ok() && !root.exists(part);
    match root.entries(path) {
        Ok(entries) => Ok(Some(entries)),
        Err(error) if error.is(Errno::NOENT) && !on_the_way().any(dangles) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

fn has_file(entries: &Entries, name: &str) -> bool {
    entries.others.binary_search_by(|one| one.as_str().cmp(name)).is_ok()
}

/// `b@.service` of `b@1.service`.
fn template(name: &str) -> Option<String> {
    let (prefix, rest) = name.split_once('@')?;
    let (instance, kind) = rest.rsplit_once('.')?;
    (!instance.is_empty()).then(|| format!("{prefix}@.{kind}"))
}

/// Whose drop-ins a unit has, in the order in which systemd looks for them (`unit_file_find_dirs`, src/shared/dropin.c): its own, those of
/// its template, and of `a-b.service` those of `a-.service`, each with those of its own template and shorter names.
fn names_of_folders(name: &str) -> Vec<String> {
    let mut names = Vec::new();
    add_names(name, &mut names);
    names
}

fn add_names(name: &str, names: &mut Vec<String>) {
    if names.iter().any(|known| known == name) {
        return;
    }
    names.push(name.to_owned());
    let template = template(name);
    let end = name.find('@').or_else(|| name.rfind('.')).unwrap_or(name.len());
    let (prefix, rest) = name.split_at(end);
    // That of a template has no instance.
    let rest = rest.strip_prefix("@.").map_or_else(|| rest.to_owned(), |kind| format!(".{kind}"));
    let shorter = shorter(prefix).map(|prefix| format!("{prefix}{rest}"));
    [template, shorter].into_iter().flatten().for_each(|name| add_names(&name, names));
}

/// `a-` of `a-b`, and of `a-b-` too.
fn shorter(prefix: &str) -> Option<&str> {
    let dash = |text: &str| text.rfind('-').filter(|at| *at > 0);
    let last = dash(prefix)?;
    let last = if last + 1 < prefix.len() { last } else { dash(prefix.get(..last)?)? };
    prefix.get(..=last)
}

/// What a path of a unit leads to. A link is followed within the folders of units: elsewhere may be a server of NFS that does not answer.
fn target(root: &Root, path: &str, name: &str) -> Result<Place, String> {
    let Ok(link) = root.link(path) else { return Ok(Place::File(path.to_owned())) };
    if link == "/dev/null" {
        return Ok(Place::Masked);
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let to = if link.starts_with('/') { link } else { format!("{folder}/{link}") };
    let is_ours = to.rsplit_once('/').is_some_and(|(folder, base)| {
        base == name
            && FOLDERS
                .iter()
                .any(|known| folder == *known || folder.starts_with(&format!("{known}/")))
    });
    if !is_ours || to.contains("/../") || root.link(&to).is_ok() {
        return Err(format!("{path} is a link to {to}, which is not read"));
    }
    Ok(Place::File(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_has_the_drop_ins_of_shorter_names() {
        assert_eq!(
            names_of_folders("a-b-c.service"),
            ["a-b-c.service", "a-b-.service", "a-.service"]
        );
        assert_eq!(
            names_of_folders("a-b@1.service"),
            ["a-b@1.service", "a-b@.service", "a-.service", "a-@1.service", "a-@.service"]
        );
        assert_eq!(
            names_of_folders("a-b--.service"),
            ["a-b--.service", "a-b-.service", "a-.service"]
        );
        // Each name once, however many lead to it.
        let many = format!("{}@1.service", "a-".repeat(100));
        assert!(names_of_folders(&many).len() <= 300);
        assert_eq!(names_of_folders("user-1000.slice"), ["user-1000.slice", "user-.slice"]);
        for name in ["-.slice", "a.service", "a"] {
            assert_eq!(names_of_folders(name), [name]);
        }
    }
}
