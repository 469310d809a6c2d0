//! The committed objects are what clang 14 makes of their sources.
