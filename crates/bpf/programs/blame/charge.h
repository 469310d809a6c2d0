// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Charging: the time since the last event of a run queue goes to what its CPU did, once for each waiting thread.

INLINE __u64 stolen(struct rq *rq)
{
	if (bpf_core_field_exists(rq->prev_steal_time_rq))
		return rq->prev_steal_time_rq;
	if (bpf_core_field_exists(rq->prev_steal_time))
		return rq->prev_steal_time;
	return 0;
}

/*
 * Without branches: the verifier follows the paths through the loop over slots one by one, and gives up after a million
 * instructions.
 */
INLINE __u64 positive(__s64 value)
{
	return value & ~(value >> 63);
}

INLINE __u64 greater(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

INLINE __u64 lesser(__u64 a, __u64 b)
{
	return a - positive(a - b);
}

/* All bits if the value is not 0. */
INLINE __u64 mask_if(__u64 value)
{
	return (__s64)(value | -value) >> 63;
}

/* Throttled time of a queue so far; before 6.6, which does not count it for each queue, whether it is throttled. */
INLINE __u64 throttled(__u64 address, __u64 now)
{
	struct cfs_rq *q = (void *)address;
	__u64 since = 0, before = 0;
	int depth = 0;

	if (bpf_core_field_exists(q->throttled_clock_self_time)) {
		bpf_probe_read_kernel(&since, sizeof(since), &q->throttled_clock_self);
		bpf_probe_read_kernel(&before, sizeof(before), &q->throttled_clock_self_time);
		return before + (positive(now - since) & mask_if(since));
	}
	bpf_probe_read_kernel(&depth, sizeof(depth), &q->throttle_count);
	return depth;
}

/*
 * Since 6.18 a quota holds threads one by one, when they return to user mode (throttle_cfs_rq_work); others of the group are served
 * until then. A thread that waits meanwhile does so for its turn.
 */
INLINE int holds_threads(void)
{
	return bpf_core_field_exists(((struct task_struct *)0)->throttled);
}

/* How many waiting threads of the slot the quota holds. */
INLINE __u64 held_by_quota(struct slot *slot)
{
	__u64 waiting = (__s64)slot->waiting;

	return holds_threads() ? lesser(slot->held, waiting) : waiting;
}

/* A quota that no longer holds a thread of the queue has let all of them go (tg_unthrottle_up). */
INLINE void release(struct slot *slot)
{
	struct cfs_rq *q = (void *)slot->queue;
	__u64 since = 0;

	if (!holds_threads() || !slot->held)
		return;
	bpf_probe_read_kernel(&since, sizeof(since), &q->throttled_clock_self);
	if (since)
		return;
	slot->held = 0;
	slot->releases++;
}

/* How much of the last `all` ns the slot's group was throttled for. */
INLINE __u64 throttled_part(struct slot *slot, __u64 now, __u64 all)
{
	__u64 before = slot->throttled;

	slot->throttled = throttled(slot->queue, now);
	if (bpf_core_field_exists(((struct cfs_rq *)0)->throttled_clock_self_time))
		return lesser(slot->throttled - before, all);
	return all & mask_if(before);
}

/* Takes what the quota was to blame for off the other parts. */
static __noinline void cut_quota(struct slot *slot, struct elapsed *e)
{
	__u64 part = throttled_part(slot, e->now, e->run + e->interrupts + e->steal), cut;

	slot->quota += part;
	e->quota = part;
	cut = lesser(part, e->run);
	e->run -= cut;
	part -= cut;
	cut = lesser(part, e->interrupts);
	e->interrupts -= cut;
	e->steal -= part - cut;
}

/* Counts the threads that were moved here, and takes off what is then charged too much for them. */
static __noinline void take_over(struct cpu *c, struct slot *slot, __u64 bit)
{
	__sync_fetch_and_and(&c->arrived, ~bit);
	slot->waiting += __sync_lock_test_and_set(&slot->arrived, 0);
	slot->began += __sync_lock_test_and_set(&slot->arrived_began, 0);
	slot->charged[BOUNDED(c->running, CLASSES)] -= __sync_lock_test_and_set(&slot->arrived_credit, 0);
	c->waiting = (c->waiting & ~bit) | (bit & mask_if(positive(slot->waiting)));
}

INLINE void add_charged(struct cpu *c, struct slot *slot, struct elapsed *e, __u64 n)
{
	slot->charged[BOUNDED(c->running, CLASSES)] += n * e->run;
	if (!(e->interrupts | e->steal))
		return;
	slot->charged[INTERRUPTS] += n * e->interrupts;
	slot->charged[HYPERVISOR] += n * e->steal;
}

/* What the quota takes off the other parts is taken off for this slot alone, and for the threads that it holds. */
static __noinline void charge_limited(struct cpu *c, struct slot *slot)
{
	__u64 held = held_by_quota(slot);
	struct elapsed *e = &c->limited;

	*e = c->elapsed;
	add_charged(c, slot, e, (__s64)slot->waiting - held);
	cut_quota(slot, e);
	add_charged(c, slot, e, held);
	slot->charged[QUOTA] += held * e->quota;
	release(slot);
}

static __noinline void charge_slot(struct settings *s, struct cpu *c, __u32 cpu, __u32 index)
{
	struct slot *slot = slot_of(s, cpu, index);

	if (!slot)
		return;
	if (c->arrived >> index & 1)
		take_over(c, slot, 1ull << index);
	if (s->limited >> index & 1)
		charge_limited(c, slot);
	else
		add_charged(c, slot, &c->elapsed, (__s64)slot->waiting);
}

/* The number of the lowest bit that is set: how many are below it. */
INLINE __u32 lowest(__u64 bits)
{
	__u64 x = (bits & -bits) - 1;

	x -= x >> 1 & 0x5555555555555555;
	x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return BOUNDED(x * 0x0101010101010101 >> 56, SLOTS);
}

static __noinline void charge_slots(struct settings *s, struct cpu *c, __u32 cpu, __u64 left)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < SLOTS; i++) {
		if (!left)
			break;
		charge_slot(s, c, cpu, lowest(left));
		left &= left - 1;
	}
}

static __noinline void begin_charging(struct cpu *c, __u64 now, __u64 steal_total)
{
	c->first = now;
	if (!memory.began)
		memory.began = now;
	c->interrupts_taken = c->interrupts;
	c->steal_taken = steal_total;
	/* What runs is known from the first switch on. */
	if (!c->switches && !c->hidden_switches)
		c->running = UNSEEN;
	/* A thread that was moved here may wait already. */
	__sync_val_compare_and_swap(&c->last, 0, now);
}

/* Takes what interrupts and the hypervisor took off the time; of more than that the rest is taken off the next time. */
INLINE void part(struct cpu *c, struct elapsed *e)
{
	__u64 interrupts = c->interrupts - c->interrupts_taken;

	e->interrupts = interrupts < e->run ? interrupts : e->run;
	c->interrupts_taken += e->interrupts;
	e->run -= e->interrupts;
	if (e->steal > e->run)
		e->steal = e->run;
	e->run -= e->steal;
}

/*
 * Charges everything up to `now` on this run queue. Inline, with the one call that is needed: every switch and wake-up
 * does it, and most often no thread waits, or threads of the first slot alone.
 */
INLINE void charge(struct settings *s, struct cpu *c, __u32 cpu, __u64 now, __u64 steal_total)
{
	__u64 left = c->waiting | c->arrived, run;
	struct elapsed *e = &c->elapsed;

	if (!c->first)
		begin_charging(c, now, steal_total);
	run = now - c->last;
	if ((__s64)run <= 0)
		return;
	e->now = now;
	e->run = run;
	e->steal = steal_total - c->steal_taken;
	c->last = now;
	c->steal_taken = steal_total;
	if (!left) {
		c->interrupts_taken = c->interrupts;
		return;
	}
	part(c, e);
	if (left == 1)
		charge_slot(s, c, cpu, 0);
	else
		charge_slots(s, c, cpu, left);
}

/* The same where it happens rarely. */
static __noinline void charge_apart(struct settings *s, struct cpu *c, __u32 cpu, __u64 now, __u64 steal_total)
{
	charge(s, c, cpu, now, steal_total);
}
