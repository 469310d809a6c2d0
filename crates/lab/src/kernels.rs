//! The kernels of the lab: those in the cache, and those that can be fetched.

use std::path::PathBuf;

use serde::Serialize;

use crate::{Cache, Offer};

/// The cached kernels, and the names that `--kernel` takes with the newest release that apt offers.
#[must_use]
pub fn kernels_text(cache: &Cache) -> String {
    let mut lines = vec![format!("in {}:", cache.path().join("kernels").display())];
    let cached = crate::cached(cache);
    lines.extend(cached.iter().map(|kernel| format!("  {}", kernel.release)));
    if cached.is_empty() {
        lines.push("  none; a kernel is fetched when a guest needs it".to_owned());
    }
    lines.push("names for --kernel, with the newest release that apt offers:".to_owned());
    lines.extend(crate::offers(cache).iter().map(line));
    lines.push("or an image: boot/vmlinuz-RELEASE beside lib/modules, or IMAGE:MODULES".to_owned());
    lines.join("\n")
}

fn line(offer: &Offer) -> String {
    let newest = match &offer.newest {
        Ok(release) => release.clone(),
        Err(error) => format!("not available: {error}").replace('\n', ";"),
    };
    format!("  {:<13} {newest}", offer.name)
}

/// The same for programs.
#[derive(Debug, Serialize)]
pub struct Kernels {
    /// Version of this format.
    pub schema: u32,
    /// Folder of the cache.
    pub cache: PathBuf,
    /// The kernels in it.
    pub cached: Vec<CachedKernel>,
    /// The names that `--kernel` takes.
    pub names: Vec<KernelName>,
}

/// A kernel in the cache.
#[derive(Debug, Serialize)]
pub struct CachedKernel {
    /// Its release, `6.1.0-56-amd64`.
    pub release: String,
    /// Its image.
    pub image: PathBuf,
    /// The folder of its modules.
    pub modules: PathBuf,
}

/// A name that `--kernel` takes.
#[derive(Debug, Serialize)]
pub struct KernelName {
    /// The name.
    pub name: String,
    /// The newest release that apt offers.
    pub newest: Option<String>,
    /// Why none is known.
    pub not_available: Option<String>,
}

/// The kernels as a document.
#[must_use]
pub fn kernels_document(cache: &Cache) -> Kernels {
    let cached = crate::cached(cache).into_iter().map(|kernel| CachedKernel {
        release: kernel.release,
        image: kernel.image,
        modules: kernel.modules,
    });
    let names = crate::offers(cache).into_iter().map(|offer| {
        let (newest, not_available) = match offer.newest {
            Ok(release) => (Some(release), None),
            Err(error) => (None, Some(error.to_string())),
        };
        KernelName { name: offer.name, newest, not_available }
    });
    Kernels {
        schema: 1,
        cache: cache.path().to_owned(),
        cached: cached.collect(),
        names: names.collect(),
    }
}
