//! The kernels that `--kernel` takes by name, each with the newest release that apt offers, and those copied before.

use std::collections::BTreeMap;

use crate::cache::Cache;
use crate::error::Error;
use crate::image;
use crate::package;
use crate::package_lists::PackageLists;

/// Series that the lab is tested with; they are named even where apt has none.
const SERIES: [&str; 3] = ["5.10", "6.1", "6.12"];

/// What remains where apt has none.
const IMAGE: &str = "apt-get update on a Debian whose repositories carry it, or name an image with its modules: \
                     --kernel IMAGE:MODULES";

/// A kernel by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// `debian-6.12`, `debian-newest`, or the path of an image that was copied into the cache.
    pub name: String,
    /// Its newest release, that of the image, or why there is none.
    pub newest: Result<String, Error>,
}

/// Kernels by name, oldest first, as far as package lists are known; then copied images by path.
#[must_use]
pub fn offers(cache: &Cache) -> Vec<Offer> {
    let sources = [Some(PackageLists::of_host()), PackageLists::of_releases(cache)];
    let mut newest: BTreeMap<Vec<u64>, String> = BTreeMap::new();
    // A series of the host's own lists is fetched from there.
    for lists in sources.iter().flatten() {
        let mut own = BTreeMap::new();
        for release in lists.releases().unwrap_or_default() {
            if let Some(series) = package::series(&release) {
                own.insert(package::numbers(&series), release);
            }
        }
        own.into_iter().for_each(|(series, release)| {
            newest.entry(series).or_insert(release);
        });
    }
    let missing = |series: Option<&str>| missing(series, sources[1].is_some());
    let mut named: BTreeMap<Vec<u64>, Offer> = BTreeMap::new();
    for series in SERIES {
        let offer = Offer { name: format!("debian-{series}"), newest: Err(missing(Some(series))) };
        named.insert(package::numbers(series), offer);
    }
    let last = newest.last_key_value().map(|(_, release)| release.clone());
    for (series, release) in newest {
        let name = format!("debian-{}.{}", series[0], series[1]);
        named.insert(series, Offer { name, newest: Ok(release) });
    }
    let newest = last.filter(|_| sources[1].is_some()).ok_or_else(|| missing(None));
    let newest = Offer { name: "debian-newest".to_owned(), newest };
    named.into_values().chain([newest]).chain(copies(cache)).collect()
}

fn copies(cache: &Cache) -> impl Iterator<Item = Offer> {
    let copies = image::copies(cache).into_iter();
    copies.map(|(release, image)| Offer { name: image.display().to_string(), newest: Ok(release) })
}

/// Reads which kernels other releases of Debian have.
pub fn read_package_lists(cache: &Cache, progress: &mut dyn FnMut(&str)) -> Result<(), Error> {
    let _alone = cache.lock()?;
    PackageLists::read(cache, progress).map(|_| ())
}

/// The newest release of a series, or of all, and the lists that have it. A series is looked for in the host's lists
/// first, then in those of other releases, which are read if they never were, or `again`.
pub(crate) fn find(
    series: Option<&str>,
    cache: &Cache,
    again: bool,
    progress: &mut dyn FnMut(&str),
) -> Result<(PackageLists, String), Error> {
    if let Some(series) = series {
        let host = PackageLists::of_host();
        if let Some(release) = newest_of(&host, series) {
            return Ok((host, release));
        }
    }
    let known = PackageLists::of_releases(cache).filter(|_| !again);
    let lists = known.map_or_else(|| PackageLists::read(cache, progress), Ok).map_err(|error| {
        let why = format!(
            "{}; package lists of other releases cannot be read: {}",
            missing(series, true).what,
            error.what
        );
        Error { what: why, ..error }.or_hint(IMAGE)
    })?;
    let release = match series {
        Some(series) => newest_of(&lists, series),
        None => lists.releases()?.pop(),
    };
    release.map(|release| (lists, release)).ok_or_else(|| missing(series, true))
}

fn newest_of(lists: &PackageLists, series: &str) -> Option<String> {
    let mut releases = lists.releases().unwrap_or_default().into_iter();
    releases.rfind(|release| package::belongs_to(release, series))
}

fn missing(series: Option<&str>, others_are_known: bool) -> Error {
    if others_are_known {
        let of = series.map(|series| format!(" of the series {series}")).unwrap_or_default();
        return Error::new(format!("apt has no kernel{of} for amd64")).hint(IMAGE);
    }
    let what = "this host's package lists have none, and those of other Debian releases were not \
                read yet";
    Error::new(what).hint("assay lab kernels --update")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_apt_cannot_serve_are_listed_with_the_reason() {
        let place = tempfile::tempdir().unwrap();
        let offers = offers(&Cache::at(place.path()));
        let of = |name: &str| offers.iter().find(|offer| offer.name == name).unwrap();
        for series in SERIES {
            of(&format!("debian-{series}"));
        }
        let why = of("debian-newest").newest.clone().unwrap_err().to_string();
        assert!(why.contains("not read yet") && why.contains("--update"), "{why}");
        assert_eq!(offers.last(), Some(of("debian-newest")));
    }

    #[test]
    fn a_copied_image_is_listed_by_the_path_that_names_it() {
        let place = tempfile::tempdir().unwrap();
        let image = place.path().join("images/4.19.79-5f-60/boot/vmlinuz-4.19.79");
        std::fs::create_dir_all(image.parent().unwrap()).unwrap();
        std::fs::write(&image, "").unwrap();
        let offers = offers(&Cache::at(place.path()));
        let listed = Offer { name: image.display().to_string(), newest: Ok("4.19.79".to_owned()) };
        assert_eq!(offers.last(), Some(&listed));
    }
}
