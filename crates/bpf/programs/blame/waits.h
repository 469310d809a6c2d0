// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Beginning, moving and ending the wait of a thread.

/*
 * Remembers where the slot's throttled time is counted, before its first thread waits here. Where a thread is moved to, that is
 * known only once another of the group has waited there: kernels differ in where a group has its queues (task_group.cfs_rq, 7.2).
 */
INLINE void watch_quota(struct settings *s, struct slot *slot, __u32 index, __u64 queue, __u64 now)
{
	if (!(s->limited >> index & 1) || (slot->queue && slot->waiting + slot->arrived > 0))
		return;
	slot->queue = queue;
	slot->throttled = throttled(queue, now);
	slot->held = 0;
	slot->releases++;
}

/* For how long of its wait on this CPU the quota held a thread. */
INLINE __u64 quota_part(struct thread *t, struct slot *slot)
{
	return holds_threads() && !t->held ? 0 : slot->quota - t->quota;
}

INLINE void start_stay(struct thread *t, struct cpu *c, __u32 cpu, struct slot *slot, __u64 now)
{
	t->waits = 1;
	t->cpu = cpu;
	t->held = 0;
	t->quota = slot->quota;
	t->any_idle = t->mask ? any_idle(t->mask, now) : 0;
	t->own_idle = own_idle(c, now);
}

/* A thread begins to wait on the CPU whose lock is held, in the slot with this number there. */
INLINE void begin(struct settings *s, struct task_struct *p, struct thread *t, __u32 index, struct slot *slot,
		  struct cpu *c, __u32 cpu, __u64 now)
{
	if (t->waits)
		return;
	watch_quota(s, slot, index, (__u64)p->se.cfs_rq, now);
	t->slot = index;
	t->since = now;
	t->moved = 0;
	t->idle_elsewhere = 0;
	t->mask = p->nr_cpus_allowed == 1 ? 0 : mask_of(s, p, now);
	if (!t->mask && p->nr_cpus_allowed != 1)
		slot->counters[OTHER_MASKS]++;
	start_stay(t, c, cpu, slot, now);
	if (holds_threads() && s->limited >> index & 1 && p->throttled) {
		slot->held++;
		t->held = slot->releases + 1;
	}
	slot->waiting++;
	slot->began += now;
	c->waiting |= 1ull << index;
}

/* Changes the counts of a CPU whose lock is not held; `thread` is 1 or -1. */
INLINE void count_arrival(struct cpu *c, struct slot *slot, struct thread *t, __s32 thread, __u64 now)
{
	__u64 last = c->last;

	__sync_fetch_and_add(&slot->arrived_credit, thread * (now - last));
	__sync_fetch_and_add(&slot->arrived_began, thread * t->since);
	__sync_fetch_and_add(&slot->arrived, thread);
	__sync_fetch_and_or(&c->arrived, 1ull << (t->slot & (SLOTS - 1)));
	/* Charged meanwhile, up to about now: without this thread. */
	if (c->last != last) {
		__sync_fetch_and_add(&slot->arrived_credit, -(thread * (now - last)));
		__sync_fetch_and_add(&slot->counters[LOST_MOVES], 1);
	}
}

enum { MOVING = 50000000 }; /* ns; of an emulated CPU that waited for its host, 3.5 ms were seen */

/*
 * Between the queue that it leaves and the one to which it is moved a thread is on none, and the kernel counts no wait: here it waits,
 * and `run_delay` is counted as if the kernel had seen it so. `uncounted` is the time less what the kernel has counted by then. More
 * than a move takes, or clocks differ, is something that was not seen.
 */
INLINE void count_moving(struct thread *t, __u64 uncounted)
{
	__s64 moving = uncounted - t->moved;

	if (t->moved && moving < MOVING && moving > -MOVING)
		t->run_delay -= moving;
	t->moved = uncounted;
}

/* Takes a waiting thread off the counts of the CPU on which it waits; `here` is the one whose lock is held. */
INLINE struct slot *leave(struct settings *s, struct thread *t, struct cpu *here, __u32 cpu, __u64 now)
{
	__u32 index = t->slot & (SLOTS - 1);
	struct cpu *c = t->cpu == cpu ? here : cpu_of(t->cpu);
	struct slot *slot = slot_of(s, t->cpu, index);

	t->waits = 0;
	if (!c || !slot)
		return 0;
	t->idle_elsewhere += idle_elsewhere(t, c, quota_part(t, slot), now);
	if (t->cpu != cpu) {
		count_arrival(c, slot, t, -1, now);
		return slot;
	}
	if (slot->held && t->held == slot->releases + 1)
		slot->held--;
	slot->began -= t->since;
	if (--slot->waiting <= 0)
		c->waiting &= ~(1ull << index);
	return slot;
}

/* Keeps a wait that is among the longest of this CPU, instead of the shortest of them. */
static __noinline void keep(struct cpu *c, struct slot *slot, struct task_struct *p)
{
	struct ended *ended = &c->ended;
	__u32 at = 0;
	__u64 shortest = ~0ull;
	struct wait *w;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < LONGEST; i++)
		if (slot->longest[i].length < shortest) {
			shortest = slot->longest[i].length;
			at = i;
		}
	w = &slot->longest[at & (LONGEST - 1)];
	w->length = ended->length;
	w->ended = c->last;
	w->quota = ended->quota;
	w->idle_elsewhere = ended->idle_elsewhere;
	w->pid = p->pid;
	bpf_probe_read_kernel(w->name, sizeof(w->name), &p->comm);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SHOWN; i++)
		w->last[i] = c->segments[(c->segment - 1 - i) & (SEGMENTS - 1)];
	shortest = ended->length;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < LONGEST; i++)
		if (slot->longest[i].length < shortest)
			shortest = slot->longest[i].length;
	slot->floor = shortest;
}

INLINE void count_ended(struct cpu *c, __u32 index, struct slot *slot, struct task_struct *p)
{
	struct ended *ended = &c->ended;
	__u32 bucket = logarithm(ended->length);

	slot->lengths[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
	slot->idle_elsewhere += ended->idle_elsewhere;
	c->pending = ended->length;
	c->pending_slot = index;
	if (ended->length > slot->floor)
		keep(c, slot, p);
}

/*
 * A thread was preempted on its way to sleep, and goes on without having slept: the kernel counts no wait (sched_info_depart).
 */
INLINE void count_preempted(struct task_struct *p, struct slot *slot, __u64 now)
{
	struct thread *t = find(p);

	if (!t || !t->blocked)
		return;
	t->kind = BLOCKED_UNSEEN;
	unblock(t, slot, p, now);
}

/* A wait whose beginning was not shown: the kernel knows its length, nobody who ran meanwhile. */
INLINE void charge_unseen(struct settings *s, struct task_struct *p, __u32 index, __u32 cpu, __u64 now)
{
	struct cpu *c = cpu_of(cpu);
	struct slot *slot = slot_of(s, cpu, index);
	__u64 queued = p->sched_info.last_queued, since = greater(queued, memory.began);
	struct thread *t;

	if (!c || !slot)
		return;
	if (!queued) {
		count_preempted(p, slot, now);
		return;
	}
	if ((__s64)(now - since) <= 0)
		return;
	t = find_or_make(s, p, slot, index, since, 0);
	if (!t) {
		slot->counters[DROPPED_WAITS]++;
		slot->counters[DROPPED_NS] += now - since;
		return;
	}
	unblock(t, slot, p, since);
	/* What was waited before the first event is not ours, but the kernel will count it now. */
	t->run_delay += since - queued;
	/* Before its first switch a CPU has run one thread all the time. */
	slot->charged[BOUNDED(c->switches ? UNSEEN : c->running, CLASSES)] += now - since;
	slot->counters[UNSEEN_WAITS]++;
	c->ended = (struct ended){ .length = now - since };
	count_ended(c, index, slot, p);
}

/* A wait of which neither the beginning nor the end was shown: only the kernel counted it. */
INLINE void charge_hidden(struct settings *s, struct thread *t, struct task_struct *p, __u32 cpu)
{
	__u64 run_delay = p->sched_info.run_delay;
	struct slot *slot = slot_of(s, cpu, t->slot);

	if (!slot || t->blocked == BEFORE || (__s64)(run_delay - t->run_delay) <= 0)
		return;
	slot->charged[UNSEEN] += run_delay - t->run_delay;
	slot->counters[UNSEEN_WAITS]++;
}

/* A thread is switched in. */
INLINE void end(struct settings *s, struct task_struct *p, __u32 place, struct cpu *c, __u32 cpu, __u64 now)
{
	struct thread *t;

	c->pending = 0;
	/* A thread may have left the group while it waited. */
	if (!SLOT(place) && !(c->waiting | c->arrived))
		return;
	t = find(p);
	if (t && t->waits) {
		int same = t->cpu == cpu;
		struct slot *slot = leave(s, t, c, cpu, now);
		struct ended *ended = &c->ended;

		*ended = (struct ended){ .length = now - t->since, .idle_elsewhere = t->idle_elsewhere };
		if (!slot || (__s64)ended->length < 0)
			return;
		if (t->moved && p->sched_info.last_queued)
			count_moving(t, p->sched_info.last_queued - p->sched_info.run_delay);
		if (same)
			ended->quota = lesser(quota_part(t, slot), ended->length);
		if (!same)
			slot = slot_of(s, cpu, t->slot);
		if (slot)
			count_ended(c, t->slot, slot, p);
	} else if (SLOT(place)) {
		charge_unseen(s, p, SLOT(place) - 1, cpu, now);
	}
}

/*
 * A thread is switched out: what the kernel counted for it since the last time is complete now. It was switched in when the kernel
 * noted that (not for one that count_preempted meets) or at the last event here, whichever is later.
 */
INLINE void depart(struct settings *s, struct task_struct *p, __u32 place, struct cpu *c, __u32 cpu, __u64 last, __u64 now)
{
	__u64 run_delay = p->sched_info.run_delay, arrived = p->sched_info.last_arrival;
	__u32 index = BOUNDED(SLOT(place) - 1, SLOTS);
	struct slot *slot = slot_of(s, cpu, index), *before;
	struct thread *t;

	if (!slot)
		return;
	arrived = greater(greater(arrived, last), memory.began);
	/* cgroup2 counts groups on no CPU (cpuacct.usage_percpu). */
	if ((__s64)(now - arrived) > 0)
		slot->counters[RAN_NS] += now - arrived;
	t = find_or_make(s, p, slot, index, arrived, 0);
	if (!t)
		return;
	unblock(t, slot, p, arrived);
	/* Less than before: the entry is that of an ended thread with the same id. */
	before = (__s64)(run_delay - t->run_delay) > 0 ? slot_of(s, cpu, t->slot) : 0;
	if (before)
		before->run_delay += run_delay - t->run_delay;
	t->run_delay = run_delay;
	if (t->waits)
		leave(s, t, c, cpu, now);
	before = t->slot == index ? 0 : slot_of(s, cpu, t->slot);
	if (before) {
		before->deaths++;
		before->died += arrived;
		slot->births++;
		slot->born += arrived;
	}
	t->slot = index;
	/* As sched_info_depart asks, which begins a wait for the kernel. */
	if (p->__state)
		block(s, p, t, slot, now);
	else
		begin(s, p, t, index, slot, c, cpu, now);
}
