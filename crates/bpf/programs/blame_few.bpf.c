// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// The programs of blame.bpf.c for at most 8 groups and 2 sets of CPUs. The verifier follows each path through the loops over
// both; with 64 and 16 it needs 200 000 instructions on 6.18, and more than the million that it may take on 6.12 and 6.1.
#define SLOTS 8
#define MASKS 2
#include "blame.bpf.c"
