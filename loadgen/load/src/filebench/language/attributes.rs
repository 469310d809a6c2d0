//! The attributes of each language element: one table for the parser, its suggestions and the
//! tests.

/// Attributes of `define fileset`. `cached` is from 1.4 and had no effect there on Linux: it
/// advised Solaris.
pub(in crate::filebench) const FILE_SET: &[&str] = &[
    "name",
    "path",
    "entries",
    "size",
    "filesize",
    "dirwidth",
    "dirdepthrv",
    "dirgamma",
    "leafdirs",
    "prealloc",
    "paralloc",
    "reuse",
    "trusttree",
    "readonly",
    "writeonly",
    "cached",
];
/// Attributes of `define file`.
pub(in crate::filebench) const FILE: &[&str] = &[
    "name",
    "path",
    "size",
    "filesize",
    "prealloc",
    "paralloc",
    "reuse",
    "trusttree",
    "readonly",
    "writeonly",
    "cached",
];
pub(in crate::filebench) const PROCESS: &[&str] = &["name", "instances", "nice"];
pub(in crate::filebench) const THREAD: &[&str] =
    &["name", "memsize", "useism", "instances", "ioprio"];
pub(in crate::filebench) const FLOW_OP: &[&str] = &[
    "name",
    "filesetname",
    "filename",
    "fd",
    "srcfd",
    "iosize",
    "iters",
    "random",
    "dsync",
    "directio",
    "workingset",
    "opennext",
    "indexed",
    "target",
    "value",
    "blocking",
    "highwater",
    "noreadahead",
];
pub(in crate::filebench) const COMPOSITE: &[&str] = &["name", "iters"];
/// Attributes of `randvar`; `name` belongs to `define randvar` of 1.4.
pub(in crate::filebench) const RANDOM: &[&str] =
    &["name", "type", "seed", "gamma", "mean", "min", "round", "randsrc", "randtable"];
pub(in crate::filebench) const CUSTOM: &[&str] = &["type", "parameters", "min", "max", "round"];
pub(in crate::filebench) const EVENT_GENERATOR: &[&str] = &["rate"];
pub(in crate::filebench) const MULTI: &[&str] = &["master", "client"];
pub(in crate::filebench) const MULTI_SYNC: &[&str] = &["value"];

/// Keywords that begin a command; after a mistake, parsing resumes at one of them.
pub(in crate::filebench) const COMMANDS: &[&str] = &[
    "create",
    "define",
    "debug",
    "domultisync",
    "echo",
    "enable",
    "eventgen",
    "list",
    "load",
    "psrun",
    "quit",
    "run",
    "set",
    "sleep",
    "system",
    "usage",
    "version",
];
