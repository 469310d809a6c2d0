//! The judgement of synthetic runs, seen from outside.

mod causes;
mod coverage;
mod document;
mod gates;
mod repeats;
mod synthetic;
mod verdicts;
