// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Counters of the groups that user space asks for, from where the kernel's own files take them.
//
// The groups are found once, by a walk over all groups below a directory (`find_*`), which keeps the address of the
// controller's state of each. A reading then visits only these addresses (`read_*`), so that foreign groups cost nothing and
// the structures of cgroups, which are most of a group's cache lines, are not touched. The kernel never gives a serial number
// twice: with it a reading knows that the state at an address is still the same.
//
// States are read through bpf_rdonly_cast (6.2), which makes loads of them, in a loop of the program (6.4); before that by a
// helper, in a call for each group.
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "kernel_functions.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct kernfs_node {
	__u64 id;
};
struct cgroup_subsys_state {
	unsigned int flags;
	__u64 serial_nr;
};
struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_subsys_state *subsys[1];
};
struct cpuacct {
	struct cgroup_subsys_state css;
	__u64 *cpuusage;
};
typedef struct {
	long counter;
} atomic_long_t;
struct page_counter {
	atomic_long_t usage;
	unsigned long watermark, failcnt;
};
struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
	atomic_long_t memory_events[1];
};
struct kernel_cpustat {
	__u64 cpustat[1];
};
struct bpf_array {
	void *pptrs[1];
};
struct bpf_iter__cgroup {
	void *meta;
	struct cgroup *cgroup;
};
struct bpf_iter__bpf_map_elem {
	void *meta;
	void *map;
	void *key;
	void *value;
};
#pragma clang attribute pop

/* The kernel's numbers of these depend on its configuration. */
enum cgroup_subsys_id { cpuacct_cgrp_id = 1, memory_cgrp_id };
enum memcg_memory_event { MEMCG_LOW, MEMCG_HIGH, MEMCG_MAX, MEMCG_OOM, MEMCG_OOM_KILL };

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define INLINE static __always_inline

/* Flags of a state in include/linux/cgroup-defs.h, whose enumeration has no name for CO-RE. */
enum { CSS_ONLINE = 1 << 1, CSS_DYING = 1 << 4 };

/* One more than the highest number of a CPU: a constant, since the verifier follows the loop over them. */
const volatile __u32 cpus = 1;

enum { GROUPS = 1 << 20 }; /* more than there are: the loop ends with the map */

/* src/group_iterator.rs reads this. */
struct group {
	__u64 state; /* address of the controller's state; 0 for a group without it */
	__u64 serial;
	__u64 base; /* address of CPU time, but for the distance of each CPU */
	__u64 present;
	__u64 numbers[8];
};

/* Index in `groups` by kernfs id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u32);
} indexes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct group);
} groups SEC(".maps");

/* By CPU: how far its memory is from the common address. 0 for numbers that no CPU has. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} distances SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} each_cpu SEC(".maps");

/* 8 bytes at this address; 0 if it is not valid. */
INLINE __u64 fetch(__u64 address)
{
	__u64 number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), (void *)address);
	return number;
}

/* The structure around a state, which begins with it. GET reads its fields. */
#define AT(by_cast, type, address) \
	((type *)((by_cast) ? rdonly_cast((void *)(address), bpf_core_type_id_kernel(type)) : (void *)(address)))
#define GET(by_cast, pointer, field) ((by_cast) ? (pointer)->field : BPF_CORE_READ(pointer, field))

/* Keeps the address of a group's state if user space asks for the group. */
INLINE struct group *find(struct bpf_iter__cgroup *context, __u64 subsystem)
{
	struct cgroup *cgroup = context->cgroup;
	struct cgroup_subsys_state *state;
	struct group *group;
	__u32 *index;
	__u64 id;

	/* The last call has no group. */
	if (!cgroup)
		return 0;
	id = cgroup->kn->id;
	index = bpf_map_lookup_elem(&indexes, &id);
	group = index ? bpf_map_lookup_elem(&groups, index) : 0;
	if (!group)
		return 0;
	group->state = fetch((__u64)cgroup->subsys + subsystem * sizeof(void *));
	state = (void *)group->state;
	group->serial = BPF_CORE_READ(state, serial_nr);
	return group;
}

SEC("iter/cgroup")
int find_cpu_time(struct bpf_iter__cgroup *context)
{
	struct group *group = find(context, bpf_core_enum_value(enum cgroup_subsys_id, cpuacct_cgrp_id));
	struct cpuacct *cpuacct;

	if (!group)
		return 0;
	cpuacct = (void *)group->state;
	group->base = (__u64)BPF_CORE_READ(cpuacct, cpuusage);
	return 0;
}

SEC("iter/cgroup")
int find_memory(struct bpf_iter__cgroup *context)
{
	find(context, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
	return 0;
}

/* Whether the state is still that of the group, and in use. */
#define IS_PRESENT(by_cast, group, owner) ({ \
	__u32 flags = GET(by_cast, owner, css.flags); \
	(group)->state && (flags & (CSS_ONLINE | CSS_DYING)) == CSS_ONLINE && \
		GET(by_cast, owner, css.serial_nr) == (group)->serial; \
})

/* Pages in use, their peak, failed charges, and events (mm/page_counter.c, mm/memcontrol.c). */
INLINE void read_memory(int by_cast, struct group *group)
{
	struct mem_cgroup *memory;

	memory = AT(by_cast, struct mem_cgroup, group->state);
	group->present = IS_PRESENT(by_cast, group, memory);
	if (!group->present)
		return;
	group->numbers[0] = GET(by_cast, memory, memory.usage.counter);
	group->numbers[1] = GET(by_cast, memory, memory.watermark);
	group->numbers[2] = GET(by_cast, memory, memory.failcnt);
#define EVENT(event) \
	GET(by_cast, memory, memory_events[bpf_core_enum_value(enum memcg_memory_event, event)].counter)
	group->numbers[3] = EVENT(MEMCG_LOW);
	group->numbers[4] = EVENT(MEMCG_HIGH);
	group->numbers[5] = EVENT(MEMCG_MAX);
	group->numbers[6] = EVENT(MEMCG_OOM);
	group->numbers[7] = EVENT(MEMCG_OOM_KILL);
}

/* The sum over all CPUs (kernel/sched/cpuacct.c). */
INLINE void read_cpu_time(int by_cast, struct group *group)
{
	struct cpuacct *cpuacct;
	__u64 base, sum = 0;

	cpuacct = AT(by_cast, struct cpuacct, group->state);
	group->present = IS_PRESENT(by_cast, group, cpuacct);
	if (!group->present)
		return;
	base = group->base;
#pragma clang loop unroll(disable)
	for (__u64 cpu = 0; cpu < cpus; cpu++) {
		__u32 key = cpu; /* of its own: the verifier does not follow a number whose address is taken */
		__u64 *distance = bpf_map_lookup_elem(&distances, &key);
		if (!distance)
			break;
		if (!*distance)
			continue;
		if (by_cast)
			sum += AT(1, struct kernel_cpustat, base + *distance)->cpustat[0];
		else
			sum += fetch(base + *distance);
	}
	group->numbers[0] = sum;
}

/* Reads all groups in one system call. */
#define READ_ALL(read) do { \
	struct bpf_iter_num numbers; \
	int *at; \
	rcu_read_lock(); \
	iter_num_new(&numbers, 0, GROUPS); \
	while ((at = iter_num_next(&numbers))) { \
		__u32 key = *at; \
		struct group *group = bpf_map_lookup_elem(&groups, &key); \
		if (!group) \
			break; \
		read(1, group); \
	} \
	iter_num_destroy(&numbers); \
	rcu_read_unlock(); \
} while (0)

ROUTINE
int read_memory_at_once(void *context)
{
	READ_ALL(read_memory);
	return 0;
}

ROUTINE
int read_cpu_time_at_once(void *context)
{
	READ_ALL(read_cpu_time);
	return 0;
}

/* Called for each element of `groups`, where the kernel has no such loop, or no cast. */
SEC("iter/bpf_map_elem")
int read_memory_each(struct bpf_iter__bpf_map_elem *context)
{
	struct group *group = context->value;

	if (group)
		read_memory(0, group);
	return 0;
}

SEC("iter/bpf_map_elem")
int read_cpu_time_each(struct bpf_iter__bpf_map_elem *context)
{
	struct group *group = context->value;

	if (group)
		read_cpu_time(0, group);
	return 0;
}

/* The verifier allows no arithmetic on a pointer: it is stored, and read as a number. */
INLINE __u64 as_number(void *pointer)
{
	void *volatile stored = pointer;
	return fetch((__u64)&stored);
}

/*
 * Called for each element of `distances`. Per-CPU memory has one address, to which the kernel adds a distance that it does
 * not export; a map of our own shows both, the address of its element for a CPU (5.19) and the common one.
 */
SEC("iter/bpf_map_elem")
int find_distances(struct bpf_iter__bpf_map_elem *context)
{
	__u64 *distance = context->value, common, own;
	__u32 *cpu = context->key, zero = 0;

	if (!distance || !cpu)
		return 0;
	common = fetch(as_number(&each_cpu) + bpf_core_field_offset(struct bpf_array, pptrs));
	own = as_number(bpf_map_lookup_percpu_elem(&each_cpu, &zero, *cpu));
	*distance = own ? own - common : 0;
	return 0;
}
