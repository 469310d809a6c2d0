//! One command under limits, by hand: a group of its own in every hierarchy that its knobs need,
//! and what the kernel says afterwards about which of the limits bound.
