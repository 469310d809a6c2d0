//! The kernels of the lab: those in the cache, and those that can be fetched.

use assay_lab::{Cache, Offer};
use serde_json::{Value, json};

/// The cached kernels, and the names that `--kernel` takes with the newest release that apt offers.
///
/// ```no_run
/// println!("{}", assay_session::kernels_text(&assay_lab::Cache::usual()));
/// ```
#[must_use]
pub fn kernels_text(cache: &Cache) -> String {
    let mut lines = vec![format!("in {}:", cache.path().join("kernels").display())];
    let cached = assay_lab::cached(cache);
    lines.extend(cached.iter().map(|kernel| format!("  {}", kernel.release)));
    if cached.is_empty() {
        lines.push("  none; a kernel is fetched when a guest needs it".to_owned());
    }
    lines.push("names for --kernel, with the newest release that apt offers:".to_owned());
    lines.extend(assay_lab::offers(cache).iter().map(line));
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

/// The same as JSON.
///
/// ```no_run
/// let document = assay_session::kernels_document(&assay_lab::Cache::usual());
/// assert_eq!(document["schema"], 1);
/// ```
#[must_use]
pub fn kernels_document(cache: &Cache) -> Value {
    let cached = assay_lab::cached(cache).into_iter().map(|kernel| {
        json!({ "release": kernel.release, "image": kernel.image, "modules": kernel.modules })
    });
    let names = assay_lab::offers(cache).into_iter().map(|offer| {
        let (newest, why) = match offer.newest {
            Ok(release) => (Some(release), None),
            Err(error) => (None, Some(error.to_string())),
        };
        json!({ "name": offer.name, "newest": newest, "not_available": why })
    });
    json!({
        "schema": 1,
        "cache": cache.path(),
        "cached": cached.collect::<Vec<_>>(),
        "names": names.collect::<Vec<_>>(),
    })
}
