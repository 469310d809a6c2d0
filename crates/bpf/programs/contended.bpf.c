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
// Some hosts do not show every switch (virtual machines whose kernel hides those of its process 1). The kernel numbers the
// switches of a CPU and notes in each thread when it was switched in: from that it is known how many were not shown, and
// if it was one, up to when the thread before it ran.
//
// Compiled by clang 14 (scripts/bpf-objects). Runs on 6.1 and later.
#include "cgroup.h"
#include "known_groups.h"
#include "timing.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_group {
	struct cgroup_subsys_state css;
	unsigned long shares;
};
struct rq {
	int cpu;
	__u64 clock;
	__u64 nr_switches;
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
struct sched_info {
	unsigned long long last_arrival;
};
struct task_struct {
	unsigned int flags;
	int pid;
	int prio;
	_Bool throttled; /* 6.18 */
	struct sched_entity se;
	struct sched_info sched_info;
	struct task_group *sched_task_group;
};
#pragma clang attribute pop

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { PF_KTHREAD = 0x00200000, MAX_RT_PRIO = 100 };

/* Threads in no known group; the numbers of known groups follow. crates/audit/src/contention/look.rs has the same. */
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

/* crates/audit/src/contention/look.rs reads these. */
struct cpu {
	__u64 last; /* up to when all is counted */
	__u64 running; /* slot of what runs; ~0: nothing */
	__u64 real_time;
	__u64 number; /* of the last switch that was shown, as the kernel counts */
	__u64 hidden; /* switches that were not shown */
	__u64 unknown; /* ns of which nobody knows who ran */
	__u64 doubted; /* a `since` from before is no longer known to be true */
	struct timing timing; /* of all that were shown */
};

/* The only variable. */
struct memory {
	__u64 cache[CACHE]; /* of slots */
};
struct memory memory;

#include "switched.h"
SHARED_MAP(cpus, struct cpu);
/* By CPU and slot. */
SHARED_MAP(shares, struct share);
/* The slot of the group above each slot. */
MAP(above, BPF_MAP_TYPE_ARRAY, __u32, __u32, 1);

enum { NOTHING = ~0ull };

INLINE __u32 slot_of(struct task_group *group)
{
	return number_of_group(&group->css, memory.cache);
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

	/* Since 6.18 a quota takes threads off the queue one by one, and those that are left are served. */
	if (!bpf_core_field_exists(((struct task_struct *)0)->throttled) && queue->throttle_count)
		return 0;
	if (bpf_core_field_exists(queue->h_nr_runnable))
		return queue->h_nr_runnable != 0;
	if (bpf_core_field_exists(old->h_nr_delayed))
		return old->h_nr_running != old->h_nr_delayed;
	return old->h_nr_running != 0;
}

/* Whether the group is known to have been there since some time. */
INLINE int is_since_known(struct cpu *c, struct share *share)
{
	return share->since && share->since >= c->doubted;
}

/* The groups of a thread come to a CPU, from the lowest up to one that is there already. */
static __noinline int come(struct settings *s, struct task_struct *p, __u32 cpu, __u64 now)
{
	struct sched_entity *entity = p->se.parent;
	struct cfs_rq *queue = p->se.cfs_rq;
	struct cpu *c = cpu_of(cpu);

#pragma clang loop unroll(disable)
	for (int level = 0; level < LEVELS; level++) {
		struct task_group *group = queue->tg;
		struct share *share;

		if (!entity || !c || !is_there(queue))
			break;
		share = share_of(s, cpu, slot_of(group));
		if (!share)
			break;
		if (is_since_known(c, share))
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
	struct cpu *c = cpu_of(cpu);

#pragma clang loop unroll(disable)
	for (int level = 0; level < LEVELS; level++) {
		struct task_group *group = queue->tg;
		struct share *share;

		if (!entity || !c)
			break;
		share = share_of(s, cpu, slot_of(group));
		if (share) {
			share->weight = entity->load.weight;
			share->shares = group->shares;
			if (!is_since_known(c, share) && is_there(queue))
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
	__u64 last = c->last;
	struct share *share;

	c->last = now;
	if (!last || c->running == NOTHING)
		return;
	share = share_of(s, cpu, c->running);
	if (!share)
		return;
	if (c->real_time)
		share->real_time += now - last;
	else
		share->run += now - last;
}

INLINE void run(struct cpu *c, struct task_struct *p)
{
	__u32 slot;

	c->running = NOTHING;
	if (!p->pid)
		return;
	slot = slot_of(p->sched_task_group);
	c->running = slot == ROOT && p->flags & PF_KTHREAD ? KERNEL : slot;
	c->real_time = p->prio < MAX_RT_PRIO;
}

/* Whether the groups of a thread that was switched out unseen are still there is not known. */
static __noinline int doubt(struct settings *s, __u32 cpu, __u32 slot)
{
#pragma clang loop unroll(disable)
	for (int level = 0; level < LEVELS; level++) {
		struct share *share = share_of(s, cpu, slot);
		__u32 *next = bpf_map_lookup_elem(&above, &slot);

		if (slot < FIRST_GROUP || !share || !next)
			break;
		share->since = 0;
		slot = *next;
	}
	return 0;
}

/*
 * Switches were not shown before prev is switched out. If it was one, what ran before left when prev was switched in, which the
 * kernel does not note of the idle thread. If there were more, nobody knows what ran between them and which groups went.
 */
static __noinline int heal(struct settings *s, struct cpu *c, __u32 cpu, struct task_struct *prev, __u64 now)
{
	struct rq *rq = prev->se.cfs_rq->rq;
	__u64 hidden = rq->nr_switches - c->number - 1;
	__u64 then = now - (rq->clock - prev->sched_info.last_arrival);

	if (!prev->pid)
		then = now;
	else if (then < c->last || then > now)
		then = c->last;
	if (hidden == 1 && c->running != NOTHING)
		doubt(s, cpu, c->running);
	if (hidden > 1)
		c->doubted = then;
	if (hidden == 1 && prev->pid) {
		charge(s, c, cpu, then);
	} else {
		c->unknown += then - c->last;
		c->last = then;
	}
	c->hidden += hidden;
	run(c, prev);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct settings *s = enabled();
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu *c = cpu_of(cpu);
	__u64 now, start, number;

	if (!s || !c)
		return 0;
	start = start_timing(&c->timing);
	now = start ? start : bpf_ktime_get_ns();
	number = next->se.cfs_rq->rq->nr_switches;
	if (c->last && number - c->number > 1)
		heal(s, c, cpu, prev, now);
	charge(s, c, cpu, now);
	if (prev->pid)
		go(s, prev, prev->se.cfs_rq, cpu);
	run(c, next);
	if (next->pid) {
		if (!c->real_time)
			come(s, next, cpu, now);
		/* A prime: where groups take strict turns, 16 would meet the same one each time. */
		if (!(c->timing.events % 17))
			weigh(s, next, cpu, now);
	}
	c->number = number;
	return stop_timing(&c->timing, start);
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
