// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// The programs of disk.bpf.c for many groups on few disks: who was served while who waited takes a table of all
// groups by all groups, for each disk.
#define MEMBERS 512
#define DISKS 2
#include "disk.bpf.c"
