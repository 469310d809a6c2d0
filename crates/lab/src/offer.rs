//! The kernels that `--kernel` takes by name, each with the newest release that apt offers, and those copied before.

use std::collections::{BTreeMap, BTreeSet};

use crate::cache::Cache;
use crate::error::Error;
use crate::image;
use crate::listed::{self, Listed};
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
    let others = PackageLists::of_releases(cache);
    let missing = |series: Option<&str>| missing(series, others.is_some());
    let mut named: BTreeMap<Vec<u64>, Offer> = BTreeMap::new();
    let mut add = |series: &str, newest: Result<String, Error>| {
        let offer = Offer { name: format!("debian-{series}"), newest };
        named.insert(package::numbers(series), offer);
    };
    SERIES.iter().for_each(|series| add(series, Err(missing(Some(series)))));
    let kernels = |lists: &PackageLists| lists.kernels().unwrap_or_default();
    let host = kernels(&PackageLists::of_host());
    let others_have = others.as_ref().map(kernels).unwrap_or_default();
    let all: BTreeSet<String> = host.iter().chain(&others_have).filter_map(series_of).collect();
    for series in &all {
        let found = [&host, &others_have].map(|kernels| newest_of(kernels, series));
        if let Some(newest) = preferred(found) {
            add(series, newest.map(|kernel| kernel.release));
        }
    }
    let newest = listed::newest(others_have.iter()).unwrap_or_else(|| Err(missing(None)));
    let newest = newest.map(|kernel| kernel.release);
    let newest = Offer { name: "debian-newest".to_owned(), newest };
    named.into_values().chain([newest]).chain(copies(cache)).collect()
}

fn series_of(kernel: &Listed) -> Option<String> {
    package::series(&kernel.release)
}

/// The newest kernel of a series that can be fetched, or why not even the newest can.
fn newest_of(kernels: &[Listed], series: &str) -> Option<Result<Listed, Error>> {
    listed::newest(kernels.iter().filter(|kernel| package::belongs_to(&kernel.release, series)))
}

/// A series of the host's own lists is fetched from there, if it can be.
fn preferred<T>([host, others]: [Option<Result<T, Error>>; 2]) -> Option<Result<T, Error>> {
    match host {
        Some(Ok(kernel)) => Some(Ok(kernel)),
        incomplete => others.or(incomplete),
    }
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

/// The newest kernel of a series, or of all, and the lists that have it. A series is looked for in the host's lists
/// first, then in those of other releases, which are read if they never were, or `again`.
pub(crate) fn find(
    series: Option<&str>,
    cache: &Cache,
    again: bool,
    progress: &mut dyn FnMut(&str),
) -> Result<(PackageLists, Listed), Error> {
    let host = PackageLists::of_host();
    let on_host = series.and_then(|series| {
        let kernels = host.kernels().unwrap_or_default();
        newest_of(&kernels, series)
    });
    let incomplete = match on_host {
        Some(Ok(kernel)) => return Ok((host, kernel)),
        incomplete => incomplete,
    };
    let known = PackageLists::of_releases(cache).filter(|_| !again);
    let lists = known.map_or_else(|| PackageLists::read(cache, progress), Ok).map_err(|error| {
        let why = format!(
            "{}; package lists of other releases cannot be read: {}",
            missing(series, true).what,
            error.what
        );
        Error { what: why, ..error }.or_hint(IMAGE)
    })?;
    let kernels = lists.kernels()?;
    let found = match series {
        Some(series) => newest_of(&kernels, series),
        None => listed::newest(kernels.iter()),
    };
    let found = preferred([incomplete, found]);
    let kernel = found.unwrap_or_else(|| Err(missing(series, true)))?;
    Ok((lists, kernel))
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

    /// Lists of other releases may have what the host's lack.
    #[test]
    fn a_series_that_the_host_s_lists_have_in_part_is_looked_for_in_others() {
        let broken = || Some(Err(Error::new("no modules")));
        assert_eq!(preferred([Some(Ok(1)), Some(Ok(2))]), Some(Ok(1)));
        assert_eq!(preferred([broken(), Some(Ok(2))]), Some(Ok(2)));
        assert_eq!(preferred::<u8>([broken(), None]), broken());
        assert_eq!(preferred::<u8>([None, None]), None);
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
