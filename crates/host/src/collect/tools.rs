//! Programs needed by workloads and scratch disks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::facts::{Available, HostFacts, Tool};
use assay_sys::kernel::Root;

use crate::command;

/// Program, its version option, and the Debian package that provides it.
const TOOLS: [(&str, &str, &str); 5] = [
    ("fio", "--version", "fio"),
    ("mkfs.ext4", "-V", "e2fsprogs"),
    ("mkfs.xfs", "-V", "xfsprogs"),
    ("blkid", "--version", "util-linux"),
    ("sfdisk", "--version", "fdisk"),
];

pub(super) fn tools(root: &Root) -> BTreeMap<String, Tool> {
    TOOLS
        .iter()
        .map(|(name, version_option, package)| {
            let version = if root.is_real() {
                version_of(name, version_option)
            } else {
                Available::NotAvailable("not looked for in a fake host tree".into())
            };
            (
                (*name).to_owned(),
                Tool { found: version, package: (*package).to_owned(), path: None },
            )
        })
        .collect()
}

/// Locates the programs that a study starts and adds them to the facts. `programs` are names or
/// absolute paths, each with the Debian package that provides it. None of them is started, because they
/// may do anything.
pub fn locate_tools<'w>(
    facts: &mut HostFacts,
    programs: impl IntoIterator<Item = (&'w str, &'w str)>,
) {
    for (name, package) in programs {
        let (location, path) = match locate(name) {
            Ok(path) => (Available::Value(format!("at {}", path.display())), Some(path)),
            Err(why) => (Available::NotAvailable(why), None),
        };
        facts
            .tools
            .insert(name.to_owned(), Tool { found: location, package: package.to_owned(), path });
    }
}

/// A program beside this one takes precedence over PATH: `assay-load` belongs to its own `assay`.
fn locate(name: &str) -> Result<PathBuf, String> {
    if name.is_empty() {
        return Err("the command has no program".to_owned());
    }
    if name.contains('/') && !name.starts_with('/') {
        return Err("a path must begin with `/`, or with `{study}/` for a file beside the \
                    study"
            .to_owned());
    }
    let own = std::env::current_exe().ok();
    let beside = own.and_then(|own| Some(own.parent()?.join(name)));
    let beside = beside.filter(|path| name == "assay-load" && command::is_executable(path));
    let none = || match name.starts_with('/') {
        true => "no such program, or not executable".to_owned(),
        false => "not in PATH, /usr/sbin or /sbin".to_owned(),
    };
    beside.or_else(|| command::find(name)).ok_or_else(none)
}

fn version_of(name: &str, version_option: &str) -> Available<String> {
    let Some(path) = command::find(name) else {
        return Available::NotAvailable("not in PATH, /usr/sbin or /sbin".to_owned());
    };
    match command::run(&path, &[version_option], "") {
        Ok(output) => {
            // mke2fs writes to stderr.
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&text);
            let version = text.lines().next().unwrap_or("unknown version").trim();
            Available::Value(format!("{version} at {}", path.display()))
        }
        Err(error) => Available::NotAvailable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_name_or_absolute_path() {
        assert!(locate("sh").unwrap().ends_with("sh"));
        assert!(locate("/bin/sh").is_ok());
        assert!(locate("/no/such/program").unwrap_err().contains("no such program"));
        assert!(locate("assay-no-such-program").unwrap_err().contains("PATH"));
        assert!(locate("./sh").unwrap_err().contains("{study}"));
    }
}
