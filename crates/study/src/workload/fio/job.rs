//! One fio job: options from the study, completed with those that Assay sets.

use assay_sys::units::Bytes;

/// Where the I/O of a job goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A part of a block device used by this group only.
    Device {
        /// `/dev/loop0` or a partition of it.
        path: String,
        /// Start of the group's part.
        offset: Bytes,
        /// Length of the group's part.
        size: Bytes,
    },
    /// A directory used by this group only.
    Directory {
        /// Its path.
        path: String,
        /// How much the group may write there.
        size: Bytes,
    },
}

/// Options that say where a job's I/O goes.
const TARGET_OPTIONS: [&str; 6] =
    ["filename", "directory", "opendir", "offset", "fileoffset", "offset_increment"];

/// Files of this multiple suit direct I/O.
const BLOCK: u64 = 4096;

/// A job's name and options, in order. Later options override earlier ones, as in fio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Section name.
    pub name: String,
    /// Option and value; an option without a value (`time_based`) has `None`.
    pub options: Vec<(String, Option<String>)>,
}

impl Job {
    /// The last value of an option.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        let entry = self.options.iter().rev().find(|(option, _)| option == name)?;
        Some(entry.1.as_deref().unwrap_or("1").trim())
    }

    /// Sets an option, replacing earlier values.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.options.retain(|(option, _)| option != name);
        self.options.push((name.to_owned(), Some(value.into())));
    }

    /// Removes an option; returns whether it was set.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.options.len();
        self.options.retain(|(option, _)| option != name);
        self.options.len() < before
    }

    /// How much its files have in all: the `filesize` of each, of a range the most, or else its `size`.
    #[must_use]
    pub fn amount(&self, whole: Bytes) -> Option<Bytes> {
        let of = |name| parse_size(self.option(name)?.rsplit('-').next()?, whole);
        let number = || self.option("nrfiles").and_then(|text| text.parse().ok()).unwrap_or(1);
        let files =
            Some(self.names().count() as u64).filter(|files| *files > 0).unwrap_or_else(number);
        let all = |one: Bytes| Bytes::new(one.get().saturating_mul(files));
        of("filesize").map(all).or_else(|| of("size")).filter(|amount| amount.get() > 0)
    }

    /// How many processes or threads fio makes of it.
    #[must_use]
    pub fn processes(&self) -> u64 {
        self.option("numjobs").and_then(|text| text.parse().ok()).unwrap_or(1).max(1)
    }

    /// How often there are its files: all its processes share those that it names.
    #[must_use]
    pub fn copies(&self) -> u64 {
        if self.names().next().is_some() { 1 } else { self.processes() }
    }

    /// The files that it names, each as written.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let written = self.options.iter().filter(|(option, _)| option == "filename");
        written.filter_map(|(_, value)| value.as_deref()).flat_map(split)
    }

    /// Replaces a `size` that is a fraction of the disk (`1/4`, an extension of Assay) by bytes, if
    /// each of `sharers` groups has `part` of it.
    pub fn resolve_fraction(&mut self, part: Bytes, sharers: u64) {
        let Some((numerator, denominator)) = self.option("size").and_then(fraction) else { return };
        let whole = u128::from(part.get()) * u128::from(sharers);
        let bytes = whole * u128::from(numerator) / u128::from(denominator);
        self.set("size", bytes.to_string());
    }

    /// The options that [`Self::set_target`] replaces, as written: `filename=/dev/sdb`.
    #[must_use]
    pub fn targets(&self) -> Vec<String> {
        let value = |name: &&str| Some(format!("{name}={}", self.option(name)?));
        TARGET_OPTIONS.iter().filter_map(value).collect()
    }

    /// Directs the job's I/O to `target`. Without a size all its files become the whole part of the group, a
    /// percentage is relative to that part, and a size in bytes is kept. Named files keep their names.
    pub fn set_target(&mut self, target: &Target) {
        let (Target::Device { size: whole, .. } | Target::Directory { size: whole, .. }) = target;
        let copies = if matches!(target, Target::Directory { .. }) { self.copies() } else { 1 };
        let size = self.amount(*whole).unwrap_or(Bytes::new(whole.get() / copies / BLOCK * BLOCK));
        let names: Vec<String> = self.names().collect();
        for option in TARGET_OPTIONS {
            self.remove(option);
        }
        match target {
            Target::Device { path, offset, .. } => {
                self.set("filename", escape(path));
                self.set("offset", offset.get().to_string());
                // Of a device it would count from the beginning, and not from the offset.
                self.remove("filesize");
            }
            Target::Directory { path, .. } => {
                self.set("directory", escape(path));
                if !names.is_empty() {
                    self.set("filename", without_folders(&names).join(":"));
                }
            }
        }
        if self.option("filesize").is_none() {
            self.set("size", size.get().to_string());
        }
    }

    /// The text of a job file with this job only.
    #[must_use]
    pub fn to_job_file(&self) -> String {
        let mut text = format!("[{}]\n", self.name);
        for (option, value) in &self.options {
            text.push_str(option);
            if let Some(value) = value {
                text.push('=');
                text.push_str(value);
            }
            text.push('\n');
        }
        text
    }
}

/// Parses `1/4` into its two numbers; `None` unless it is a fraction above 0 and at most 1.
#[must_use]
pub fn fraction(text: &str) -> Option<(u32, u32)> {
    let (numerator, denominator) = text.split_once('/')?;
    let numbers: (u32, u32) = (numerator.trim().parse().ok()?, denominator.trim().parse().ok()?);
    (1..=numbers.1).contains(&numbers.0).then_some(numbers)
}

/// Parses a size as fio options write it.
#[must_use]
pub fn parse_size(text: &str, whole: Bytes) -> Option<Bytes> {
    if let Some(percent) = text.strip_suffix('%') {
        let percent: u64 = percent.trim().parse().ok()?;
        return Some(Bytes::new(whole.get() / 100 * percent.min(100)));
    }
    // Units of one letter are written in both cases.
    text.parse().or_else(|_| text.to_ascii_lowercase().parse()).ok()
}

/// The names in a value of `filename`.
fn split(value: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    for (index, c) in value.trim().char_indices() {
        match (c, names.last_mut()) {
            (':', _) if !value.trim()[..index].ends_with('\\') => names.push(String::new()),
            (c, Some(name)) => name.push(c),
            (_, None) => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// The last part of each path, or the whole path if another one ends in the same.
fn without_folders(names: &[String]) -> Vec<String> {
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let own = |name: &String| {
        let own = last(name);
        let is_taken = names.iter().any(|other| other != name && last(other) == own);
        if is_taken || ["", ".", ".."].contains(&own.as_str()) {
            name.replace('/', "-")
        } else {
            own
        }
    };
    names.iter().map(own).collect()
}

/// fio splits `filename` and `directory` at `:` unless it is escaped.
fn escape(path: &str) -> String {
    path.replace(':', "\\:")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job {
            name: "task1".to_owned(),
            options: vec![
                ("rw".to_owned(), Some("read".to_owned())),
                ("time_based".to_owned(), None),
                ("directory".to_owned(), Some("/mnt/task1".to_owned())),
                ("size".to_owned(), Some("128M".to_owned())),
            ],
        }
    }

    #[test]
    fn sizes_are_read_as_fio_writes_them_and_as_studies_do() {
        let size = |text: &str| parse_size(text, Bytes::mebi(100)).map(Bytes::get);
        for text in ["128M", "128m", "128 MiB", "128MiB"] {
            assert_eq!(size(text), Some(128 << 20), "{text}");
        }
        assert_eq!((size("50%"), size("much")), (Some(50 << 20), None));
    }

    #[test]
    fn the_part_of_a_device_replaces_the_target_of_the_file() {
        let mut job = job();
        job.set_target(&Target::Device {
            path: "/dev/loop0".to_owned(),
            offset: Bytes::mebi(256),
            size: Bytes::mebi(256),
        });
        assert_eq!(
            job.to_job_file(),
            "[task1]\nrw=read\ntime_based\nfilename=/dev/loop0\noffset=268435456\nsize=134217728\n"
        );
    }

    #[test]
    fn nothing_of_a_file_leads_outside_of_its_part() {
        let mut job = job();
        for option in ["opendir", "offset_increment", "fileoffset"] {
            job.set(option, "1G");
        }
        assert_eq!(
            job.targets(),
            ["directory=/mnt/task1", "opendir=1G", "fileoffset=1G", "offset_increment=1G"]
        );
        job.set_target(&Target::Directory { path: "/own".to_owned(), size: Bytes::mebi(1) });
        assert_eq!(job.targets(), ["directory=/own"]);
    }

    fn with(options: &[(&str, &str)]) -> Job {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), Some((*value).to_owned()));
        Job { name: "a".to_owned(), options: options.iter().map(owned).collect() }
    }

    /// As fio 3.33 with `numjobs=2`, which makes two files of 1 MiB.
    #[test]
    fn without_a_size_that_of_each_file_counts() {
        let amount =
            |options: &[(&str, &str)]| with(options).amount(Bytes::mebi(100)).map(Bytes::get);
        assert_eq!(amount(&[("filesize", "1M")]), Some(1 << 20));
        assert_eq!(amount(&[("filesize", "4k-1m"), ("nrfiles", "3")]), Some(3 << 20));
        assert_eq!(amount(&[("filesize", "1M"), ("size", "50%")]), Some(1 << 20));
        assert_eq!(
            amount(&[("filesize", "1M"), ("filename", "a:b\\:c"), ("nrfiles", "7")]),
            Some(2 << 20)
        );
        assert_eq!([amount(&[("nrfiles", "3")]), amount(&[("size", "0")])], [None; 2]);
    }

    /// All processes of a job use the same named files, and files of their own otherwise (`add_job` in fio 3.33).
    #[test]
    fn named_files_keep_their_names_below_the_directory() {
        let of = |names: &str| {
            let mut job = with(&[("filename", names), ("size", "4k")]);
            job.set_target(&Target::Directory { path: "/own".to_owned(), size: Bytes::mebi(1) });
            job.option("filename").map(str::to_owned)
        };
        assert_eq!(of("/mnt/x").as_deref(), Some("x"));
        assert_eq!(of("/a/x:/b/x:y\\:z").as_deref(), Some("-a-x:-b-x:y\\:z"));
        assert_eq!(of("../..").as_deref(), Some("..-.."));
        assert_eq!(of(":"), None);
    }

    #[test]
    fn without_a_size_the_files_of_all_processes_fill_the_part() {
        let of = |options: &[(&str, &str)]| {
            let mut job = with(options);
            job.set_target(&Target::Directory { path: "/own".to_owned(), size: Bytes::mebi(3) });
            job.option("size").map(str::to_owned)
        };
        assert_eq!(of(&[("numjobs", "2")]).as_deref(), Some("1572864"));
        assert_eq!(of(&[("numjobs", "2"), ("filename", "x")]).as_deref(), Some("3145728"));
    }

    /// fio takes `filesize` of a device from its beginning: with an offset the region was smaller, or refused.
    #[test]
    fn the_size_of_files_stays_in_a_directory_and_is_the_size_on_a_device() {
        let mut job = with(&[("filesize", "1M"), ("size", "50%")]);
        let (path, size) = ("/own".to_owned(), Bytes::mebi(8));
        let mut on_device = job.clone();
        job.set_target(&Target::Directory { path: path.clone(), size });
        assert_eq!((job.option("filesize"), job.option("size")), (Some("1M"), Some("50%")));
        on_device.set_target(&Target::Device { path, offset: Bytes::mebi(8), size });
        assert_eq!(
            (on_device.option("filesize"), on_device.option("size")),
            (None, Some("1048576"))
        );
    }

    #[test]
    fn a_fraction_is_relative_to_the_disk_of_all_sharers() {
        let resolved = |text: &str| {
            let mut job =
                Job { name: "a".to_owned(), options: vec![("size".to_owned(), Some(text.into()))] };
            job.resolve_fraction(Bytes::mebi(256), 4);
            job.option("size").unwrap().to_owned()
        };
        assert_eq!(resolved("1/4"), Bytes::mebi(256).get().to_string());
        assert_eq!(resolved("1 / 16"), Bytes::mebi(64).get().to_string());
        assert_eq!(resolved("3/4"), Bytes::mebi(768).get().to_string());
        assert_eq!(resolved("50%"), "50%");
        assert_eq!([fraction("0/4"), fraction("5/4"), fraction("1/0")], [None; 3]);
    }

    #[test]
    fn sizes_are_amounts_or_percentages() {
        let whole = Bytes::mebi(64);
        assert_eq!(parse_size("50%", whole).map(Bytes::get), Some(whole.get() / 100 * 50));
        assert_eq!(parse_size("1G", whole), Some(Bytes::mebi(1024)));
        assert_eq!(parse_size("lots", whole), None);
    }

    #[test]
    fn a_colon_in_a_path_is_not_a_second_file() {
        let mut job = job();
        job.set_target(&Target::Directory {
            path: "/run:1/task1".to_owned(),
            size: Bytes::mebi(1),
        });
        assert_eq!(job.option("directory"), Some("/run\\:1/task1"));
    }
}
