//! Active DAMON schemes: kernel threads that monitor memory accesses and act on them
//! (Documentation/admin-guide/mm/damon/usage.rst and reclaim.rst). A `pageout` scheme evicts pages that
//! were not accessed for a while, however much memory is free.

use std::path::{Path, PathBuf};

use crate::root::Root;

const KDAMONDS: &str = "/sys/kernel/mm/damon/admin/kdamonds";
const RECLAIM: &str = "/sys/module/damon_reclaim/parameters";

/// One scheme of an active kdamond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheme {
    /// `kdamond0.1.2:pageout` is scheme 2 of context 1 of kdamond 0; `damon_reclaim:pageout` that of
    /// the module.
    pub name: String,
    /// Its action: `pageout`, `stat`, `migrate_cold`.
    pub action: String,
    /// Its kernel thread.
    pub pid: Option<u32>,
    /// The file with the number of bytes it tried to apply its action to.
    pub tried: PathBuf,
    /// The file with the number of bytes it applied its action to.
    pub applied: PathBuf,
    /// Whether the kernel keeps these two up to date. For the files of a kdamond it does so only if
    /// `refresh_ms` (6.17) is not 0; otherwise they are updated by writing `update_schemes_stats` to
    /// `state`, which a reader must not do.
    pub is_current: bool,
}

/// All active schemes, none if every kdamond is off; the error says why they cannot be determined.
pub fn schemes(root: &Root) -> Result<Vec<Scheme>, String> {
    let modules = by_module(root);
    if !root.is_directory(KDAMONDS) {
        return match modules.is_empty() && !root.is_directory(RECLAIM) {
            true => Err(format!("this kernel has no {KDAMONDS} (CONFIG_DAMON_SYSFS)")),
            false => Ok(modules),
        };
    }
    let mut schemes_found = Vec::new();
    for kdamond in numbered(root, Path::new(KDAMONDS))? {
        let folder = Path::new(KDAMONDS).join(&kdamond);
        if root.read_trimmed(folder.join("state")).map_err(|error| error.to_string())? == "on" {
            schemes_found.extend(kdamond_schemes(root, &kdamond, &folder)?);
        }
    }
    schemes_found.extend(modules);
    Ok(schemes_found)
}

fn kdamond_schemes(root: &Root, kdamond: &str, folder: &Path) -> Result<Vec<Scheme>, String> {
    let number = |file: &str| root.read_trimmed(folder.join(file)).ok()?.parse::<u32>().ok();
    let is_current = number("refresh_ms").is_some_and(|ms| ms > 0);
    let mut schemes_found = Vec::new();
    for context in numbered(root, &folder.join("contexts"))? {
        let all = folder.join("contexts").join(&context).join("schemes");
        for scheme in numbered(root, &all)? {
            let scheme_folder = all.join(&scheme);
            let action = root.read_trimmed(scheme_folder.join("action"));
            let action = action.map_err(|error| error.to_string())?;
            schemes_found.push(Scheme {
                name: format!("kdamond{kdamond}.{context}.{scheme}:{action}"),
                action,
                pid: number("pid"),
                tried: scheme_folder.join("stats/sz_tried"),
                applied: scheme_folder.join("stats/sz_applied"),
                is_current,
            });
        }
    }
    Ok(schemes_found)
}

/// The scheme of the damon_reclaim module, if it is enabled.
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

/// Directories whose names are numbers, in numerical order.
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
    fn without_damon_is_an_error_and_with_damon_off_there_is_no_scheme() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        assert!(schemes(&root).unwrap_err().contains("CONFIG_DAMON_SYSFS"));
        kdamond(tree.path(), 0, "off", "pageout");
        assert_eq!(schemes(&root), Ok(Vec::new()));
    }

    #[test]
    fn active_schemes_have_an_action_and_a_thread() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        kdamond(tree.path(), 0, "on", "pageout");
        kdamond(tree.path(), 10, "on", "stat");
        kdamond(tree.path(), 2, "off", "migrate_cold");
        put(tree.path(), &format!("{ADMIN}/10/refresh_ms"), "1000");
        let schemes_found = schemes(&root).unwrap();
        let names: Vec<&str> = schemes_found.iter().map(|scheme| scheme.name.as_str()).collect();
        assert_eq!(names, ["kdamond0.0.0:pageout", "kdamond10.0.0:stat"]);
        assert_eq!((schemes_found[0].pid, schemes_found[0].is_current), (Some(77), false));
        assert!(schemes_found[1].is_current);
        assert!(schemes_found[0].applied.ends_with("contexts/0/schemes/0/stats/sz_applied"));
    }

    #[test]
    fn the_reclaim_module_is_a_scheme() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let parameters = "sys/module/damon_reclaim/parameters";
        put(tree.path(), &format!("{parameters}/enabled"), "N");
        assert_eq!(schemes(&root), Ok(Vec::new()));
        put(tree.path(), &format!("{parameters}/enabled"), "Y");
        put(tree.path(), &format!("{parameters}/kdamond_pid"), "42");
        let schemes_found = schemes(&root).unwrap();
        assert_eq!(schemes_found[0].name, "damon_reclaim:pageout");
        assert_eq!((schemes_found[0].pid, schemes_found[0].is_current), (Some(42), true));
    }
}
