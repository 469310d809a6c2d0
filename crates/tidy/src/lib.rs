//! The invariants of the house, kept by tests and not by care (ARCHITECTURE.md). This crate has
//! no code: its tests read the workspace as text.
