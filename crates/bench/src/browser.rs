//! Measures how long Chromium takes from opening a page to its first and last figure.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use assay_kernel::signal;
use assay_test_support::browser;

use crate::assay::write;
use crate::failure::Failure;
use crate::figure::{Figure, Shown};
use crate::starts::median;

/// Target for the first figure: one second.
const TARGET: f64 = 1.0;

/// Timeout for a page.
const LONGEST: Duration = Duration::from_secs(120);

const SECONDS: Shown = Shown { factor: 1.0, unit: "s", decimals: 2 };

/// Script that reports when the first and the last figure are on the screen. Both times count from
/// the moment the browser started to open the page (High Resolution Time, 4.3), and include
/// painting by waiting one frame. The page's policy allows only its own scripts; a nonce admits
/// this one, so that the rest of the policy is measured, too.
const WATCH: &str = r#"<script nonce="watch">
(function () {
  var first = true;
  function say(what) {
    requestAnimationFrame(function () {
      setTimeout(function () { console.log("assay-bench " + what + " " + performance.now() / 1000); }, 0);
    });
  }
  new MutationObserver(function (_, own) {
    if (first && document.querySelector(".chart svg text")) { first = false; say("first"); }
    var places = document.querySelectorAll(".chart");
    var drawn = Array.prototype.filter.call(places, function (one) { return one.querySelector("svg text"); });
    if (document.readyState === "complete" && drawn.length === places.length) { own.disconnect(); say("last"); }
  }).observe(document, { childList: true, subtree: true });
})();
</script>
</head>"#;

/// Opens the page `times` times; `None` without Chromium.
pub(crate) fn draws(name: &str, page: &Path, times: usize) -> Result<Option<Figure>, Failure> {
    let failed = |cause: &dyn std::fmt::Display| {
        Failure::Failed(format!("cannot read {}: {cause}", page.display()))
    };
    let text = std::fs::read_to_string(page).map_err(|cause| failed(&cause))?;
    let watched = page.with_file_name("watched.html");
    let text = text.replacen("script-src ", "script-src 'nonce-watch' ", 1);
    write(&watched, &text.replacen("</head>", WATCH, 1))?;
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for _ in 0..times {
        let Some(times_drawn) = open(&watched)? else { return Ok(None) };
        first.push(times_drawn.0);
        last.push(times_drawn.1);
    }
    let name = format!("{name}: first figure drawn");
    let mut figure = Figure::bound(&name, median(&first)?, TARGET, &SECONDS);
    let last = median(&last)?;
    figure.remarks.push(format!(
        "headless Chromium, from the moment at which it opens the page; median [least, worst] of \
         {times}; all figures are drawn after {} (worst {})",
        SECONDS.value(last.value),
        SECONDS.value(last.high)
    ));
    Ok(Some(figure))
}

/// Seconds to the first and to the last figure; `None` without a browser.
fn open(page: &Path) -> Result<Option<(f64, f64)>, Failure> {
    let profile = page.with_file_name("profile");
    let Ok(mut command) = browser::command(&profile) else { return Ok(None) };
    let failed = |cause: &dyn std::fmt::Display| {
        Failure::Failed(format!("cannot open {}: {cause}", page.display()))
    };
    let console_file = page.with_file_name("console");
    let console = File::create(&console_file).map_err(|cause| failed(&cause))?;
    // With a debugging port the browser stays open until it is terminated.
    let running = command
        .args(["--enable-logging=stderr", "--remote-debugging-port=0", "--window-size=1400,2000"])
        .arg(format!("file://{}", page.display()))
        .stdout(Stdio::null())
        .stderr(console)
        .spawn();
    let mut running = running.map_err(|cause| failed(&cause))?;
    let drawn = watch(&mut running, &console_file);
    let _ = running.kill();
    let _ = running.wait();
    let _ = std::fs::remove_dir_all(profile);
    drawn.map(Some)
}

/// Waits until the page has reported both times.
fn watch(running: &mut Child, console: &Path) -> Result<(f64, f64), Failure> {
    let began = Instant::now();
    while began.elapsed() < LONGEST {
        let output = std::fs::read(console).unwrap_or_default();
        let output = String::from_utf8_lossy(&output);
        if let (Some(first), Some(last)) = (seconds(&output, "first"), seconds(&output, "last")) {
            return Ok((first, last));
        }
        if let Some(signal) = signal::interrupted_by() {
            return Err(Failure::Interrupted(signal));
        }
        if let Ok(Some(status)) = running.try_wait() {
            return Err(Failure::Failed(format!("chromium ended with {status}")));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(Failure::Failed(format!("a page was not drawn within {} s", LONGEST.as_secs())))
}

/// Parses the time of `what` from the console.
fn seconds(console: &str, what: &str) -> Option<f64> {
    let (_, rest) = console.split_once(&format!("assay-bench {what} "))?;
    let (number, _) = rest.split_once('"')?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_console_line_is_ignored() {
        let line = "[7:7:INFO:CONSOLE(12)] \"assay-bench first 0.4375\", source: file:///r (12)\n";
        assert_eq!(seconds(line, "first"), Some(0.4375));
        assert_eq!(seconds(line, "last"), None);
        assert_eq!(seconds(&line[..45], "first"), None);
    }
}
