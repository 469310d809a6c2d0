//! The keys of a study file. The checker and the JSON schema both use these tables, so they cannot
//! disagree.

/// One key of a table.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
    /// One line for the schema and for messages.
    pub(crate) about: &'static str,
}

/// The type of a key's value.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// A text.
    Text,
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of these words, or a template.
    TemplatedWords(&'static [&'static str]),
    /// `true` or `false`.
    Boolean,
    /// `true` or `false`, or a template.
    TemplatedBoolean,
    /// A whole number.
    Whole,
    /// A whole number, or a template.
    TemplatedWhole,
    /// An amount of data, or a template.
    Size,
    /// A duration with its unit.
    Duration,
    /// A percentage, or a fraction.
    Percent,
    /// A number.
    Number,
    /// Tables of the study itself, which replace or add keys.
    Overlay,
    /// A number, a text or a boolean.
    Scalar,
    /// A text, or a list of texts.
    Texts,
    /// A table of names with a scalar each.
    Scalars,
    /// A text, or a table of names with a scalar each.
    TextOrScalars,
    /// A table of knobs with a scalar or a list of scalars each.
    Knobs,
    /// A table of names with a list of scalars each.
    Factors,
    /// A list of tables of names with a scalar or a list of scalars each.
    Combinations,
    /// A table of names with a scalar or a list of scalars each.
    Arguments,
    /// A table with these keys.
    Table(&'static [Key]),
    /// A table of names, each a table with these keys.
    Named(&'static [Key]),
    /// A list of tables with these keys.
    List(&'static [Key]),
    /// A table of sysctls with a scalar each.
    Sysctls,
    /// A word, or a table of settings of transparent huge pages with a scalar each.
    HugePages,
}

pub(crate) const ORDERS: &[&str] = &["random", "given", "interleaved"];
pub(crate) const STOPS: &[&str] = &["decided", "at_most"];
pub(crate) const DISK_SOURCES: &[&str] = &["loop", "block", "directory", "null_blk"];
pub(crate) const FORMATS: &[&str] = &["none", "ext4", "xfs"];
pub(crate) const ENDS: &[&str] = &["first", "all", "time"];
pub(crate) const MEASURES: &[&str] = &assay_record::terms::MEASURE_NAMES;
pub(crate) const RELATIONS: &[&str] = &assay_record::terms::RelationKind::NAMES;

/// Which pairs of levels are compared.
pub(crate) const PAIRS: &[&str] = &["all", "first"];

/// Optional sources that a study can add to those of every run (docs/sampling.md).
pub(crate) const SAMPLED: &[&str] =
    &["threads", "pages", "memory_stat", "pagetypeinfo", "perf", "uncore"];

const fn required(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, shape, required: true, about }
}

const fn optional(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, shape, required: false, about }
}

pub(crate) static STUDY: &[Key] = &[
    required("title", Shape::Text, "one line for lists and report titles"),
    optional("question", Shape::Text, "the question that the study answers"),
    optional("factors", Shape::Factors, "what varies; every combination is a trial"),
    optional("design", Shape::Table(DESIGN), "order, length and number of trials"),
    optional("sampling", Shape::Table(SAMPLING), "additional sources, the interval, and evidence"),
    optional("disks", Shape::Named(DISK), "scratch disks"),
    optional("groups", Shape::List(&GROUP), "the control groups that share the machine"),
    optional("workloads", Shape::Named(WORKLOAD), "what runs in the groups"),
    optional("promises", Shape::List(PROMISE), "what should hold"),
    optional(
        "published",
        Shape::Overlay,
        "keys of the study with the document's own sizes and times, for `--published`",
    ),
    optional("references", Shape::List(REFERENCE), "published numbers to show beside the results"),
    optional("sysctls", Shape::Sysctls, "sysctls set during each repeat"),
    optional("thp", Shape::HugePages, "transparent huge pages during each repeat"),
    optional("drop_caches", Shape::Scalar, "drops caches before each repeat"),
];

pub(crate) static DESIGN: &[Key] = &[
    optional("repeats", Shape::Whole, "how often each combination runs at most; 24 by default"),
    optional("order", Shape::Words(ORDERS), "the order of trials; `random` by default"),
    optional(
        "warm_up",
        Shape::Duration,
        "time cut from the start of a repeat: `auto` or a duration",
    ),
    optional("at_most", Shape::Duration, "the longest time of a repeat; `3 s` by default"),
    optional("ends", Shape::Words(ENDS), "which workload's end ends a repeat; `first` by default"),
    optional("stop", Shape::Words(STOPS), "when a trial ends; `decided` by default"),
    optional("leave_out", Shape::Combinations, "combinations of levels to leave out"),
];

pub(crate) static SAMPLING: &[Key] = &[
    optional("sources", Shape::Texts, "optional sources"),
    optional("interval", Shape::Duration, "time between two rounds; `100 ms` by default"),
    optional("evidence", Shape::Boolean, "whether the kernel shows where each group waited"),
];

pub(crate) static DISK: &[Key] = &[
    required("use", Shape::Words(DISK_SOURCES), "where the disk comes from"),
    optional(
        "size",
        Shape::Size,
        "its size, or `auto` to follow from the files of its workloads; required for `loop` and `null_blk`",
    ),
    optional(
        "iops",
        Shape::TemplatedWhole,
        "requests per second of a `null_blk`; not limited by default",
    ),
    optional("depth", Shape::TemplatedWhole, "queue depth of a `null_blk`"),
    optional("device", Shape::Text, "the block device, for `use = \"block\"`"),
    optional(
        "erase",
        Shape::Text,
        "serial number, size or signature of a block device with data, to allow erasing it",
    ),
    optional("path", Shape::Text, "the directory, for `use = \"directory\"`"),
    optional("format", Shape::TemplatedWords(FORMATS), "the file system; `none` by default"),
    optional("partitions", Shape::TemplatedWhole, "the number of partitions; 0 by default"),
    optional("scheduler", Shape::Text, "the I/O scheduler; unchanged by default"),
    optional("queue", Shape::Scalars, "further attributes below /sys/block/X/queue/"),
];

/// An array rather than a slice: a static may refer to its own address, but not to its own value.
pub(crate) static GROUP: [Key; 10] = [
    required("name", Shape::Text, "the control group's name"),
    optional(
        "existing",
        Shape::Text,
        "the unit, container, pod or path of a group that exists: it is only read",
    ),
    optional("count", Shape::TemplatedWhole, "the number of members; 1 by default"),
    optional("knobs", Shape::Knobs, "interface files and their values, one per member in turn"),
    optional("run", Shape::Texts, "the workloads that run in each member"),
    optional("disk", Shape::Text, "the disk that its workloads use"),
    optional("measured", Shape::Boolean, "whether promises include it; true by default"),
    optional(
        "outside",
        Shape::TemplatedBoolean,
        "whether its workloads run outside of all groups of the run",
    ),
    optional("groups", Shape::List(&GROUP), "groups inside each member"),
    optional("place", Shape::Table(PLACE), "CPUs and memory policy"),
];

pub(crate) static WORKLOAD: &[Key] = &[
    required("use", Shape::Words(&crate::workload::NAMES), "the tool"),
    optional("args", Shape::Arguments, "the tool's own options"),
    optional("jobfile", Shape::Text, "an existing fio job file, instead of `args`"),
    optional("section", Shape::Text, "the only section of `jobfile` to run"),
    optional("command", Shape::Texts, "the program and its arguments, for `use = \"command\"`"),
    optional("metrics", Shape::Named(METRIC), "metrics in the output of a `command`"),
    optional("creates", Shape::Size, "how much a `command` writes to its disk"),
    optional("prepare", Shape::Texts, "workloads that run to completion before the start"),
    optional("after", Shape::Text, "starts when this workload has ended, or after a duration"),
    optional("place", Shape::Table(PLACE), "CPUs and memory policy; overrides that of the group"),
    optional("user", Shape::Text, "the user it runs as: a name, a number or `UID:GID`"),
];

pub(crate) static PLACE: &[Key] = &[
    optional("cpus", Shape::Scalar, "a list, `siblings`, `separate cores` or `node:0`"),
    optional("memory", Shape::Text, "a memory policy such as `bind:0` or `interleave:0-1`"),
    optional("huge_pages", Shape::Text, "`default`, `advised` or `never`"),
];

pub(crate) static METRIC: &[Key] = &[
    optional("pattern", Shape::Text, "a regular expression with the number in parentheses"),
    optional("json", Shape::Text, "a pointer into the last JSON document, such as `/ops`"),
];

pub(crate) static PROMISE: &[Key] = &[
    required("measure", Shape::Text, "what is measured"),
    required("is", Shape::Text, "the relation that should hold"),
    optional(
        "to",
        Shape::TextOrScalars,
        "the knob that sets shares or the bound; for `ratio` the levels to divide by",
    ),
    optional("of", Shape::Scalars, "the levels of factors that `ratio` divides by those in `to`"),
    optional("at_least", Shape::Number, "the lower bound of the ratio"),
    optional("at_most", Shape::Number, "the upper bound of the ratio"),
    optional("over", Shape::Text, "the factor over whose levels the measure is `equal`"),
    optional("pairs", Shape::Words(PAIRS), "which pairs of levels are compared; `all` by default"),
    optional("group", Shape::Text, "the group to compare across trials; all by default"),
    optional("under", Shape::Scalars, "the levels of factors to which the promise applies"),
    optional("value", Shape::Scalar, "the bound, for relations that have one, without `to`"),
    optional("within", Shape::Percent, "the margin, relative to the expected value"),
    optional(
        "every",
        Shape::Duration,
        "the length of the spans in which it should hold, such as `1 s`; on average by default",
    ),
    optional(
        "in",
        Shape::Percent,
        "the fraction of spans in which it should hold; `95 %` by default",
    ),
];

pub(crate) static REFERENCE: &[Key] = &[
    required("what", Shape::Text, "what the number is, in one line"),
    required("value", Shape::Number, "the number"),
    required("unit", Shape::Text, "its unit"),
    required("source", Shape::Text, "where it is published: a document, a page, a table"),
    optional("measure", Shape::Text, "the measure to show beside it"),
    optional("group", Shape::Text, "the group to show beside it; all by default"),
    optional("under", Shape::Scalars, "the levels of factors to which it belongs"),
    optional("to", Shape::Scalars, "the levels to divide by, for a ratio"),
];
