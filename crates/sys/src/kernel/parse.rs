//! Pure parsers of kernel files and a few system files.

pub mod buddy;
pub mod cgroups;
pub mod choice;
pub mod cpuinfo;
pub mod keyed;
pub mod maps;
pub mod mountinfo;
pub mod numa_maps;
pub mod symbols;
