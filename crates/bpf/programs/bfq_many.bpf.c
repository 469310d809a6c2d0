// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// The programs of bfq.bpf.c for many groups on few disks: wakers and injected requests are tables of all groups by
// all groups, for each disk.
#define MEMBERS 512
#define DISKS 2
#include "bfq.bpf.c"
