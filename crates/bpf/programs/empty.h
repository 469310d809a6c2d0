/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A program that does nothing at a tracepoint. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define EMPTY(tracepoint)                                                                                              \
	SEC("tp_btf/" #tracepoint)                                                                                     \
	int tracepoint(void *arguments)                                                                                \
	{                                                                                                              \
		return 0;                                                                                              \
	}
