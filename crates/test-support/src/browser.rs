//! Loads pages in a real browser without a network: resulting document, console output, and requests.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Names of the installed Chromium.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A page after its scripts have run.
#[derive(Debug)]
pub struct Opened {
    /// The resulting document, as markup.
    pub dom: String,
    /// Lines that scripts and the browser wrote to the console.
    pub console: Vec<String>,
    /// Addresses requested over a network.
    pub requests: Vec<String>,
}

/// Loads a page in a window of this width; `fragment` may be empty. The error is the reason why there is no
/// browser or why it failed.
pub fn open(page: &Path, fragment: &str, width: u32) -> Result<Opened, String> {
    open_in(page, fragment, width, Scheme::Light)
}

/// The colours that the user prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// The same for a user who prefers these colours.
pub fn open_in(page: &Path, fragment: &str, width: u32, scheme: Scheme) -> Result<Opened, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let log = folder.path().join("net.json");
    let (dom, err) = (folder.path().join("dom"), folder.path().join("err"));
    let file = |path: &Path| std::fs::File::create(path).map_err(|error| error.to_string());
    let mut command = command(&folder.path().join("profile"))?;
    command
        .args(["--enable-logging=stderr", "--virtual-time-budget=60000", "--dump-dom"])
        .arg(format!("--blink-settings=preferredColorScheme={}", u8::from(scheme == Scheme::Light)))
        .arg(format!("--window-size={width},900"))
        .arg(format!("--log-net-log={}", log.display()))
        .arg(format!("file://{}{fragment}", page.display()))
        .stdout(file(&dom)?)
        .stderr(file(&err)?);
    wait(&mut command)?;
    let read = |path: &Path| {
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        Ok::<String, String>(String::from_utf8_lossy(&bytes).into_owned())
    };
    let log_text = read(&err)?;
    let console =
        log_text.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    Ok(Opened { dom: read(&dom)?, console, requests: requests(&read(&log)?) })
}

/// The browser, headless and without network or background tasks, with its data in the folder `profile`. The
/// caller adds the page and the output format. The error is the reason why there is no browser.
pub fn command(profile: &Path) -> Result<Command, String> {
    let mut command = Command::new(browser()?);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--no-first-run", "--disable-background-networking", "--disable-component-update"])
        .args(["--disable-sync", "--disable-extensions", "--disable-default-apps"])
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .arg(format!("--user-data-dir={}", profile.display()))
        .stdin(Stdio::null());
    Ok(command)
}

fn browser() -> Result<&'static str, String> {
    let is_installed = |name: &&str| {
        let mut probe = Command::new(name);
        probe.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    };
    NAMES
        .into_iter()
        .find(is_installed)
        .ok_or_else(|| "no chromium (scripts/setup report installs it)".to_owned())
}

/// Limits the browser's run time so that a hang does not block the tests.
fn wait(command: &mut Command) -> Result<(), String> {
    const LONGEST: Duration = Duration::from_secs(180);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let began = Instant::now();
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("chromium ended with {status}")),
            None if began.elapsed() > LONGEST => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("chromium did not end within {} s", LONGEST.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Addresses that the page requested, from the browser's network log with one event per line: the browser's
/// own requests (updates, the time) have no origin.
fn requests(log: &str) -> Vec<String> {
    let own = log.lines().filter(|line| !line.contains("\"initiator\":\"not an origin\""));
    let of_page = own.filter(|line| line.contains("\"initiator\":"));
    let address = |line: &str| Some(line.split_once("\"url\":\"")?.1.split('"').next()?.to_owned());
    of_page.filter_map(address).filter(|address| !address.starts_with("file:")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(body: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.html");
        std::fs::write(&page, format!("<!doctype html><body>{body}</body>")).unwrap();
        (folder, page)
    }

    #[test]
    fn a_page_s_document_console_and_requests_are_returned() {
        let body = "<p id=a></p><img src=\"http://assay.invalid/x.png\"><script>\
                    document.getElementById('a').textContent = 'done' + location.hash;\
                    console.error('odd');</script>";
        let (_folder, page) = written(body);
        match open(&page, "#there", 800) {
            Ok(opened) => {
                assert!(opened.dom.contains("done#there"), "{}", opened.dom);
                assert!(opened.console.iter().any(|line| line.contains("odd")), "{opened:?}");
                assert!(
                    opened.requests.iter().any(|url| url.contains("assay.invalid")),
                    "{opened:?}"
                );
            }
            Err(why) => crate::skip("a_page_s_document_console_and_requests", &why),
        }
    }
}
