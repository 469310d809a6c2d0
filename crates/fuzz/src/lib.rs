//! Fuzz targets: every reader of external input but those of `assay-load`, which has its own.
#![allow(clippy::expect_used)]

mod targets;

pub use targets::TARGETS;
