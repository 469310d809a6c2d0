//! How long Chromium takes to open a page and draw all its figures.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::assay::write;
use crate::child;
use crate::figure::{Figure, Shown};
use crate::starts::median;
use crate::trouble::Trouble;

/// The first figure shall be drawn within a second. What is measured takes longer: all figures.
const TARGET: f64 = 1.0;

const SECONDS: Shown = Shown { factor: 1.0, unit: "s", decimals: 2 };

/// The time from the start of the browser to the end of all drawing, less that of an empty page,
/// in turns; no figure where there is no Chromium.
pub(crate) fn draws(name: &str, page: &Path, times: usize) -> Result<Option<Figure>, Trouble> {
    let empty = page.with_file_name("empty.html");
    write(&empty, "<!doctype html><title>empty</title>")?;
    if open(&empty)?.is_none() {
        return Ok(None);
    }
    let mut seconds = Vec::new();
    for _ in 0..times {
        if let (Some(all), Some(nothing)) = (open(page)?, open(&empty)?) {
            seconds.push(all - nothing);
        }
    }
    let name = format!("{name}: all figures drawn");
    let mut figure = Figure::bound(&name, median(&seconds)?, TARGET, &SECONDS);
    figure.remarks.push(format!(
        "headless Chromium from its start to its end, less the same with an empty page; median \
         [least, worst] of {times}; the target is that of the first figure"
    ));
    Ok(Some(figure))
}

/// Opens a page and leaves when its scripts are done; `None` without a browser.
fn open(page: &Path) -> Result<Option<f64>, Trouble> {
    let profile = page.with_file_name("profile");
    let began = Instant::now();
    let started = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--no-first-run", "--disable-background-networking", "--disable-extensions"])
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=60000"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut running) = started else { return Ok(None) };
    let status = child::wait(&mut running)?;
    if status.success() {
        Ok(Some(began.elapsed().as_secs_f64()))
    } else {
        Err(Trouble::Failed(format!("chromium ended with {status}")))
    }
}
