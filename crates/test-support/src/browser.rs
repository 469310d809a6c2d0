//! Pages in a real browser, without a network: what became of them, what they complained about,
//! and what they asked for.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Names under which Chromium is installed.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A page after its scripts have run.
#[derive(Debug)]
pub struct Opened {
    /// The document as it stands then, as markup.
    pub dom: String,
    /// Lines that scripts and the browser wrote to the console.
    pub console: Vec<String>,
    /// Addresses that were asked for over a network.
    pub requests: Vec<String>,
}

/// Opens a page with a window of this width; `fragment` may be empty. An error says why there is
/// no browser or why it did not come to its end.
pub fn open(page: &Path, fragment: &str, width: u32) -> Result<Opened, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let log = folder.path().join("net.json");
    let (dom, err) = (folder.path().join("dom"), folder.path().join("err"));
    let file = |path: &Path| std::fs::File::create(path).map_err(|error| error.to_string());
    let mut command = command(&folder.path().join("profile"))?;
    command
        .args(["--enable-logging=stderr", "--virtual-time-budget=60000", "--dump-dom"])
        .arg(format!("--window-size={width},2000"))
        .arg(format!("--log-net-log={}", log.display()))
        .arg(format!("file://{}{fragment}", page.display()))
        .stdout(file(&dom)?)
        .stderr(file(&err)?);
    wait(&mut command)?;
    let read = |path: &Path| {
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        Ok::<String, String>(String::from_utf8_lossy(&bytes).into_owned())
    };
    let said = read(&err)?;
    let console = said.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    Ok(Opened { dom: read(&dom)?, console, requests: requests(&read(&log)?) })
}

/// The browser without a window, a network, or anything of its own to do; what it keeps goes into
/// the folder `profile`. What it is to open, and what of it, is left to say. An error says why
/// there is none.
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
    let there = |name: &&str| {
        let mut asked = Command::new(name);
        asked.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    };
    NAMES
        .into_iter()
        .find(there)
        .ok_or_else(|| "no chromium (scripts/setup report installs it)".to_owned())
}

/// A browser that hangs must not hang the tests.
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

/// Addresses that the page asked for, from the browser's log of its network, an event a line: what
/// the browser asks for of its own accord (updates, the time) has no origin.
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
    fn sees_what_a_page_did_what_it_complained_about_and_what_it_asked_for() {
        let body = "<p id=a></p><img src=\"http://assay.invalid/x.png\"><script>\
                    document.getElementById('a').textContent = 'done' + location.hash;\
                    console.error('odd');</script>";
        let (_folder, page) = written(body);
        match open(&page, "#there", 800) {
            Ok(seen) => {
                assert!(seen.dom.contains("done#there"), "{}", seen.dom);
                assert!(seen.console.iter().any(|line| line.contains("odd")), "{seen:?}");
                assert!(seen.requests.iter().any(|url| url.contains("assay.invalid")), "{seen:?}");
            }
            Err(why) => crate::skip("sees_what_a_page_did", &why),
        }
    }
}
