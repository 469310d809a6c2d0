//! A kernel image with a folder of modules somewhere else, as a build leaves them: copied into the cache, since a guest
//! looks for modules beside the image.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use assay_sys::files::{Budget, Dir};
use assay_sys::kernel::signal;

use crate::cache::{Cache, is_plain};
use crate::error::Error;
use crate::package;

/// Limits of an image, and of its modules: Debian's have 12 MiB, and 400 MiB in 4500 files.
const IMAGE: u64 = 1 << 30;
const MODULES: Budget = Budget { bytes: 8 << 30, names: 100_000 };

/// Where x86's boot header has its mark, and the address of the release, less 0x200 (Documentation/arch/x86/boot.rst).
const MARK: usize = 0x202;
const VERSION: usize = 0x20e;
const BASE: usize = 0x200;

/// Copies an image and its modules into the cache, unless the same are there. Returns the folder of the copy and
/// the release.
pub(crate) fn copied(
    image: &Path,
    modules: &Path,
    cache: &Cache,
    progress: &mut dyn FnMut(&str),
) -> Result<(PathBuf, String), Error> {
    let bytes = assay_sys::files::input(image, IMAGE)?;
    let release = release(&bytes).ok_or_else(|| {
        Error::new(format!("{} is not an x86 kernel image (bzImage)", image.display()))
    })?;
    let from = modules_of(modules, &release)?;
    let _alone = cache.lock()?;
    let images = cache.folder("images")?;
    let folder = images.join(format!("{release}-{}", stamp(image, &from)?));
    if folder.is_dir() {
        return Ok((folder, release));
    }
    progress(&format!("copying {} and its modules into {}", image.display(), images.display()));
    let dir = Dir::open(&images)?;
    let draft = format!(".draft-{release}");
    let made = lay_out(&dir, &draft, &release, &bytes, &from);
    let made = made.and_then(|()| {
        let name = folder.file_name().unwrap_or_default();
        Ok(dir.rename(&draft, name)?)
    });
    if made.is_err() {
        let _ = dir.remove_tree(&draft);
    }
    made.map(|()| (folder, release))
}

/// The images of the complete copies in the cache, each with its release, oldest first.
pub(crate) fn copies(cache: &Cache) -> Vec<(String, PathBuf)> {
    let folders = entries(&cache.path().join("images"));
    let is_draft = |folder: &PathBuf| folder.to_string_lossy().contains("/.draft-");
    let whole = folders.into_iter().filter(|folder| !is_draft(folder));
    let mut copies: Vec<(String, PathBuf)> = whole
        .flat_map(|folder| entries(&folder.join("boot")))
        .filter_map(|image| {
            let release = image.file_name()?.to_str()?.strip_prefix("vmlinuz-")?.to_owned();
            Some((release, image))
        })
        .collect();
    copies.sort_by_key(|(release, image)| (package::numbers(release), image.clone()));
    copies
}

/// The paths in a folder; none if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn lay_out(
    images: &Dir,
    draft: &str,
    release: &str,
    image: &[u8],
    modules: &Path,
) -> Result<(), Error> {
    images.remove_tree(draft)?;
    let tree = images.make_dir(draft)?;
    tree.make_dir("boot")?.replace(format!("vmlinuz-{release}"), image)?;
    let target = tree.make_dir("lib")?.make_dir("modules")?.make_dir(release)?;
    let stop = || signal::interrupted_by().is_some();
    target.copy_in(&Dir::open(modules)?, MODULES, &stop)?;
    package::make_dependencies(release, tree.path())
}

/// The release in the header of an image: `6.9.0-rc1+` of `6.9.0-rc1+ (me@host) #1 SMP`.
fn release(image: &[u8]) -> Option<String> {
    if image.get(MARK..MARK + 4)? != b"HdrS" {
        return None;
    }
    let at = u16::from_le_bytes(image.get(VERSION..VERSION + 2)?.try_into().ok()?);
    let text = image.get(BASE + usize::from(at)..)?;
    let end = text.iter().take(256).position(|byte| *byte == b' ' || *byte == 0)?;
    let release = std::str::from_utf8(text.get(..end)?).ok()?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
    (release.starts_with(|c: char| c.is_ascii_digit()) && release.chars().all(is_name))
        .then(|| release.to_owned())
}

/// The modules of this release: the folder itself, or the one of that name in it, as `make modules_install` has it.
fn modules_of(folder: &Path, release: &str) -> Result<PathBuf, Error> {
    let inside = [folder.join("lib/modules").join(release), folder.join(release)];
    let own = folder.file_name().is_some_and(|name| name == release).then(|| folder.to_owned());
    let found = inside.into_iter().chain(own).find(|path| path.join("kernel").is_dir());
    let found = found.and_then(|path| path.canonicalize().ok()).filter(|path| is_plain(path));
    found.ok_or_else(|| {
        Error::new(format!("{} has no modules of {release}", folder.display())).hint(format!(
            "name a folder with {release}/kernel or lib/modules/{release}/kernel in it \
             (`make modules_install INSTALL_MOD_PATH=DIR` makes the latter)"
        ))
    })
}

/// Tells one build of a release from the next.
fn stamp(image: &Path, modules: &Path) -> Result<String, Error> {
    let changed = |path: &Path| {
        let found = fs::metadata(path).map_err(|cause| Error::file("read", path, &cause))?;
        Ok::<_, Error>(format!("{:x}{:x}", found.mtime(), found.mtime_nsec()))
    };
    Ok(format!("{}-{}", changed(image)?, changed(modules)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(version: &str) -> Vec<u8> {
        let mut bytes = vec![0; 0x400];
        bytes[MARK..MARK + 4].copy_from_slice(b"HdrS");
        bytes[VERSION..VERSION + 2].copy_from_slice(&0x100_u16.to_le_bytes());
        let at = BASE + 0x100;
        bytes[at..at + version.len()].copy_from_slice(version.as_bytes());
        bytes
    }

    #[test]
    fn the_release_is_read_from_the_header() {
        let of = |version: &str| release(&image(version));
        assert_eq!(of("6.9.0-rc1+ (me@host) #1").as_deref(), Some("6.9.0-rc1+"));
        assert_eq!(of("../../etc (me)"), None, "not a name for a folder");
        assert_eq!(of("6.9/x (me)"), None);
        assert_eq!(release(b"\x7fELF"), None);
        let mut cut = image("6.9.0 ");
        cut[VERSION..VERSION + 2].copy_from_slice(&0xffff_u16.to_le_bytes());
        assert_eq!(release(&cut), None, "an address behind the end");
    }

    #[test]
    fn an_image_is_copied_with_its_modules_once_for_each_build() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(&place.path().join("cache"));
        let built = place.path().join("bzImage");
        fs::write(&built, image("6.9.0-mine (me)")).unwrap();
        let modules = place.path().join("out");
        let error = copied(&built, &modules, &cache, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("modules_install"), "{error}");
        fs::create_dir_all(modules.join("lib/modules/6.9.0-mine/kernel")).unwrap();
        let mut remarks = 0;
        let mut copy = || copied(&built, &modules, &cache, &mut |_| remarks += 1).unwrap();
        let (folder, release) = copy();
        assert_eq!(release, "6.9.0-mine");
        assert!(folder.join("boot/vmlinuz-6.9.0-mine").is_file());
        assert!(folder.join("lib/modules/6.9.0-mine/modules.dep").is_file());
        assert_eq!(copy().0, folder);
        assert_eq!(remarks, 1);
        fs::create_dir_all(cache.path().join("images/.draft-6.1.2/boot/vmlinuz-6.1.2")).unwrap();
        let listed = (release, folder.join("boot/vmlinuz-6.9.0-mine"));
        assert_eq!(copies(&cache), [listed], "without the draft");
    }
}
