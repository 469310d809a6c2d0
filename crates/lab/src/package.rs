//! Debian kernel packages: listing releases and fetching one into the cache.

use std::fs;
use std::path::Path;

use crate::error::Error;
use crate::tool;

/// Package name before the release.
const PREFIX: &str = "linux-image-";

/// Other builds of the same release, and packages without a bootable kernel.
const OTHERS: [&str; 5] = ["-cloud-", "-rt-", "-dbg", "-unsigned", "-signed-template"];

/// Releases of a series such as `6.1` in the output of `apt-cache search`, oldest first.
pub(crate) fn releases(search: &str, series: &str) -> Vec<String> {
    let mut matching: Vec<String> = search
        .lines()
        .filter_map(|line| line.split_whitespace().next()?.strip_prefix(PREFIX))
        .filter(|release| belongs_to(release, series))
        .map(str::to_owned)
        .collect();
    matching.sort_by_key(|release| numbers(release));
    matching.dedup();
    matching
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

/// The newest release of a series known to apt.
pub(crate) fn newest(series: &str) -> Result<String, Error> {
    let missing = |why: String| {
        Error::new(why).hint(format!(
            "apt-get update on a Debian whose repositories carry Linux {series} (6.1 and 6.12 \
             are in Debian 12 and its security updates), or name a vmlinuz with its modules: \
             --kernel PATH"
        ))
    };
    let pattern = format!("^{PREFIX}{}\\.", series.replace('.', "\\."));
    let search = tool::succeed("apt-cache", &["search", "--names-only", &pattern], Path::new("/"))
        .map_err(|error| missing(error.what))?;
    releases(&search, series)
        .pop()
        .ok_or_else(|| missing(format!("apt has no kernel of the series {series} for amd64")))
}

/// Downloads the package of `release` into `folder`, unpacks it to `target`, and generates its
/// module dependencies. Nothing is installed, and no other folder is changed.
pub(crate) fn fetch(release: &str, folder: &Path, target: &Path) -> Result<(), Error> {
    let name = format!("{PREFIX}{release}");
    // As root, apt drops its privileges for downloads and could not write into the cache.
    let arguments = ["-q", "-o", "APT::Sandbox::User=root", "download", &name];
    tool::succeed("apt-get", &arguments, folder).map_err(|error| {
        error.hint(
            "is there a network, and are the lists of packages up to date (apt-get update)? A \
             kernel that is in the cache once needs neither",
        )
    })?;
    let package = downloaded(folder, &name)?;
    let words = ["-x".as_ref(), package.as_os_str(), target.as_os_str()];
    tool::succeed("dpkg-deb", &words, folder)?;
    let words = ["-b".as_ref(), target.as_os_str(), release.as_ref()];
    tool::succeed("depmod", &words, folder)?;
    Ok(())
}

fn downloaded(folder: &Path, name: &str) -> Result<std::path::PathBuf, Error> {
    let entries = fs::read_dir(folder).map_err(|cause| Error::file("list", folder, &cause))?;
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
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
";

    #[test]
    fn the_newest_release_of_a_series_is_found_numerically() {
        assert_eq!(releases(SEARCH, "6.1"), ["6.1.0-9-amd64", "6.1.0-56-amd64"]);
        assert_eq!(
            releases(SEARCH, "6.12"),
            ["6.12.99+deb12-amd64", "6.12.100+deb12-amd64"],
            "99 is older than 100"
        );
        assert_eq!(releases(SEARCH, "6.2"), Vec::<String>::new());
    }
}
