// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// The time of threads that want no CPU: what they wait for, by their state and the system call that they are in, and for how long.
// Which threads there are: their time is counted from when they are first seen until they end.

enum {
	UNINTERRUPTIBLE = 2,
	STOPPED_OR_TRACED = 4 | 8,
	DEAD = 0x80,
	NOLOAD = 0x400,
	RTLOCK_WAIT = 0x1000, /* 5.16 */
	FROZEN = 0x8000, /* 6.1 */
}; /* include/linux/sched.h */

/*
 * The threads that io_uring or vhost began have the registers of the thread that made them. The calls of a 32-bit program have other
 * numbers.
 */
INLINE __u32 call_of(struct task_struct *p)
{
	struct pt_regs___call *regs;

	if (p->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return CALLS;
	if (bpf_core_field_exists(p->thread_info.status) && p->thread_info.status & TS_COMPAT)
		return CALLS;
	regs = (void *)bpf_task_pt_regs(p);
	if (bpf_core_field_exists(regs->orig_ax))
		return regs->orig_ax;
	if (bpf_core_field_exists(regs->syscallno))
		return regs->syscallno;
	return CALLS;
}

/*
 * A thread in the freezer of cgroup2 has an interruptible state and a mark, which one that waits for its child of vfork has as well,
 * uninterruptibly (wait_for_vfork_done). One in the freezer of v1 has a state of its own. io_uring marks a thread that waits for
 * events as one that waits for a disk, but interruptibly (io_cqring_wait).
 */
INLINE __u32 kind_of(struct settings *s, struct task_struct *task, __u32 state)
{
	int is_deep = (state & (UNINTERRUPTIBLE | NOLOAD)) == UNINTERRUPTIBLE;
	__u32 call;

	if (state & STOPPED_OR_TRACED)
		return BLOCKED_STOPPED;
	if (state & FROZEN)
		return BLOCKED_FROZEN;
	if (BPF_CORE_READ_BITFIELD(task, frozen))
		return is_deep ? BLOCKED_CHILD : BLOCKED_FROZEN;
	if (is_deep && BPF_CORE_READ_BITFIELD(task, in_iowait))
		return BLOCKED_DISK;
	if (is_deep || state & RTLOCK_WAIT)
		return BLOCKED_KERNEL;
	call = call_of(task);
	return call < CALLS ? s->kinds[BOUNDED(call, CALLS)] : BLOCKED_OTHER;
}

/* A thread wants a CPU again. */
INLINE void unblock(struct thread *t, struct slot *slot, struct task_struct *p, __u64 now)
{
	__u64 since = greater(t->blocked, memory.began);

	/* What the kernel counted before the first event is not ours. One that was not blocked then was so soon after. */
	if (t->blocked == BEFORE) {
		t->run_delay = p->sched_info.run_delay;
		if (t->kind > BLOCKED_UNSEEN)
			t->kind = BLOCKED_UNSEEN;
	}
	if (t->blocked && (__s64)(now - since) > 0) {
		slot->blocked[BOUNDED(t->kind, KINDS)] += now - since;
		if (t->kind == BLOCKED_KERNEL && t->holder)
			count_held(t, now - since);
	}
	t->blocked = 0;
}

/* A thread is followed from now on, instead of one with an equal id, modulo THREADS, that has not ended. */
static __noinline void replace(struct settings *s, struct thread *t, struct task_struct *p, __u64 now)
{
	struct slot *slot = slot_of(s, p->se.cfs_rq->rq->cpu, t->slot);

	if (slot) {
		unblock(t, slot, p, now);
		slot->deaths++;
		slot->died += now;
	}
}

/* The entry of a thread. A new one is a thread that began, or that came into the group; nothing is known of it before. */
INLINE struct thread *find_or_make(struct settings *s, struct task_struct *p, struct slot *slot, __u32 index, __u64 now,
				   int is_new)
{
	__u32 at = p->pid & (THREADS - 1);
	struct thread *t = bpf_map_lookup_elem(&threads, &at);

	if (!t || (t->pid == p->pid && !is_new))
		return t;
	if (t->waits)
		return 0;
	if (t->pid && t->kind != KINDS)
		replace(s, t, p, now);
	t->pid = p->pid;
	t->slot = index;
	t->holder = 0;
	t->run_delay = p->sched_info.run_delay;
	t->blocked = now;
	t->kind = BLOCKED_UNSEEN;
	slot->births++;
	slot->born += now;
	return t;
}

/* A thread is switched out and wants no CPU. */
INLINE void block(struct settings *s, struct task_struct *p, struct thread *t, struct slot *slot, __u64 now)
{
	__u32 state = p->__state;

	if (state & DEAD) {
		slot->deaths++;
		slot->died += now;
		t->kind = KINDS;
		return;
	}
	t->kind = t->holder ? BLOCKED_KERNEL : kind_of(s, p, state);
	t->blocked = now;
}

INLINE __u32 what_it_does(struct settings *s, struct task_struct *p)
{
	__u32 state = p->__state;

	if (state)
		return kind_of(s, p, state);
	return p->sched_info.last_queued ? BLOCKED_UNSERVED : BLOCKED_RAN;
}

/* Before the first event. */
INLINE void note(struct settings *s, struct task_struct *p, struct thread *t, __u32 index)
{
	if (t->pid)
		return;
	t->pid = p->pid;
	t->slot = index;
	t->blocked = BEFORE;
	t->kind = what_it_does(s, p);
}

/* A thread that is still followed has gone to another group, where it was not seen. */
INLINE void count_moved(struct settings *s, struct thread *t, __u32 cpu)
{
	struct slot *slot = slot_of(s, cpu, t->slot);

	if (slot)
		slot->moved++;
}
