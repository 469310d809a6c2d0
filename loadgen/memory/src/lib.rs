//! What the load generators need of memory beyond `assay_sys::kernel`: policies of whole processes, pages of
//! files, and loads and stores that a compiler would change.

#![allow(unsafe_code)]

pub mod memory_policy;
pub mod page_cache;
pub mod pointer_ring;
pub mod streaming_stores;
