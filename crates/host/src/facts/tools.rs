//! Programs that workloads and scratch disks need.

use std::collections::BTreeMap;

use assay_facts::{Available, Tool};
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
            ((*name).to_owned(), Tool { found, package: (*package).to_owned() })
        })
        .collect()
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
