//! The lab: a virtual machine with a chosen kernel, cgroup layout, nodes and disks, in which the
//! same program runs the same studies. No other room needs it.
