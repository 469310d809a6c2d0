//! The studies used by the bench.

use std::path::Path;

/// Settings of every disk's queue.
const QUEUE: &str = "scheduler = \"bfq\"\nqueue     = { \"iosched/low_latency\" = 0 }";

/// A study needs a promise; its verdict is ignored.
const PROMISE: &str = "[[promises]]\nmeasure = \"io.bytes\"\nis = \"equal\"\nwithin = \"50 %\"";

/// Many groups with one fio process each on one loop disk.
pub(crate) fn many_groups(groups: u32, repeats: usize, seconds: f64) -> String {
    format!(
        r#"title = "Start and sampling of many groups"
[factors]
groups = [{groups}]
[design]
repeats = {repeats}
warm_up = "1 s"
at_most = "{seconds} s"
[disks.scratch]
use  = "loop"
size = "1 GiB"
{QUEUE}
[[groups]]
name  = "task"
count = "{{groups}}"
knobs = {{ "io.weight" = [100, 200, 400, 800] }}
run   = "reader"
[workloads.reader]
use  = "fio"
args = {{ rw = "randread", bs = "4k", ioengine = "libaio", iodepth = 1, direct = 1, size = "1/{{groups}}" }}
{PROMISE}
"#
    )
}

/// One group on an existing disk.
pub(crate) fn one_group(device: &Path, bytes: u64, seconds: f64) -> String {
    format!(
        r#"title = "One reader, with Assay around it"
[design]
repeats = 1
warm_up = "1 s"
at_most = "{seconds} s"
[disks.scratch]
use    = "block"
device = "{}"
erase  = "{bytes}"
{QUEUE}
[[groups]]
name = "task"
run  = "reader"
[workloads.reader]
use  = "fio"
args = {{ rw = "randread", bs = "4k", ioengine = "libaio", iodepth = 8, direct = 1 }}
{PROMISE}
"#,
        device.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistakes(text: &str) -> Vec<String> {
        let nothing = |_: &str| Err("no files here".to_owned());
        let (_, findings) = assay_study::parse("bench", text, &nothing);
        findings.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn the_studies_have_no_errors() {
        assert_eq!(mistakes(&many_groups(128, 5, 5.0)), Vec::<String>::new());
        assert_eq!(
            mistakes(&one_group(Path::new("/dev/loop9"), 1 << 29, 4.0)),
            Vec::<String>::new()
        );
    }
}
