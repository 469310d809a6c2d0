// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Programs that do nothing, at the tracepoints of blame.bpf.c: what the kernel's own way into a program costs.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define EMPTY(tracepoint)                                                                                              \
	SEC("tp_btf/" #tracepoint)                                                                                     \
	int tracepoint(void *arguments)                                                                                \
	{                                                                                                              \
		return 0;                                                                                              \
	}

EMPTY(sched_switch)
EMPTY(sched_wakeup)
EMPTY(sched_wakeup_new)
EMPTY(sched_migrate_task)
EMPTY(irq_handler_entry)
EMPTY(irq_handler_exit)
EMPTY(softirq_entry)
EMPTY(softirq_exit)
