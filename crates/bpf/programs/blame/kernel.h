// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// The kernel's structures, with the fields that are read: CO-RE finds their true offsets when a program is loaded.
#include "../cgroup.h"

/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000
#define PF_IO_WORKER 0x00000010 /* 5.12 */
#define PF_USER_WORKER 0x00004000 /* 6.4 */
#define TS_COMPAT 2 /* arch/x86/include/asm/thread_info.h */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct cfs_rq;
struct task_group {
	struct cgroup_subsys_state css;
};
struct css_set {
	struct cgroup *dfl_cgrp;
};
struct rq {
	__u64 clock;
	int cpu;
	__u64 prev_steal_time_rq; /* CONFIG_PARAVIRT_TIME_ACCOUNTING */
	__u64 prev_steal_time; /* CONFIG_PARAVIRT, counted in ticks */
};
struct cfs_rq {
	struct rq *rq;
	int throttle_count;
	__u64 throttled_clock_self; /* 6.6 */
	__u64 throttled_clock_self_time; /* 6.6 */
};
struct sched_entity {
	struct cfs_rq *cfs_rq;
};
struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};
struct cpumask {
	unsigned long bits[1];
};
struct thread_info {
	unsigned int status; /* x86 */
};
struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int pid;
	int tgid;
	int nr_cpus_allowed;
	struct cpumask *cpus_ptr;
	char comm[16];
	struct sched_entity se;
	struct sched_info sched_info;
	struct task_group *sched_task_group;
	struct css_set *cgroups;
	unsigned int in_iowait : 1;
	unsigned int frozen : 1;
	_Bool throttled; /* 6.18 */
	int softirq_disable_cnt; /* CONFIG_PREEMPT_RT */
};
struct pt_regs___call {
	unsigned long orig_ax; /* x86 */
	int syscallno; /* arm64 */
};
typedef struct {
	__s64 counter;
} atomic_long_t;
/* The owner is the address of a task, with flags in the lowest bits. */
struct mutex {
	atomic_long_t owner;
};
struct rw_semaphore {
	atomic_long_t owner;
};
#pragma clang attribute pop

/* What a program of the section iter/task is given (kernel/bpf/task_iter.c). */
struct bpf_iter__task {
	void *meta;
	struct task_struct *task; /* 0 after the last one */
};
