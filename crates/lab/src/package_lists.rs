//! Which kernels apt offers: by this host's package lists, and by lists of other Debian releases, which the lab keeps
//! in its cache. Settings and lists of the host's apt stay as they are.

use std::path::{Path, PathBuf};

use assay_sys::files::Dir;

use crate::cache::Cache;
use crate::error::Error;
use crate::listed::{self, Listed};
use crate::package;
use crate::tool;

/// Suites with kernels that a stable release lacks: newer ones as backports, the newest of all in `sid`.
const SUITES: [&str; 3] = ["bookworm-backports", "trixie-backports", "sid"];

/// Suites of the security archive. 5.10 is in that of bullseye.
const SECURITY: [&str; 3] = ["bullseye-security", "bookworm-security", "trixie-security"];

/// What to read the names of Debian's archives from: those that this host already trusts.
const ARCHIVES: [&str; 5] = [
    "indextargets",
    "--format",
    "$(REPO_URI) $(CODENAME)",
    "Created-By: Packages",
    "Origin: Debian",
];

/// What to do without a network.
const IN_CACHE: &str = "A kernel that is in the cache once needs neither; another machine's kernel is named with its \
                        modules: --kernel IMAGE:MODULES";

/// Package lists, and apt's options for reading them.
#[derive(Debug)]
pub(crate) struct PackageLists {
    options: Vec<String>,
}

impl PackageLists {
    /// Those of this host.
    pub(crate) const fn of_host() -> Self {
        Self { options: Vec::new() }
    }

    /// Those of other releases, if they have been read before.
    pub(crate) fn of_releases(cache: &Cache) -> Option<Self> {
        let folder = cache.path().join("apt");
        folder.join("read").is_file().then(|| Self::at(&folder))
    }

    /// The same, read now. The caller holds the lock of the cache.
    pub(crate) fn read(cache: &Cache, progress: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        let archives = tool::succeed("apt-get", &ARCHIVES, Path::new("/"))?;
        let sources = sources(&archives).ok_or_else(|| {
            Error::new("this host's apt has no archive of Debian").hint(
                "add Debian's archive to apt's sources, or name a kernel: --kernel IMAGE:MODULES",
            )
        })?;
        progress("reading package lists of other Debian releases (about 13 MB)");
        let folder = cache.folder("apt")?;
        let dir = Dir::open(&folder)?;
        dir.make_dir("lists")?.make_dir("partial")?;
        dir.replace("sources.list", sources.as_bytes())?;
        let lists = Self::at(&folder);
        let update = lists.apt("apt-get", &["-q", "update", "--error-on=any"], Path::new("/"));
        update.map_err(|error| error.hint(format!("is there a network? {IN_CACHE}")))?;
        dir.replace("read", b"")?;
        Ok(lists)
    }

    fn at(folder: &Path) -> Self {
        let in_folder = |name: &str| folder.join(name).display().to_string();
        let settings = [
            format!("Dir::Etc::sourcelist={}", in_folder("sources.list")),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            format!("Dir::State::lists={}", in_folder("lists")),
            "Dir::Cache::pkgcache=".to_owned(),
            "Dir::Cache::srcpkgcache=".to_owned(),
            "Acquire::Languages=none".to_owned(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
        ];
        Self { options: settings.into_iter().flat_map(|one| ["-o".to_owned(), one]).collect() }
    }

    fn apt(&self, program: &str, words: &[&str], folder: &Path) -> Result<String, Error> {
        // As root, apt drops its privileges for downloads and could not write into the cache.
        let mut arguments = vec!["-o".to_owned(), "APT::Sandbox::User=root".to_owned()];
        arguments.extend(self.options.iter().cloned());
        arguments.extend(words.iter().map(|word| (*word).to_owned()));
        tool::succeed(program, &arguments, folder)
    }

    /// The kernels in them, oldest first.
    pub(crate) fn kernels(&self) -> Result<Vec<Listed>, Error> {
        let words = ["search", "--full", "--names-only", listed::PATTERN];
        Ok(listed::kernels(&self.apt("apt-cache", &words, Path::new("/"))?))
    }

    /// Downloads a package, `NAME=VERSION`, into a folder; returns its file.
    pub(crate) fn download(&self, package: &str, folder: &Path) -> Result<PathBuf, Error> {
        self.apt("apt-get", &["-q", "download", package], folder).map_err(|error| {
            error.hint(format!(
                "is there a network, and are the lists of packages up to date (apt-get update, \
                 `assay lab kernels --update`)? {IN_CACHE}"
            ))
        })?;
        let name = package.split('=').next().unwrap_or(package);
        package::downloaded(folder, name)
    }
}

/// apt's sources for the suites, in the archives that the host uses for its own; `None` without one of Debian.
/// The security archive is a folder of its own, and a host may lack it.
fn sources(archives: &str) -> Option<String> {
    let is_archive = |uri: &str| {
        ["http://", "https://", "file:/", "mirror+"].iter().any(|start| uri.starts_with(start))
    };
    let known: Vec<(&str, &str)> = archives
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(uri, _)| is_archive(uri) && !uri.contains(char::is_whitespace))
        .collect();
    let of = |is_security: bool| {
        let mut matching =
            known.iter().filter(|(_, name)| name.ends_with("-security") == is_security);
        matching.next().map(|(uri, _)| *uri)
    };
    let lines = |uri: &str, suites: &[&str]| -> String {
        suites.iter().map(|suite| format!("deb [arch=amd64] {uri} {suite} main\n")).collect()
    };
    let security = of(true).map(|uri| lines(uri, &SECURITY)).unwrap_or_default();
    Some(lines(of(false)?, &SUITES) + &security)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_name_the_archives_that_the_host_already_uses() {
        let archives = "http://mirror.test/debian/ bookworm\nhttp://mirror.test/debian/ bookworm-updates\n\
                        http://mirror.test/security/ bookworm-security\n";
        let sources = sources(archives).unwrap();
        assert!(sources.contains("deb [arch=amd64] http://mirror.test/debian/ sid main\n"));
        assert!(sources.contains("http://mirror.test/security/ bullseye-security main\n"));
        assert_eq!(sources.lines().count(), SUITES.len() + SECURITY.len());
    }

    #[test]
    fn a_host_without_debian_s_archive_has_no_sources() {
        assert_eq!(sources(""), None);
        assert_eq!(sources("cdrom:[Debian]/ bookworm\n"), None);
        let only_main = sources("https://mirror.test/debian bookworm\n").unwrap();
        assert!(!only_main.contains("security"), "{only_main}");
    }

    #[test]
    fn lists_that_were_never_read_are_not_used() {
        let place = tempfile::tempdir().unwrap();
        assert!(PackageLists::of_releases(&Cache::at(place.path())).is_none());
    }
}
