//! Debian kernel packages: their names, and unpacking one into the cache.

use std::fs;
use std::path::{Path, PathBuf};

use assay_files::Dir;

use crate::error::Error;
use crate::tool;

/// Package name before the release.
pub(crate) const PREFIX: &str = "linux-image-";

/// Other builds of the same release, and packages without a bootable kernel.
const OTHERS: [&str; 5] = ["-cloud-", "-rt-", "-dbg", "-unsigned", "-signed-template"];

/// Releases in the output of `apt-cache search`, oldest first.
pub(crate) fn releases(search: &str) -> Vec<String> {
    let mut matching: Vec<String> = search
        .lines()
        .filter_map(|line| line.split_whitespace().next()?.strip_prefix(PREFIX))
        .filter(|release| series(release).is_some_and(|series| belongs_to(release, &series)))
        .map(str::to_owned)
        .collect();
    matching.sort_by_key(|release| numbers(release));
    matching.dedup();
    matching
}

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

/// Other packages that a kernel needs to boot: since 6.19 Debian has its image and its modules in packages of their own,
/// and the lists of built-in modules in another.
pub(crate) fn parts(package: &Path, release: &str) -> Result<Vec<String>, Error> {
    let words = ["-f".as_ref(), package.as_os_str(), "Depends".as_ref()];
    let needed = tool::succeed("dpkg-deb", &words, Path::new("/"))?;
    Ok(parts_in(&needed, release))
}

fn parts_in(needed: &str, release: &str) -> Vec<String> {
    let wanted =
        ["linux-base-", "linux-binary-", "linux-modules-"].map(|part| format!("{part}{release}"));
    let names: Vec<&str> = needed.split([',', '|', ' ']).collect();
    wanted.into_iter().filter(|name| names.contains(&name.as_str())).collect()
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

    const SEARCH: &str = "\
linux-image-6.1.0-9-amd64 - Linux 6.1 for 64-bit PCs (signed)
linux-image-6.1.0-56-amd64 - Linux 6.1 for 64-bit PCs (signed)
linux-image-6.1.0-56-cloud-amd64 - Linux 6.1 for x86-64 cloud (signed)
linux-image-6.1.0-56-rt-amd64 - Linux 6.1 for 64-bit PCs, PREEMPT_RT (signed)
linux-image-6.1.0-57-amd64-dbg - Debug symbols for linux-image-6.1.0-57-amd64
linux-image-6.1.0-57-amd64-unsigned - Linux 6.1 for 64-bit PCs
linux-image-6.12.100+deb12-amd64 - Linux 6.12 for 64-bit PCs (signed)
linux-image-6.12.99+deb12-amd64 - Linux 6.12 for 64-bit PCs (signed)
linux-image-amd64 - Linux for 64-bit PCs (meta-package)
linux-image-6.1-amd64 - Linux for 64-bit PCs (meta-package)
";

    #[test]
    fn parts_of_a_kernel_are_fetched_with_it_and_nothing_else() {
        let needed = "dracut | initramfs-tools (>= 0.120), linux-base-7.3.4-amd64 (= 7.3.4-1), \
                      linux-binary-7.3.4-amd64 (= 7.3.4-1), linux-modules-7.3.4-amd64 (= 7.3.4-1)";
        let parts = |release: &str| parts_in(needed, release);
        let names =
            ["linux-base-7.3.4-amd64", "linux-binary-7.3.4-amd64", "linux-modules-7.3.4-amd64"];
        assert_eq!(parts("7.3.4-amd64"), names);
        assert_eq!(parts("7.3.3-amd64"), Vec::<String>::new());
    }

    #[test]
    fn releases_are_sorted_as_numbers_and_other_packages_left_out() {
        let sorted =
            ["6.1.0-9-amd64", "6.1.0-56-amd64", "6.12.99+deb12-amd64", "6.12.100+deb12-amd64"];
        assert_eq!(releases(SEARCH), sorted, "99 is older than 100");
        assert_eq!(series("6.12.99+deb12-amd64").as_deref(), Some("6.12"));
        assert_eq!((series("amd64"), series("6.1-amd64")), (None, None));
    }
}
