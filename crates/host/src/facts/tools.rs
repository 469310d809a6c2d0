//! Programs that workloads and scratch disks need.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_facts::{Available, HostFacts, Tool};
use assay_kernel::Root;

use crate::command;

/// Program, how to ask for its version, and the Debian package that brings it.
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
        .map(|(name, question, package)| {
            let found = if root.is_real() {
                found(name, question)
            } else {
                Available::NotAvailable("not looked for in a tree that stands in for a host".into())
            };
            ((*name).to_owned(), Tool { found, package: (*package).to_owned(), path: None })
        })
        .collect()
}

/// Looks for the programs that a study starts and adds them to the facts. `wanted` are names, or
/// whole paths, each with the Debian package that brings it. None of them is started: they may do
/// anything.
pub fn look_for<'w>(facts: &mut HostFacts, wanted: impl IntoIterator<Item = (&'w str, &'w str)>) {
    for (name, package) in wanted {
        let (found, path) = match locate(name) {
            Ok(path) => (Available::Value(format!("at {}", path.display())), Some(path)),
            Err(why) => (Available::NotAvailable(why), None),
        };
        facts.tools.insert(name.to_owned(), Tool { found, package: package.to_owned(), path });
    }
}

/// A program beside this one goes before those in PATH: `assay-load` belongs to its own `assay`.
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
        true => "there is no such program, or it may not be executed".to_owned(),
        false => "not in PATH, /usr/sbin or /sbin".to_owned(),
    };
    beside.or_else(|| command::find(name)).ok_or_else(none)
}

fn found(name: &str, question: &str) -> Available<String> {
    let Some(path) = command::find(name) else {
        return Available::NotAvailable("not in PATH, /usr/sbin or /sbin".to_owned());
    };
    match command::run(&path, &[question], "") {
        Ok(output) => {
            // mke2fs answers on standard error.
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&text);
            let version = text.lines().next().unwrap_or("no version told").trim();
            Available::Value(format!("{version} at {}", path.display()))
        }
        Err(error) => Available::NotAvailable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_name_or_by_its_whole_path() {
        assert!(locate("sh").unwrap().ends_with("sh"));
        assert!(locate("/bin/sh").is_ok());
        assert!(locate("/no/such/program").unwrap_err().contains("no such program"));
        assert!(locate("assay-no-such-program").unwrap_err().contains("PATH"));
        assert!(locate("./sh").unwrap_err().contains("{study}"));
    }
}
