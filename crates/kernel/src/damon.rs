//! Which schemes of DAMON are on: threads of the kernel that watch which memory is used and do
//! something about it by themselves (Documentation/admin-guide/mm/damon/usage.rst and reclaim.rst).
//! A scheme `pageout` takes pages away that nobody touched for a while, however much memory is free.

use std::path::{Path, PathBuf};

use crate::root::Root;

const KDAMONDS: &str = "/sys/kernel/mm/damon/admin/kdamonds";
const RECLAIM: &str = "/sys/module/damon_reclaim/parameters";

/// One scheme of a kdamond that is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheme {
    /// `kdamond0.1.2:pageout` is the scheme 2 of the context 1 of the kdamond 0;
    /// `damon_reclaim:pageout` that of the module.
    pub name: String,
    /// What it does: `pageout`, `stat`, `migrate_cold`.
    pub action: String,
    /// Its thread.
    pub pid: Option<u32>,
    /// Where the bytes stand that it tried to do this to.
    pub tried: PathBuf,
    /// Where the bytes stand that it did this to.
    pub applied: PathBuf,
    /// Whether the kernel keeps these two up to date. It does so for the files of a kdamond only
    /// where `refresh_ms` (6.17) is not 0; else whoever writes `update_schemes_stats` into `state`
    /// does, and a reader changes nothing.
    pub is_current: bool,
}

/// All schemes that are on, none where every kdamond is off; the error says why nobody can know.
pub fn schemes(root: &Root) -> Result<Vec<Scheme>, String> {
    let modules = by_module(root);
    if !root.is_directory(KDAMONDS) {
        return match modules.is_empty() && !root.is_directory(RECLAIM) {
            true => Err(format!("this kernel has no {KDAMONDS} (CONFIG_DAMON_SYSFS)")),
            false => Ok(modules),
        };
    }
    let mut found = Vec::new();
    for kdamond in numbered(root, Path::new(KDAMONDS))? {
        let folder = Path::new(KDAMONDS).join(&kdamond);
        if root.read_trimmed(folder.join("state")).map_err(|error| error.to_string())? == "on" {
            found.extend(of_kdamond(root, &kdamond, &folder)?);
        }
    }
    found.extend(modules);
    Ok(found)
}

fn of_kdamond(root: &Root, kdamond: &str, folder: &Path) -> Result<Vec<Scheme>, String> {
    let number = |file: &str| root.read_trimmed(folder.join(file)).ok()?.parse::<u32>().ok();
    let is_current = number("refresh_ms").is_some_and(|ms| ms > 0);
    let mut found = Vec::new();
    for context in numbered(root, &folder.join("contexts"))? {
        let all = folder.join("contexts").join(&context).join("schemes");
        for scheme in numbered(root, &all)? {
            let place = all.join(&scheme);
            let action = root.read_trimmed(place.join("action"));
            let action = action.map_err(|error| error.to_string())?;
            found.push(Scheme {
                name: format!("kdamond{kdamond}.{context}.{scheme}:{action}"),
                action,
                pid: number("pid"),
                tried: place.join("stats/sz_tried"),
                applied: place.join("stats/sz_applied"),
                is_current,
            });
        }
    }
    Ok(found)
}

/// The module that pages out by itself, if it is on.
fn by_module(root: &Root) -> Vec<Scheme> {
    let parameter = |file: &str| root.read_trimmed(Path::new(RECLAIM).join(file)).ok();
    if parameter("enabled").as_deref() != Some("Y") {
        return Vec::new();
    }
    let action = "pageout".to_owned();
    vec![Scheme {
        name: format!("damon_reclaim:{action}"),
        action,
        pid: parameter("kdamond_pid").and_then(|pid| pid.parse().ok()),
        tried: Path::new(RECLAIM).join("bytes_reclaim_tried_regions"),
        applied: Path::new(RECLAIM).join("bytes_reclaimed_regions"),
        is_current: true,
    }]
}

/// Directories whose names are numbers, in their order.
fn numbered(root: &Root, folder: &Path) -> Result<Vec<String>, String> {
    let mut names = root.directories(folder).map_err(|error| error.to_string())?;
    names.retain(|name| name.parse::<u32>().is_ok());
    names.sort_by_key(|name| name.parse::<u32>().unwrap_or(0));
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(tree: &Path, path: &str, text: &str) {
        let path = tree.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }

    const ADMIN: &str = "sys/kernel/mm/damon/admin/kdamonds";

    fn kdamond(tree: &Path, number: u32, state: &str, action: &str) {
        put(tree, &format!("{ADMIN}/nr_kdamonds"), "1");
        put(tree, &format!("{ADMIN}/{number}/state"), state);
        put(tree, &format!("{ADMIN}/{number}/pid"), "77");
        let scheme = format!("{ADMIN}/{number}/contexts/0/schemes/0");
        put(tree, &format!("{scheme}/action"), action);
    }

    #[test]
    fn a_kernel_without_damon_says_so_and_one_with_it_off_has_no_scheme() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        assert!(schemes(&root).unwrap_err().contains("CONFIG_DAMON_SYSFS"));
        kdamond(tree.path(), 0, "off", "pageout");
        assert_eq!(schemes(&root), Ok(Vec::new()));
    }

    #[test]
    fn schemes_that_are_on_have_their_action_and_their_thread() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        kdamond(tree.path(), 0, "on", "pageout");
        kdamond(tree.path(), 10, "on", "stat");
        kdamond(tree.path(), 2, "off", "migrate_cold");
        put(tree.path(), &format!("{ADMIN}/10/refresh_ms"), "1000");
        let found = schemes(&root).unwrap();
        let names: Vec<&str> = found.iter().map(|scheme| scheme.name.as_str()).collect();
        assert_eq!(names, ["kdamond0.0.0:pageout", "kdamond10.0.0:stat"]);
        assert_eq!((found[0].pid, found[0].is_current), (Some(77), false));
        assert!(found[1].is_current);
        assert!(found[0].applied.ends_with("contexts/0/schemes/0/stats/sz_applied"));
    }

    #[test]
    fn the_module_that_pages_out_counts_what_it_takes() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let parameters = "sys/module/damon_reclaim/parameters";
        put(tree.path(), &format!("{parameters}/enabled"), "N");
        assert_eq!(schemes(&root), Ok(Vec::new()));
        put(tree.path(), &format!("{parameters}/enabled"), "Y");
        put(tree.path(), &format!("{parameters}/kdamond_pid"), "42");
        let found = schemes(&root).unwrap();
        assert_eq!(found[0].name, "damon_reclaim:pageout");
        assert_eq!((found[0].pid, found[0].is_current), (Some(42), true));
    }
}
