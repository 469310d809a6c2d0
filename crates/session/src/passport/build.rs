//! Which build of a release runs: an image that is built again has the old one's release.

use std::path::Path;

use assay_lab::{Kernel, KernelChoice};
use rustix::fs::stat;

use crate::error::Error;

/// Tells one build from the next. Debian's kernels have a release for each.
pub(super) fn build(choice: &KernelChoice, kernel: &Kernel) -> Result<Option<String>, Error> {
    match choice {
        KernelChoice::Debian(_) | KernelChoice::DebianNewest => Ok(None),
        // The lab copies each build into a folder that is named after the times of its image and modules.
        KernelChoice::Image { modules: Some(_), .. } => {
            let folder = kernel.image.ancestors().nth(2).and_then(Path::file_name);
            Ok(folder.map(|name| name.to_string_lossy().into_owned()))
        }
        KernelChoice::Image { modules: None, .. } => {
            let modules = kernel.modules.join(&kernel.release).join("modules.dep");
            Ok(Some(format!("{}-{}", changed(&kernel.image)?, changed(&modules)?)))
        }
    }
}

fn changed(path: &Path) -> Result<String, Error> {
    let found = stat(path)
        .map_err(|cause| Error::host(format!("cannot read {}: {cause}", path.display())))?;
    Ok(format!("{:x}.{:x}", found.st_mtime, found.st_mtime_nsec))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn an_image_that_was_built_again_is_another_build() {
        let place = tempfile::tempdir().unwrap();
        let modules = place.path().join("lib/modules");
        let kernel = Kernel {
            release: "6.9.0".to_owned(),
            image: place.path().join("boot/vmlinuz-6.9.0"),
            modules: modules.clone(),
        };
        let dependencies = modules.join("6.9.0/modules.dep");
        for file in [&kernel.image, &dependencies] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let choice = KernelChoice::Image { image: kernel.image.clone(), modules: None };
        let now = || build(&choice, &kernel).unwrap().unwrap();
        let first = now();
        assert_eq!(now(), first);
        for (file, seconds) in [(&kernel.image, 1), (&dependencies, 2)] {
            let before = now();
            let file = fs::File::options().append(true).open(file).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
            assert_ne!(now(), before);
        }
    }

    #[test]
    fn the_labs_copy_of_a_build_is_its_folder_and_debians_need_none() {
        let kernel = Kernel {
            release: "6.9.0".to_owned(),
            image: "/cache/images/6.9.0-6a1-6a2/boot/vmlinuz-6.9.0".into(),
            modules: "/cache/images/6.9.0-6a1-6a2/lib/modules".into(),
        };
        let modules = Some("out".into());
        let built = KernelChoice::Image { image: "bzImage".into(), modules };
        assert_eq!(build(&built, &kernel).unwrap().as_deref(), Some("6.9.0-6a1-6a2"));
        assert_eq!(build(&KernelChoice::DebianNewest, &kernel).unwrap(), None);
    }
}
