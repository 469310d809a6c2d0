//! Kernels in package lists: which packages make up each, and which of them the lists no longer have.
//!
//! Up to 6.18 one package has the image and the modules; 6.18 depends on a `linux-base-RELEASE` besides, without which
//! it boots as well. Since 6.19 `linux-binary-RELEASE` has the image and `linux-modules-RELEASE` the modules. Archives keep
//! what is signed (`linux-image-`, `linux-binary-`) longer than what is not, so lists name kernels without their modules.

use crate::error::Error;
use crate::package;

/// Package name before the release, of what all others hang on.
pub(crate) const PREFIX: &str = "linux-image-";

/// Those without which no guest boots, where a kernel has them.
const NEEDED: [&str; 2] = ["linux-binary-", "linux-modules-"];

/// What a guest can do without. Since 6.19 it has the names of built-in modules, which `modprobe` then does not find, and
/// the kernel's configuration; the image of 6.18 has these itself.
const BASE: &str = "linux-base-";

/// For `apt-cache search`: the names of all of these for amd64, without other builds (`-cloud-amd64`, `-dbg`).
pub(crate) const PATTERN: &str =
    "^linux-(image|base|binary|modules)-[0-9][^-]*(-[0-9][^-]*)?-amd64$";

/// What remains where its parts are gone.
const ANOTHER: &str = "take another series (`assay lab kernels`), add an archive that keeps former packages to this host's \
                       apt sources, or name an image with its modules: --kernel IMAGE:MODULES";

/// A kernel in package lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Its release, `6.1.0-56-amd64`.
    pub(crate) release: String,
    /// The packages to fetch, as `apt-get download` takes them: `NAME=VERSION`.
    pub(crate) packages: Vec<String>,
    /// Packages that it needs and the lists do not have.
    lacks: Vec<String>,
}

/// Kernels in a package index (stanzas, as `apt-cache` prints them), oldest first.
pub(crate) fn kernels(index: &str) -> Vec<Listed> {
    let all: Vec<Package<'_>> = index.split("\n\n").filter_map(Package::of).collect();
    let mut found: Vec<Listed> = all.iter().filter_map(|image| listed(image, &all)).collect();
    found.sort_by_key(|kernel| package::numbers(&kernel.release));
    found.dedup_by(|one, other| one.release == other.release);
    found
}

/// The newest of these kernels, oldest first, that can be fetched; or why not even the newest can. `None` without any.
pub(crate) fn newest<'a>(
    kernels: impl DoubleEndedIterator<Item = &'a Listed> + Clone,
) -> Option<Result<Listed, Error>> {
    let last = kernels.clone().next_back()?;
    let whole = kernels.rev().find(|kernel| kernel.lacks.is_empty());
    Some(whole.cloned().ok_or_else(|| last.incomplete()))
}

impl Listed {
    fn incomplete(&self) -> Error {
        let what = format!(
            "Debian's kernel {} cannot be fetched: apt has no {}, which it needs to boot",
            self.release,
            self.lacks.join(" and no ")
        );
        Error::new(what).hint(ANOTHER)
    }
}

fn listed(image: &Package<'_>, all: &[Package<'_>]) -> Option<Listed> {
    let release = image.name.strip_prefix(PREFIX)?;
    let series = package::series(release)?;
    if !package::belongs_to(release, &series) {
        return None;
    }
    let is_there = |part: &Part<'_>| {
        let is_it = |one: &Package<'_>| {
            one.name == part.name && part.version.is_none_or(|version| version == one.version)
        };
        all.iter().any(is_it)
    };
    let (here, gone): (Vec<Part<'_>>, Vec<Part<'_>>) = image.parts(release).partition(is_there);
    let own = Part { name: image.name, version: Some(image.version) };
    Some(Listed {
        release: release.to_owned(),
        packages: [own].iter().chain(&here).map(Part::wanted).collect(),
        lacks: gone.iter().filter(|part| !part.name.starts_with(BASE)).map(Part::wanted).collect(),
    })
}

/// A stanza of an index.
struct Package<'a> {
    name: &'a str,
    version: &'a str,
    depends: &'a str,
}

impl<'a> Package<'a> {
    fn of(stanza: &'a str) -> Option<Self> {
        let field = |name: &str| {
            stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        let depends = field("Depends").unwrap_or_default();
        Some(Self { name: field("Package")?, version: field("Version")?, depends })
    }

    /// Other packages of the same kernel that this one depends on.
    fn parts(&self, release: &str) -> impl Iterator<Item = Part<'a>> {
        let is_part = move |part: &Part<'_>| {
            let kind = part.name.strip_suffix(release);
            kind.is_some_and(|kind| kind == BASE || NEEDED.contains(&kind))
        };
        self.depends.split([',', '|']).map(Part::of).filter(is_part)
    }
}

/// A package that another one depends on, `linux-base-RELEASE (= VERSION)`.
struct Part<'a> {
    name: &'a str,
    version: Option<&'a str>,
}

impl<'a> Part<'a> {
    fn of(dependency: &'a str) -> Self {
        let dependency = dependency.trim();
        let (name, relation) = dependency.split_once(' ').unwrap_or((dependency, ""));
        let version = relation.strip_prefix("(= ").and_then(|rest| rest.strip_suffix(')'));
        Self { name, version }
    }

    /// As `apt-get download` takes it.
    fn wanted(&self) -> String {
        let version = self.version.map(|version| format!("={version}"));
        format!("{}{}", self.name, version.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the index of trixie-backports on 27 November 2026, without fields that nothing reads.
    const INDEX: &str = include_str!("../data/package-index");

    fn newest_of(series: &str, index: &str) -> Option<Result<Listed, Error>> {
        let all = kernels(index);
        newest(all.iter().filter(|one| package::belongs_to(&one.release, series)))
    }

    #[test]
    fn kernels_are_sorted_as_numbers_and_other_packages_left_out() {
        let releases: Vec<String> = kernels(INDEX).into_iter().map(|one| one.release).collect();
        let sorted = ["6.17.13", "6.18.12", "6.18.15", "7.0.13", "7.1.13", "7.2.11", "7.2.12"];
        assert_eq!(releases, sorted.map(|number| format!("{number}+deb13-amd64")));
        let older = "Package: linux-image-6.1.0-9-amd64\nVersion: 6.1.27-1\n\n\
                     Package: linux-image-6.1.0-56-amd64\nVersion: 6.1.192-2\n\n\
                     Package: linux-image-6.1-amd64\nVersion: 6.1.192-2\n";
        let newest = newest_of("6.1", older).unwrap().unwrap();
        assert_eq!(newest.packages, ["linux-image-6.1.0-56-amd64=6.1.192-2"], "9 is older");
    }

    #[test]
    fn a_kernel_is_fetched_with_all_of_its_parts_in_their_versions() {
        let kernel = newest_of("7.2", INDEX).unwrap().unwrap();
        let parts = ["image", "base", "binary", "modules"];
        let wanted = parts.map(|part| format!("linux-{part}-7.2.12+deb13-amd64=7.2.12-1~bpo13+1"));
        assert_eq!(kernel.packages, wanted);
        let whole = newest_of("6.17", INDEX).unwrap().unwrap();
        assert_eq!(whole.packages, ["linux-image-6.17.13+deb13-amd64=6.17.13-1~bpo13+1"]);
    }

    /// `apt-get download linux-base-6.18.15+deb13-amd64` has no candidate, and the kernel boots without.
    #[test]
    fn a_kernel_whose_base_package_is_gone_is_fetched_without_it() {
        let kernel = newest_of("6.18", INDEX).unwrap().unwrap();
        assert_eq!(kernel.packages, ["linux-image-6.18.15+deb13-amd64=6.18.15-1~bpo13+1"]);
    }

    #[test]
    fn a_kernel_whose_modules_are_gone_is_refused_by_the_package_that_lacks() {
        for number in ["7.0.13", "7.1.13"] {
            let why = newest_of(&number[..3], INDEX).unwrap().unwrap_err().to_string();
            let modules = format!(
                "{number}+deb13-amd64 cannot be fetched: apt has no \
                 linux-modules-{number}+deb13-amd64={number}-1~bpo13+1, which it needs"
            );
            assert!(why.contains(&modules) && why.contains("IMAGE:MODULES"), "{why}");
        }
        assert_eq!(newest_of("7.4", INDEX), None);
    }

    #[test]
    fn an_older_kernel_that_is_whole_is_taken_before_a_newer_one_that_is_not() {
        let modules = "Package: linux-modules-7.2.12+deb13-amd64\nSource: linux\nVersion: 7.2.12-1";
        assert!(INDEX.contains(modules));
        let other_build = INDEX.replace(modules, &format!("{modules}2"));
        let kernel = newest_of("7.2", &other_build).unwrap().unwrap();
        assert_eq!(kernel.release, "7.2.11+deb13-amd64", "modules of another version do not fit");
    }
}
