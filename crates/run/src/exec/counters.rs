//! Counters of the group, read after the command has ended and before the group is removed.

use std::collections::BTreeMap;

use assay_host::cgroup::Tree;
use assay_host::facts::{Available, CORE};
use assay_sys::kernel::counters::{fields, keyed, number, pressure};
use assay_sys::kernel::{Root, parse};

/// The top group of [`Tree`], which is the only one here.
pub(crate) const GROUP: &str = "";

/// The files of one group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counters<'t> {
    pub(crate) root: &'t Root,
    pub(crate) tree: &'t Tree,
    /// Controllers that no hierarchy serves, with the reason.
    pub(crate) absent: &'t BTreeMap<String, String>,
}

impl Counters<'_> {
    /// A file in the hierarchy that serves `controller`.
    pub(crate) fn text(&self, controller: &str, file: &str) -> Available<String> {
        let Some(directory) = self.tree.directory(GROUP, controller) else {
            let why = self.absent.get(controller).map_or("not used here", String::as_str);
            return Available::NotAvailable(format!("controller `{controller}`: {why}"));
        };
        self.read(&directory.join(file), file)
    }

    /// A file of the group on cgroup2, which exists whichever controllers v2 serves.
    pub(crate) fn text_on_v2(&self, file: &str) -> Available<String> {
        match self.tree.v2_directory(GROUP) {
            Some(directory) => self.read(&directory.join(file), file),
            None => {
                let why = self.absent.get(CORE).map_or("cgroup2 is not used here", String::as_str);
                Available::NotAvailable(format!("`{file}` is on cgroup2: {why}"))
            }
        }
    }

    fn read(&self, path: &std::path::Path, file: &str) -> Available<String> {
        use rustix::io::Errno;
        match self.root.read(path) {
            Ok(text) => Available::Value(text),
            Err(error) if error.is(Errno::NOENT) => {
                Available::NotAvailable(format!("this kernel has no `{file}`"))
            }
            Err(error) if error.is(Errno::OPNOTSUPP) => {
                Available::NotAvailable(format!("`{file}` is switched off (boot with psi=1)"))
            }
            Err(error) => Available::NotAvailable(error.to_string()),
        }
    }

    /// The number in a file.
    pub(crate) fn number(&self, controller: &str, file: &str) -> Available<u64> {
        then(self.text(controller, file), file, |text| number(text.as_bytes()))
    }

    /// The number behind a key of a file.
    pub(crate) fn keyed(&self, controller: &str, file: &str, key: &str) -> Available<u64> {
        let what = format!("{key} in {file}");
        then(self.text(controller, file), &what, |text| keyed(text.as_bytes(), key))
    }

    /// The number behind a key of a file on cgroup2.
    pub(crate) fn keyed_on_v2(&self, file: &str, key: &str) -> Available<u64> {
        let what = format!("{key} in {file}");
        then(self.text_on_v2(file), &what, |text| keyed(text.as_bytes(), key))
    }

    /// Microseconds of `some` or `full` stall in a pressure file.
    pub(crate) fn stalled_us(&self, file: &str, kind: &str) -> Available<u64> {
        let what = format!("{kind} in {file}");
        then(self.text_on_v2(file), &what, |text| pressure(text.as_bytes(), kind))
    }
}

/// Parses a text; `what` names the value in the reason if the text does not contain it.
pub(crate) fn then<T>(
    text: Available<String>,
    what: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Available<T> {
    match text {
        Available::Value(text) => parse(&text).map_or_else(
            || Available::NotAvailable(format!("this kernel does not count {what}")),
            Available::Value,
        ),
        Available::NotAvailable(why) => Available::NotAvailable(why),
    }
}

/// The first value that is available, else the second.
pub(crate) fn first<T>(one: Available<T>, other: impl FnOnce() -> Available<T>) -> Available<T> {
    if one.value().is_some() { one } else { other() }
}

/// Maps an available value.
pub(crate) fn map<T, U>(available: Available<T>, change: impl FnOnce(T) -> U) -> Available<U> {
    match available {
        Available::Value(value) => Available::Value(change(value)),
        Available::NotAvailable(why) => Available::NotAvailable(why),
    }
}

/// Ticks of all CPUs together: busy, and total (proc_stat(5)).
pub(crate) fn host_ticks(root: &Root) -> Option<(u64, u64)> {
    let text = root.read("/proc/stat").ok()?;
    let ticks: [u64; 8] = fields(text.as_bytes(), "cpu ")?;
    let all: u64 = ticks.iter().sum();
    Some((all - ticks[3] - ticks[4], all))
}

/// The value of `key` in lines of `key value`, where any white space may follow the key (v1's
/// memory.oom_control).
pub(crate) fn lenient_keyed(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(char::is_whitespace)?;
        (name == key).then(|| value.trim().parse().ok()).flatten()
    })
}

/// The devices named in the lines of v1's blkio files.
pub(crate) fn devices_of_blkio(text: &str) -> Vec<String> {
    let mut devices: Vec<String> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(device, _)| device.contains(':'))
        .map(|(device, _)| device.to_owned())
        .collect();
    devices.dedup();
    devices
}

/// The name of the disk `MAJOR:MINOR`, from sysfs.
pub(crate) fn disk_name(root: &Root, device: &str) -> String {
    let uevent = root.read(format!("/sys/dev/block/{device}/uevent")).unwrap_or_default();
    let name = parse::keyed::shell(&uevent, "DEVNAME");
    name.map_or_else(|| device.to_owned(), str::to_owned)
}
