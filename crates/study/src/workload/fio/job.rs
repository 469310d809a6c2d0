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
        Some(entry.1.as_deref().unwrap_or("1"))
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

    /// How much it reads and writes in all: its `size`, or else `filesize` for each of `nrfiles`, of a range the most.
    #[must_use]
    pub fn amount(&self, whole: Bytes) -> Option<Bytes> {
        let of = |name| parse_size(self.option(name)?.rsplit('-').next()?, whole);
        let files = self.option("nrfiles").and_then(|text| text.trim().parse().ok()).unwrap_or(1);
        let all = |one: Bytes| Bytes::new(one.get().saturating_mul(files));
        of("size").or_else(|| of("filesize").map(all))
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

    /// Directs the job's I/O to `target`. A missing size becomes the whole part of the group, a
    /// percentage is relative to that part, and a size in bytes is kept.
    pub fn set_target(&mut self, target: &Target) {
        for option in TARGET_OPTIONS {
            self.remove(option);
        }
        let whole = match target {
            Target::Device { path, offset, size } => {
                self.set("filename", escape(path));
                self.set("offset", offset.get().to_string());
                size
            }
            Target::Directory { path, size } => {
                self.set("directory", escape(path));
                size
            }
        };
        let size = self.amount(*whole).unwrap_or(*whole);
        self.set("size", size.get().to_string());
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

    /// As fio 3.33 with `numjobs=2`, which makes two files of 1 MiB.
    #[test]
    fn without_a_size_that_of_each_file_counts() {
        let amount = |options: &[(&str, &str)]| {
            let owned =
                |(name, value): &(&str, &str)| ((*name).to_owned(), Some((*value).to_owned()));
            let job = Job { name: "a".to_owned(), options: options.iter().map(owned).collect() };
            job.amount(Bytes::mebi(100)).map(Bytes::get)
        };
        assert_eq!(amount(&[("filesize", "1M")]), Some(1 << 20));
        assert_eq!(amount(&[("filesize", "4k-1m"), ("nrfiles", "3")]), Some(3 << 20));
        assert_eq!(amount(&[("filesize", "1M"), ("size", "50%")]), Some(50 << 20));
        assert_eq!(amount(&[("nrfiles", "3")]), None);
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
