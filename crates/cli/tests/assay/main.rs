//! End-to-end tests of the program: exit codes, output, files, and a restored host. Most tests run real
//! studies on the real kernel.
// A panic in shared test code is a failure of the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod adversity;
mod again;
mod audit;
mod bench;
mod blame;
mod book;
mod broken_study;
mod compare;
mod conform;
mod cpu;
mod delegated;
mod drift;
mod ends;
mod exec;
mod explained;
mod external_data;
mod faults;
mod fleet;
mod freezer;
mod full_disk;
mod groups;
mod halt;
mod hostile;
mod injected;
mod interrupted;
mod job_file;
mod killed;
mod kills;
mod lab;
mod limit;
mod named_disk;
mod not_able;
mod notebook;
mod overridden;
mod own_device;
mod place;
mod predict;
mod protection;
mod run;
mod running;
mod sample;
mod settings;
mod shipped;
mod smallest;
mod study;
mod sudo;
mod terminal;
mod tune;
mod usage;
mod user;
mod workload_fails;
mod workloads;
