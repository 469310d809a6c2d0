//! Debian kernel packages: their releases, and unpacking one into the cache.

use std::fs;
use std::path::{Path, PathBuf};

use assay_sys::files::Dir;

use crate::error::Error;
use crate::tool;

/// Other builds of the same release, and packages without a bootable kernel.
const OTHERS: [&str; 5] = ["-cloud-", "-rt-", "-dbg", "-unsigned", "-signed-template"];

/// The series of a release: `6.1` of `6.1.0-56-amd64`.
pub(crate) fn series(release: &str) -> Option<String> {
    let mut parts = release.split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    let is_number = |part: &str| part.parse::<u32>().is_ok();
    (is_number(major) && is_number(minor) && parts.next().is_some())
        .then(|| format!("{major}.{minor}"))
}

/// Whether a release belongs to a series: `6.1.0-56-amd64` does to `6.1`, `6.12.100+deb12-amd64`
/// does not.
pub(crate) fn belongs_to(release: &str, series: &str) -> bool {
    release.strip_prefix(series).is_some_and(|rest| rest.starts_with('.'))
        && release.ends_with("-amd64")
        && !OTHERS.iter().any(|other| release.contains(other))
}

/// The numbers of a release, for sorting.
pub(crate) fn numbers(release: &str) -> Vec<u64> {
    release.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// Unpacks the packages of `release` to `target`, and generates its module dependencies. Nothing is
/// installed, and no other folder is changed.
pub(crate) fn unpack(packages: &[PathBuf], release: &str, target: &Dir) -> Result<(), Error> {
    let folder = target.path();
    for package in packages {
        let words = ["-x".as_ref(), package.as_os_str(), folder.as_os_str()];
        tool::succeed("dpkg-deb", &words, folder)?;
    }
    // Newer packages have everything below /usr.
    if folder.join("usr/lib/modules").is_dir() && !folder.join("lib").exists() {
        target.make_dir("lib")?;
        target.rename("usr/lib/modules", "lib/modules")?;
    }
    let (image, usual) =
        (format!("lib/modules/{release}/vmlinuz"), format!("boot/vmlinuz-{release}"));
    if target.has_file(&image) && !target.has_file(&usual) {
        target.make_dir("boot")?;
        target.rename(&image, &usual)?;
    }
    make_dependencies(release, folder)
}

/// Writes `lib/modules/RELEASE/modules.dep` below `target`.
pub(crate) fn make_dependencies(release: &str, target: &Path) -> Result<(), Error> {
    let words = ["-b".as_ref(), target.as_os_str(), release.as_ref()];
    tool::succeed("depmod", &words, target).map(|_| ())
}

pub(crate) fn downloaded(folder: &Path, name: &str) -> Result<PathBuf, Error> {
    let entries = fs::read_dir(folder).map_err(|cause| Error::file("list", folder, &cause))?;
    let is_it = |path: &PathBuf| {
        let file = path.file_name().map(|file| file.to_string_lossy().into_owned());
        file.is_some_and(|file| file.ends_with(".deb") && file.starts_with(&format!("{name}_")))
    };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(is_it)
        .ok_or_else(|| Error::new(format!("apt-get downloaded no package {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_belongs_to_one_series_and_other_builds_to_none() {
        assert_eq!(series("6.12.99+deb12-amd64").as_deref(), Some("6.12"));
        assert_eq!((series("amd64"), series("6.1-amd64")), (None, None));
        assert!(belongs_to("6.1.0-56-amd64", "6.1"));
        let others = ["6.12.100+deb12-amd64", "6.1.0-56-cloud-amd64", "6.1.0-57-amd64-dbg"];
        assert!(!others.iter().any(|release| belongs_to(release, "6.1")));
        assert!(numbers("6.12.99+deb12-amd64") < numbers("6.12.100+deb12-amd64"));
    }
}
