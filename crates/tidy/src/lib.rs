//! Tests of the invariants in ARCHITECTURE.md. This crate has no code: its tests read the workspace
//! as text.
