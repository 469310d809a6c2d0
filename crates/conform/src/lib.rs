//! Does the kernel do what its document says? One small real case for each behaviour of a
//! controller, judged by its effect and not by what a file reads.
