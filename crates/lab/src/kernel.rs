//! A guest's kernel: a cached release, fetched once, or a given image.

use std::fs;
use std::path::{Path, PathBuf};

use assay_sys::files::Dir;
use assay_sys::kernel::filesystem;
use assay_sys::units::Bytes;

use crate::cache::{Cache, is_plain};
use crate::error::Error;
use crate::image;
use crate::listed::Listed;
use crate::offer;
use crate::package;
use crate::package_lists::PackageLists;
use crate::spec::KernelChoice;

/// A bootable kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Its release, `6.1.0-56-amd64`.
    pub release: String,
    /// Its image.
    pub image: PathBuf,
    /// The folder that contains `<release>/modules.dep`.
    pub modules: PathBuf,
}

/// Kernels in the cache, oldest first.
#[must_use]
pub fn cached(cache: &Cache) -> Vec<Kernel> {
    let folder = cache.path().join("kernels");
    let Ok(entries) = fs::read_dir(&folder) else { return vec![] };
    let mut kernels_found: Vec<Kernel> =
        entries.filter_map(|entry| from_folder(&entry.ok()?.path())).collect();
    kernels_found.sort_by_key(|kernel| package::numbers(&kernel.release));
    kernels_found
}

/// Space for a package and its contents: Debian's 6.1 has 70 MB, and 404 MiB unpacked.
const SPACE: Bytes = Bytes::mebi(640);

/// Checks that the free space suffices for a kernel.
fn enough(free: u64, folder: &Path) -> Result<(), Error> {
    if free >= SPACE.get() {
        return Ok(());
    }
    let what = format!(
        "not enough space for a kernel: it needs {SPACE}, {} MiB are free in {}",
        free >> 20,
        folder.display()
    );
    Err(Error::new(what).hint("free space there, or set ASSAY_LAB_CACHE to another folder"))
}

fn from_folder(folder: &Path) -> Option<Kernel> {
    let release = folder.file_name()?.to_str()?.to_owned();
    let kernel = Kernel {
        image: folder.join("boot").join(format!("vmlinuz-{release}")),
        modules: folder.join("lib/modules"),
        release,
    };
    let complete = kernel.image.is_file()
        && kernel.modules.join(&kernel.release).join("modules.dep").is_file();
    complete.then_some(kernel)
}

impl Kernel {
    /// Finds the requested kernel. A series that is not in the cache is fetched, reported to
    /// `progress`; with `newest` it is fetched even if an older release is cached, after reading again which
    /// releases there are. Which is the newest of all is looked up in the lists as they are.
    pub fn provide(
        choice: &KernelChoice,
        cache: &Cache,
        newest: bool,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Self, Error> {
        let wanted = match choice {
            KernelChoice::Image { image, modules: None } => return Self::named(image),
            KernelChoice::Image { image, modules: Some(modules) } => {
                let (folder, release) = image::copied(image, modules, cache, progress)?;
                return Self::named(&folder.join("boot").join(format!("vmlinuz-{release}")));
            }
            KernelChoice::Debian(series) => Some(series.as_str()),
            KernelChoice::DebianNewest => None,
        };
        let _alone = cache.lock()?;
        let here = wanted.and_then(|series| {
            let mut kernels = cached(cache).into_iter();
            kernels.rfind(|kernel| package::belongs_to(&kernel.release, series))
        });
        match here {
            Some(kernel) if !newest => Ok(kernel),
            here => {
                let (lists, found) = offer::find(wanted, cache, newest, progress)?;
                Self::fetched(&lists, &found, cache, here, progress)
            }
        }
    }

    fn fetched(
        lists: &PackageLists,
        found: &Listed,
        cache: &Cache,
        here: Option<Self>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Self, Error> {
        let release = found.release.as_str();
        let cached = from_folder(&cache.path().join("kernels").join(release)).or(here);
        if let Some(kernel) = cached.filter(|kernel| kernel.release == release) {
            return Ok(kernel);
        }
        let kernels = cache.folder("kernels")?;
        enough(filesystem::free_space(&kernels)?, &kernels)?;
        progress(&format!(
            "fetching Debian's kernel {release} into {} (70 to 180 MB, once)",
            kernels.display()
        ));
        let draft = format!(".draft-{release}");
        let dir = Dir::open(&kernels)?;
        let made = Self::unpack(lists, found, &dir, &draft);
        // The draft is useless in any case.
        let _ = dir.remove_tree(&draft);
        made?;
        progress(&format!("kernel {release} is in the cache"));
        from_folder(&kernels.join(release)).ok_or_else(|| {
            Error::new(format!(
                "no kernel image or no modules in the packages {}",
                found.packages.join(", ")
            ))
        })
    }

    /// Unpacks next to the final path and then renames, so that the final folder is always
    /// complete.
    fn unpack(
        lists: &PackageLists,
        found: &Listed,
        kernels: &Dir,
        draft: &str,
    ) -> Result<(), Error> {
        kernels.remove_tree(draft)?;
        let folder = kernels.make_dir(draft)?;
        let tree = folder.make_dir("tree")?;
        let files = found.packages.iter().map(|package| lists.download(package, folder.path()));
        let files = files.collect::<Result<Vec<PathBuf>, Error>>()?;
        package::unpack(&files, &found.release, &tree)?;
        kernels.remove_tree(&found.release)?;
        Ok(kernels.rename(Path::new(draft).join("tree"), &found.release)?)
    }

    /// A kernel image by path: `vmlinuz-RELEASE` in a `boot` folder next to `lib/modules`, or
    /// `vmlinuz` in its modules folder.
    fn named(image: &Path) -> Result<Self, Error> {
        let image = image.canonicalize().map_err(|cause| Error::file("open", image, &cause))?;
        if !is_plain(&image) {
            let what = format!("QEMU options cannot contain the image path {}", image.display());
            return Err(Error::new(what).hint("use only letters, digits and `_+-.` in its path"));
        }
        let name = image.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let folder = image.parent().unwrap_or(Path::new("/"));
        let known = match name.strip_prefix("vmlinuz-") {
            Some(release) => from_boot_folder(folder, release),
            None => from_modules_folder(folder),
        };
        let (release, modules) = known.ok_or_else(|| {
            Error::new(format!("no modules found for the kernel {}", image.display())).hint(
                "name its modules too (IMAGE:MODULES), or use an image boot/vmlinuz-RELEASE with \
                 lib/modules/RELEASE/modules.dep next to `boot` (depmod -b makes the latter)",
            )
        })?;
        Ok(Self { release, image, modules })
    }
}

fn from_boot_folder(folder: &Path, release: &str) -> Option<(String, PathBuf)> {
    let modules = folder.parent()?.join("lib/modules");
    modules.join(release).join("modules.dep").is_file().then(|| (release.to_owned(), modules))
}

fn from_modules_folder(folder: &Path) -> Option<(String, PathBuf)> {
    let release = folder.file_name()?.to_str()?.to_owned();
    folder
        .join("modules.dep")
        .is_file()
        .then(|| (release, folder.parent().map(Path::to_owned)))
        .and_then(|(release, modules)| Some((release, modules?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lay_out(folder: &Path, release: &str) {
        let modules = folder.join("lib/modules").join(release);
        fs::create_dir_all(&modules).unwrap();
        fs::create_dir_all(folder.join("boot")).unwrap();
        fs::write(modules.join("modules.dep"), "").unwrap();
        fs::write(folder.join("boot").join(format!("vmlinuz-{release}")), "").unwrap();
    }

    fn cache(releases: &[&str]) -> (tempfile::TempDir, Cache) {
        let place = tempfile::tempdir().unwrap();
        for release in releases {
            lay_out(&place.path().join("kernels").join(release), release);
        }
        let cache = Cache::at(place.path());
        (place, cache)
    }

    #[test]
    fn the_newest_cached_release_of_a_series_is_used_without_apt() {
        let (_place, cache) = cache(&["6.1.0-9-amd64", "6.1.0-56-amd64", "6.12.1+deb12-amd64"]);
        fs::create_dir(cache.path().join("kernels/6.1.0-99-amd64")).unwrap();
        let mut messages = Vec::new();
        let choice = KernelChoice::Debian("6.1".to_owned());
        let kernel =
            Kernel::provide(&choice, &cache, false, &mut |text| messages.push(text.to_owned()))
                .unwrap();
        assert_eq!(kernel.release, "6.1.0-56-amd64", "99 is incomplete");
        assert_eq!(messages, Vec::<String>::new());
        assert_eq!(cached(&cache).len(), 3);
    }

    #[test]
    fn a_kernel_without_enough_space_is_not_fetched() {
        assert_eq!(enough(1 << 30, Path::new("/x")), Ok(()));
        let error = enough(100 << 20, Path::new("/x")).unwrap_err().to_string();
        assert!(error.contains("100 MiB are free in /x"), "{error}");
        assert!(error.contains("ASSAY_LAB_CACHE"), "{error}");
    }

    #[test]
    fn a_given_image_is_used_with_its_modules_or_refused() {
        let place = tempfile::tempdir().unwrap();
        lay_out(place.path(), "6.9.1");
        let image = place.path().join("boot/vmlinuz-6.9.1");
        let kernel = Kernel::named(&image).unwrap();
        assert_eq!(kernel.release, "6.9.1");
        assert!(kernel.modules.ends_with("lib/modules"));
        let bare = place.path().join("vmlinuz-7.0");
        fs::write(&bare, "").unwrap();
        let error = Kernel::named(&bare).unwrap_err().to_string();
        assert!(error.contains("modules.dep"), "{error}");
        assert!(
            Kernel::named(Path::new("/no/such/vmlinuz")).unwrap_err().what.contains("/no/such")
        );
    }
}
