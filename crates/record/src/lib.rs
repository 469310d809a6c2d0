//! What is recorded: the samplers, the run folder that they fill, and the words of a study that it repeats.

pub mod run_folder;
pub mod sample;
pub mod terms;
