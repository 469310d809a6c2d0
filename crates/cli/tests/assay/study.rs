//! Small studies: disks of some mebibytes, windows of some seconds.

use std::path::{Path, PathBuf};

use crate::bench::Bench;

/// A study of I/O weights, with the parts that tests vary.
pub(crate) struct Weights {
    /// The lines of `[disks.scratch]`.
    pub(crate) disk: String,
    pub(crate) groups: u32,
    pub(crate) at_most: &'static str,
    /// The lines of `[workloads.reader]`.
    pub(crate) workload: String,
    /// Whether the groups get weights and a promise.
    pub(crate) weighted: bool,
}

impl Weights {
    /// Four groups read at random from an image of 64 MiB.
    pub(crate) fn small() -> Self {
        Self {
            disk: loop_disk(64),
            groups: 4,
            at_most: "2 s",
            workload: "use = \"fio\"\nargs = { rw = \"randread\", bs = \"4k\", ioengine = \
                       \"libaio\", iodepth = 8, direct = 1 }"
                .to_owned(),
            weighted: true,
        }
    }

    pub(crate) fn text(&self) -> String {
        let Self { disk, groups, at_most, workload, .. } = self;
        let (knobs, promise) = match self.weighted {
            true => (
                "knobs = { \"io.weight\" = [100, 200, 400, 800] }",
                "[[promises]]\nmeasure = \"io.bytes\"\nis = \"proportional\"\n\
                 to = \"io.weight\"\nwithin = \"10 %\"\n",
            ),
            false => {
                ("", "[[promises]]\nmeasure = \"io.bytes\"\nis = \"equal\"\nwithin = \"10 %\"\n")
            }
        };
        format!(
            "title = \"Weights in a test\"\n[design]\nrepeats = 1\nat_most = \"{at_most}\"\n\
             [disks.scratch]\n{disk}\n[[groups]]\nname = \"task\"\ncount = {groups}\n{knobs}\n\
             run = \"reader\"\n[workloads.reader]\n{workload}\n{promise}"
        )
    }
}

/// An image of this many mebibytes under BFQ.
pub(crate) fn loop_disk(mebi: u32) -> String {
    format!(
        "use = \"loop\"\nsize = \"{mebi} MiB\"\nscheduler = \"bfq\"\n\
         queue = {{ \"iosched/low_latency\" = 0 }}"
    )
}

/// An image with file systems on partitions.
pub(crate) fn loop_disk_with_ext4(mebi: u32, partitions: u32) -> String {
    format!("{}\nformat = \"ext4\"\npartitions = {partitions}", loop_disk(mebi))
}

/// Writes a shipped file with smaller sizes, under the same name in the folder of the test.
pub(crate) fn shipped_with(bench: &Bench, name: &str, sizes: &[(&str, &str)]) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies").join(name);
    let mut text = std::fs::read_to_string(path).unwrap();
    for (shipped, here) in sizes {
        assert!(text.contains(shipped), "{name} does not say `{shipped}` any more");
        text = text.replace(shipped, here);
    }
    bench.write(name, &text)
}
