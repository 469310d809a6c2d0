//! Auditing a live host: taking a snapshot without a write, reading one that was taken elsewhere, and what the
//! result means.

mod disks;
mod groups;
mod kubelet;
mod machine;
mod names;
mod open_files;
pub mod read;
mod reading_order;
mod systemd;
#[cfg(test)]
mod tests;
mod textfile;
mod threads;
mod units;
mod watch;
mod watched;
mod writes;

use std::path::{Path, PathBuf};

use assay_host::Owners;
use assay_sys::exit::{Code, Error};
use assay_sys::files::{MOST_TEXT, input_text, replace};
use assay_sys::kernel::Root;
use jiff::Timestamp;

use crate::snapshot::SCHEMA;
use crate::{Audit, Class, Manifest, Snapshot, manifest};
use systemd::Systemd;

pub use textfile::write_textfile;
pub use watch::{WatchOptions, WatchSummary, WatchedChange, watch_settings};
pub use writes::Writer;

/// Bytes of a manifest that are read at most.
const MOST_MANIFEST: u64 = 4 << 20;

/// Reads the groups, disks and settings of the host below `root`. Writes nothing, starts nothing, and works as
/// any user: what may not be read is in the snapshot as not available, with the reason.
///
/// # Errors
/// No control groups are mounted.
pub fn take_snapshot(root: &Root) -> Result<Snapshot, Error> {
    let mut hierarchies = groups::hierarchies(root);
    if hierarchies.is_empty() {
        return Err(groups::none_mounted());
    }
    let owners = Owners::new(root);
    for hierarchy in &mut hierarchies {
        groups::read(root, &owners, hierarchy);
    }
    let names::Found { names, delegated } = names::read(&owners, &hierarchies);
    let systemd = Systemd::find(root);
    let units::Found { units, left_out: units_left_out } = units::read(root, systemd, &hierarchies);
    Ok(Snapshot {
        schema: SCHEMA,
        taken_at: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        machine: machine::read(root),
        kubelet: kubelet::read(root, systemd, &owners, &hierarchies),
        hierarchies,
        disks: disks::read(root),
        names,
        names_left_out: owners.left_out(),
        delegated,
        units,
        units_left_out,
    })
}

/// Reads a snapshot from a file, which may come from anywhere.
///
/// # Errors
/// The file cannot be read, or is no snapshot.
pub fn read_snapshot(path: &Path) -> Result<Snapshot, Error> {
    let hint = match path.join("manifest.json").is_file() {
        true => "a run is judged by `assay judge`; without a snapshot this host is audited",
        false => "expected a file that `assay audit --snapshot FILE` wrote",
    };
    let refuse = |why: String| Error::usage(format!("{why}\n  hint: {hint}"));
    let text = input_text(path, MOST_TEXT).map_err(|error| refuse(error.to_string()))?;
    Snapshot::parse(&text)
        .map_err(|refused| refuse(format!("cannot use {}: {refused}", path.display())))
}

/// Writes a snapshot to a file.
///
/// # Errors
/// The file cannot be written.
pub fn write_snapshot(path: &Path, snapshot: &Snapshot) -> Result<(), Error> {
    let mut text = serde_json::to_string(snapshot).map_err(Error::host)?;
    text.push('\n');
    replace(path, text.as_bytes()).map_err(Error::host)
}

/// Reads manifests, which may come from anywhere.
///
/// # Errors
/// A file cannot be read, or is no manifest.
pub fn read_manifest(paths: &[PathBuf]) -> Result<Manifest, Error> {
    let mut texts = Vec::new();
    for path in paths {
        let text = input_text(path, MOST_MANIFEST).map_err(Error::usage)?;
        texts.push((path.display().to_string(), text));
    }
    manifest(&texts).map_err(|why| {
        let hint = "expected a Pod, a KubeletConfiguration, a compose file, a unit of systemd or a quadlet";
        Error::usage(format!("cannot use {why}\n  hint: {hint}"))
    })
}

/// The exit code: 1 if anything matters as much as `fail_on` or more.
#[must_use]
pub fn audit_code(audit: &Audit, fail_on: Option<Class>) -> Code {
    let fails = fail_on.is_some_and(|class| audit.has(class));
    if fails { Code::Broken } else { Code::Kept }
}
