// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// A record of every thread of the machine: the fields from which /proc/PID/task/TID/stat and schedstat are made.
//
// Since 6.7 `in_a_loop` walks the kernel's lists of tasks in one system call. Before that the kernel calls the iterator `each`
// for every thread, which it looks up by its id: three times the cost.
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "kernel_functions.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct thread_info {
	unsigned int cpu;
};
struct sched_entity {
	__u64 sum_exec_runtime, nr_migrations;
};
struct sched_info {
	unsigned long long run_delay; /* CONFIG_SCHED_INFO */
};
struct list_head {
	struct list_head *next;
};
struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	int exit_state;
	int pid, tgid;
	struct task_struct *real_parent;
	__u64 start_boottime;
	unsigned long min_flt, maj_flt;
	struct sched_entity se;
	struct sched_info sched_info;
	char comm[16];
	struct list_head thread_node;
};
/* Until 5.13; arm64 kept the CPU in the task until 5.15. */
struct task_struct___old {
	long state;
	unsigned int cpu;
};
struct bpf_iter__task {
	void *meta;
	struct task_struct *task;
};
#pragma clang attribute pop

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define INLINE static __always_inline

enum { AHEAD = 6 };
enum { ALL_THREADS = 1 }; /* BPF_TASK_ITER_ALL_THREADS, kernel/bpf/task_iter.c */

/* src/task_iterator.rs reads this. */
struct record {
	__u32 tid, pid, parent;
	__u16 cpu, state;
	__u64 started, run, wait, migrations, minor_faults, major_faults;
	char name[16];
	__u64 address; /* of the task; used by `fetch_ahead` */
};

/* The first element is the head; the number of elements is set when the map is made. */
struct head {
	__u64 count; /* records so far */
	__u64 full; /* whether there was no element for one */
	__u64 unused[9];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct record);
} records SEC(".maps");

INLINE __u32 cpu_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return ((struct task_struct___old *)task)->cpu;
}

/* The lower 16 bits have all states that /proc shows. */
INLINE __u16 state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state | task->exit_state;
	return ((struct task_struct___old *)task)->state | task->exit_state;
}

/* Returns whether there was an element for it. */
INLINE int add(struct head *head, struct task_struct *task)
{
	__u32 at = head->count + 1;
	struct record *r = bpf_map_lookup_elem(&records, &at);

	if (!r) {
		head->full = 1;
		return 0;
	}
	head->count = at;
	r->tid = task->pid;
	r->pid = task->tgid;
	r->parent = task->real_parent->tgid;
	r->cpu = cpu_of(task);
	r->state = state_of(task);
	r->started = task->start_boottime;
	r->run = task->se.sum_exec_runtime;
	r->wait = task->sched_info.run_delay;
	r->migrations = task->se.nr_migrations;
	r->minor_faults = task->min_flt;
	r->major_faults = task->maj_flt;
	__builtin_memcpy(r->name, task->comm, sizeof(r->name));
	r->address = (__u64)task;
	return 1;
}

/*
 * A task is some ten cache lines, which nobody else has used since the last reading, and where the next one is stands in one
 * of them: most of the time goes into waiting for memory. The order of tasks hardly changes, so this loads what will be needed
 * a few tasks later, from where it was at the last reading. If that was wrong, nothing is but the time; a load from an address
 * that is not valid any more gives 0.
 */
INLINE void fetch_ahead(__u32 at)
{
	__u32 later = at + AHEAD;
	struct record *r = bpf_map_lookup_elem(&records, &later);
	struct task_struct *task;

	if (!r)
		return;
	task = rdonly_cast((void *)r->address, bpf_core_type_id_kernel(struct task_struct));
#define FETCH(field) asm volatile("" ::"r"(task->field))
	FETCH(__state);
	FETCH(pid);
	FETCH(thread_node.next);
	FETCH(start_boottime);
	FETCH(maj_flt);
	FETCH(se.sum_exec_runtime);
	FETCH(se.nr_migrations);
	FETCH(sched_info.run_delay);
	FETCH(comm[0]);
}

INLINE struct head *head_of(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&records, &zero);
}

SEC("iter/task")
int each(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct head *head = head_of();

	if (task && head)
		add(head, task);
	return 0;
}

ROUTINE
int in_a_loop(void *context)
{
	struct bpf_iter_task iterator;
	struct task_struct *task;
	struct head *head = head_of();

	if (!head)
		return 0;
	rcu_read_lock();
	iter_task_new(&iterator, 0, ALL_THREADS);
	while ((task = iter_task_next(&iterator))) {
		fetch_ahead(head->count);
		if (!add(head, task))
			break;
	}
	iter_task_destroy(&iterator);
	rcu_read_unlock();
	return 0;
}
