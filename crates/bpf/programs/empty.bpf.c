// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Programs that do nothing, at the tracepoints of blame.bpf.c: what the kernel's own way into a program costs.
#include "empty.h"

EMPTY(sched_switch)
EMPTY(sched_wakeup)
EMPTY(sched_wakeup_new)
EMPTY(sched_migrate_task)
EMPTY(irq_handler_entry)
EMPTY(irq_handler_exit)
EMPTY(softirq_entry)
EMPTY(softirq_exit)
