//! The judgement of synthetic runs, seen from outside.

#[cfg(test)]
mod causes;
#[cfg(test)]
mod coverage;
#[cfg(test)]
mod document;
#[cfg(test)]
mod gates;
#[cfg(test)]
mod repeats;
#[cfg(test)]
mod synthetic;
#[cfg(test)]
mod verdicts;
