//! Judgements of synthetic runs, through the public interface.

#[cfg(test)]
mod across;
#[cfg(test)]
mod causes;
#[cfg(test)]
mod checks;
#[cfg(test)]
mod compare_grain;
#[cfg(test)]
mod compare_placement;
#[cfg(test)]
mod compare_runs;
#[cfg(test)]
mod compare_unlike;
#[cfg(test)]
mod cpu;
#[cfg(test)]
mod cpu_proofs;
#[cfg(test)]
#[cfg(test)]
mod document;
#[cfg(test)]
mod left_out;
#[cfg(test)]
mod lost;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod overrides;
#[cfg(test)]
mod placement;
#[cfg(test)]
mod progress;
#[cfg(test)]
mod proofs;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod repeats;
#[cfg(test)]
mod rule;
#[cfg(test)]
mod shipped;
#[cfg(test)]
mod spared;
#[cfg(test)]
mod surroundings;
#[cfg(test)]
mod synthetic;
#[cfg(test)]
mod verdicts;
