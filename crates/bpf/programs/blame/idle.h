// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Was there an idle CPU that a waiting thread may use? For each set of CPUs to which threads are bound it is known for
// how long at least one of them has been idle; a wait reads that at both ends. A CPU is idle while its idle thread
// runs.

/* A CPU is counted in a set of which it is part, once. */
INLINE void count_idle(struct cpu *c, struct mask *m, __u64 bit, __u64 now)
{
	if (__sync_fetch_and_or(&c->idle_in, bit) & bit)
		return;
	if (__sync_fetch_and_add(&m->idle, 1) == 0)
		__sync_fetch_and_add(&m->time, -now);
}

INLINE void uncount_idle(struct mask *m, __u64 now)
{
	if (__sync_fetch_and_add(&m->idle, -1) == 1)
		__sync_fetch_and_add(&m->time, now);
}

INLINE int has_cpu(struct mask *m, __u32 cpu)
{
	return m->bits[cpu >> 6 & (MASK_WORDS - 1)] >> (cpu & 63) & 1;
}

static __noinline void enter_idle(struct cpu *c, __u32 cpu, __u64 now)
{
	c->idle_since = now;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MASKS; i++) {
		if (i >= memory.masks_used)
			break;
		if (memory.masks[i].ready && has_cpu(&memory.masks[i], cpu))
			count_idle(c, &memory.masks[i], 1ull << i, now);
	}
}

static __noinline void leave_idle(struct cpu *c, __u64 now)
{
	__u64 in;

	if (!c->idle_since)
		return;
	c->idle_time += now - c->idle_since;
	c->idle_since = 0;
	in = __sync_lock_test_and_set(&c->idle_in, 0);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MASKS; i++)
		if (in >> i & 1)
			uncount_idle(&memory.masks[i], now);
}

/* CPUs that are idle when a set becomes known; each may enter or leave that state meanwhile. */
INLINE void count_all_idle(struct settings *s, struct mask *m, __u64 bit, __u64 now)
{
#pragma clang loop unroll(disable)
	for (__u32 cpu = 0; cpu < 64 * MASK_WORDS; cpu++) {
		struct cpu *c;
		if (cpu >= s->cpus)
			break;
		c = has_cpu(m, cpu) ? cpu_of(cpu) : 0;
		if (!c || !c->idle_since)
			continue;
		count_idle(c, m, bit, now);
		if (!c->idle_since && __sync_fetch_and_and(&c->idle_in, ~bit) & bit)
			uncount_idle(m, now);
	}
}

/* The set of CPUs that a thread may use: its number from 1 on, or 0 if that is one CPU or there are too many sets. */
static __noinline __u32 mask_of(struct settings *s, struct task_struct *p, __u64 now)
{
	__u64 bits[MASK_WORDS] = { p->cpus_ptr->bits[0] }, at;
	struct mask *m;

	if (s->cpus > 64)
		bpf_probe_read_kernel(bits, sizeof(bits), p->cpus_ptr);
#pragma clang loop unroll(disable)
	for (at = 0; at < MASKS; at++) {
		if (at >= memory.masks_used)
			break;
		m = &memory.masks[at];
		if (m->bits[0] == bits[0] && m->bits[1] == bits[1] && m->bits[2] == bits[2] && m->bits[3] == bits[3])
			return m->ready ? at + 1 : 0;
	}
	if (at >= MASKS)
		return 0;
	at = __sync_fetch_and_add(&memory.masks_used, 1);
	if (at >= MASKS)
		return 0;
	m = &memory.masks[BOUNDED(at, MASKS)];
	__builtin_memcpy(m->bits, bits, sizeof(bits));
	__sync_lock_test_and_set(&m->ready, 1);
	count_all_idle(s, m, 1ull << at, now);
	return at + 1;
}

INLINE __u64 any_idle(__u32 mask, __u64 now)
{
	struct mask *m = &memory.masks[BOUNDED(mask - 1, MASKS)];
	return m->time + (m->idle > 0 ? now : 0);
}

INLINE __u64 own_idle(struct cpu *c, __u64 now)
{
	__u64 since = c->idle_since;
	return c->idle_time + (since ? now - since : 0);
}

/*
 * For how long since its wait began on this CPU another one was idle, while neither this CPU was nor the group was
 * throttled. The two may coincide, so that it is at least this long.
 */
INLINE __u64 idle_elsewhere(struct thread *t, struct cpu *c, __u64 quota, __u64 now)
{
	__u64 any, own;

	if (!t->mask)
		return 0;
	any = any_idle(t->mask, now) - t->any_idle;
	own = own_idle(c, now) - t->own_idle + quota;
	/* Another CPU may be between its two steps. */
	if (any > now - t->since)
		return 0;
	return (__s64)(any - own) > 0 ? any - own : 0;
}
