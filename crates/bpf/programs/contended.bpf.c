// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Who could have used a CPU, and who got it: for every group on every CPU the time that its threads ran, and since when
// at least one of them has been there to run without a break.
//
// A weight promises something only while a group wants the CPU. So user space looks at `since` twice: a group whose value is
// older than the first look was there all the time between. It is set when a thread is woken on a CPU, or runs there, and
// cleared when the last one sleeps, leaves, or is held by a quota; this is asked of the kernel's own run queue of the
// group whenever a thread is switched out or moved, and not counted here.
//
// The run queue of a group lies in that of its parent and so on up to the top: a group is there if one of those below it is.
//
// Compiled by clang 14 (scripts/bpf-objects). Runs on 6.1 and later.
#include "cgroup.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_group {
	struct cgroup_subsys_state css;
	unsigned long shares;
};
struct rq {
	int cpu;
};
struct cfs_rq {
	struct rq *rq;
	struct task_group *tg;
	int throttle_count;
	unsigned int h_nr_runnable; /* 6.14 */
};
/* Until 6.13; threads that sleep and stay queued for a while are part of it since 6.12. */
struct cfs_rq___old {
	unsigned int h_nr_running;
	unsigned int h_nr_delayed;
};
struct load_weight {
	unsigned long weight;
};
struct sched_entity {
	struct load_weight load;
	struct sched_entity *parent;
	struct cfs_rq *cfs_rq;
};
struct task_struct {
	unsigned int flags;
	int pid;
	int prio;
	struct sched_entity se;
	struct task_group *sched_task_group;
};
#pragma clang attribute pop

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { PF_KTHREAD = 0x00200000, MAX_RT_PRIO = 100 };
enum { CACHE = 4096, LEVELS = 24 };

/* Threads in no known group. crates/sample/src/contention.rs has the same numbers. */
enum slot { ROOT, KERNEL, FIRST_GROUP };

struct settings {
	__u32 enabled;
	__u32 slots;
};

/* A group on a CPU. */
struct share {
	__u64 since; /* when it came; 0 while it is not there */
	__u64 run; /* ns that threads of the group itself ran, without groups below */
	__u64 real_time; /* the same of threads that no weight binds */
	__u64 weight; /* what the kernel gives to it here, last seen: its part of `shares` */
	__u64 shares; /* what the kernel knows as its weight */
};

struct cpu {
	__u64 last; /* up to when all is counted */
	__u64 running; /* slot of what runs; ~0: nothing, or nobody knows */
	__u64 real_time;
	__u64 pid;
	__u64 hidden; /* switches that were not shown */
	__u64 switches;
	__u64 timed, timed_ns; /* what they cost: one in 64 */
};

/* The only variable. */
struct memory {
	__u64 cache[CACHE]; /* of a group by its css id: serial number << 16 | slot */
};
struct memory memory;

#include "switched.h"
/* Slot of a group by its kernfs id; a group without an entry belongs to the nearest one above it. */
MAP(groups, BPF_MAP_TYPE_HASH, __u64, __u32, 1);

#define SHARED_MAP(map_name, value_type)                                                                               \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                                      \
		__uint(map_flags, BPF_F_MMAPABLE);                                                                     \
		__uint(max_entries, 1);                                                                                \
		__type(key, __u32);                                                                                    \
		__type(value, value_type);                                                                             \
	} map_name SEC(".maps")
SHARED_MAP(cpus, struct cpu);
/* By CPU and slot. */
SHARED_MAP(shares, struct share);

enum { NOTHING = ~0ull };

INLINE __u32 slot_of(struct task_group *group)
{
	struct cgroup_subsys_state *css = &group->css;
	__u64 serial = css->serial_nr;
	__u64 *cached = &memory.cache[css->id & (CACHE - 1)];
	__u64 known = *cached;
	__u32 slot = ROOT;

	if (known >> 16 == serial)
		return known & 0xffff;
#pragma clang loop unroll(disable)
	for (int level = 0; level < LEVELS; level++) {
		__u64 id = css->cgroup->kn->id;
		__u32 *found = bpf_map_lookup_elem(&groups, &id);
		if (found) {
			slot = *found;
			break;
		}
		css = css->parent;
		if (!css)
			break;
	}
	*cached = serial << 16 | (slot & 0xffff);
	return slot;
}

INLINE struct cpu *cpu_of(__u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

INLINE struct share *share_of(struct settings *s, __u32 cpu, __u32 slot)
{
	__u32 at = cpu * s->slots + slot;
	return bpf_map_lookup_elem(&shares, &at);
}

/* Whether a thread of the group, or of one below, could run here. */
INLINE int is_there(struct cfs_rq *queue)
{
	struct cfs_rq___old *old = (void *)queue;

	if (queue->throttle_count)
		return 0;
	if (bpf_core_field_exists(queue->h_nr_runnable))
		return queue->h_nr_runnable != 0;
	if (bpf_core_field_exists(old->h_nr_delayed))
		return old->h_nr_running != old->h_nr_delayed;
	return old->h_nr_running != 0;
}

/* The groups of a thread come to a CPU, from the lowest up to one that is there already. */
static __noinline int come(struct settings *s, struct task_struct *p, __u32 cpu, __u64 now)
{
	struct sched_entity *entity = p->se.parent;
	struct cfs_rq *queue = p->se.cfs_rq;

#pragma clang loop unroll(disable)
	for (int level = 0; level < LEVELS; level++) {
		struct task_group *group = queue->tg;
		struct share *share;

		if (!entity || !is_there(queue))
			break;
		share = share_of(s, cpu, slot_of(group));
		if (!share)
			break;
		if (share->since)
			break;
		share->since = now;
		queue = entity->cfs_rq;
		entity = entity->parent;
	}
	return 0;
}

/* The groups of a thread that was switched out or moved, up to one that has others there. */
static __noinline int go(struct settings *s, struct task_struct *p, struct cfs_rq *queue, __u32 cpu)
{
	struct sched_entity *entity = p->se.parent;

#pragma clang loop unroll(disable)
	for (int level = 0; level < LEVELS; level++) {
		struct share *share;

		if (!entity)
			break;
		/* A quota further up holds all of them. */
		if (is_there(queue))
			break;
		share = share_of(s, cpu, slot_of(queue->tg));
		if (share)
			share->since = 0;
		queue = entity->cfs_rq;
		entity = entity->parent;
	}
	return 0;
}

/*
 * What the kernel gives to the groups of a thread on this CPU. A quota that ends is no event of its own, so this also looks for
 * groups that are there again.
 */
static __noinline int weigh(struct settings *s, struct task_struct *p, __u32 cpu, __u64 now)
{
	struct sched_entity *entity = p->se.parent;
	struct cfs_rq *queue = p->se.cfs_rq;

#pragma clang loop unroll(disable)
	for (int level = 0; level < LEVELS; level++) {
		struct task_group *group = queue->tg;
		struct share *share;

		if (!entity)
			break;
		share = share_of(s, cpu, slot_of(group));
		if (share) {
			share->weight = entity->load.weight;
			share->shares = group->shares;
			if (!share->since && is_there(queue))
				share->since = now;
		}
		queue = entity->cfs_rq;
		entity = entity->parent;
	}
	return 0;
}

/* The time since the last switch goes to what ran. */
INLINE void charge(struct settings *s, struct cpu *c, __u32 cpu, __u64 now)
{
	__u64 length = now - c->last;
	struct share *share;

	if (!c->last || c->running == NOTHING)
		return;
	share = share_of(s, cpu, c->running);
	if (!share)
		return;
	if (c->real_time)
		share->real_time += length;
	else
		share->run += length;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct settings *s = enabled();
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu *c = cpu_of(cpu);
	__u64 now;

	if (!s || !c)
		return 0;
	now = bpf_ktime_get_ns();
	if (c->last && c->pid != prev->pid)
		c->hidden++;
	else
		charge(s, c, cpu, now);
	if (prev->pid)
		go(s, prev, prev->se.cfs_rq, cpu);
	c->running = NOTHING;
	if (next->pid) {
		__u32 slot = slot_of(next->sched_task_group);

		c->running = slot == ROOT && next->flags & PF_KTHREAD ? KERNEL : slot;
		c->real_time = next->prio < MAX_RT_PRIO;
		if (!c->real_time)
			come(s, next, cpu, now);
		/* A prime: where groups take strict turns, 16 would meet the same one each time. */
		if (!(c->switches % 17))
			weigh(s, next, cpu, now);
	}
	c->pid = next->pid;
	c->last = now;
	if (!(c->switches++ & 63)) {
		c->timed++;
		c->timed_ns += bpf_ktime_get_ns() - now;
	}
	return 0;
}

INLINE int woken(struct task_struct *p)
{
	struct settings *s = enabled();

	if (s && p->prio >= MAX_RT_PRIO)
		come(s, p, p->se.cfs_rq->rq->cpu, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(sched_wakeup, struct task_struct *p)
{
	return woken(p);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(sched_wakeup_new, struct task_struct *p)
{
	return woken(p);
}

/* A thread was taken off the queue of its CPU, whose lock is held, and will be put on another. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(sched_migrate_task, struct task_struct *p, int to)
{
	struct settings *s = enabled();

	if (s)
		go(s, p, p->se.cfs_rq, p->se.cfs_rq->rq->cpu);
	return 0;
}
