// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// What a thread that wants no CPU waits for, by its state and the system call that it is in, and for how long.

enum {
	INTERRUPTIBLE = 1,
	UNINTERRUPTIBLE = 2,
	STOPPED_OR_TRACED = 4 | 8,
	DEAD = 0x80,
	NOLOAD = 0x400,
	FROZEN = 0x8000, /* 6.1 */
}; /* include/linux/sched.h */

INLINE __u32 call_of(struct task_struct *p)
{
	struct pt_regs___call *regs = (void *)bpf_task_pt_regs(p);

	if (bpf_core_field_exists(regs->orig_ax))
		return regs->orig_ax;
	if (bpf_core_field_exists(regs->syscallno))
		return regs->syscallno;
	return CALLS;
}

/* A thread in the freezer of cgroup2 has an interruptible state and this mark, one in that of v1 a state of its own. */
/* The macro has a `p` of its own. */
INLINE __u32 kind_of(struct settings *s, struct task_struct *task, __u32 state)
{
	__u32 call;

	if (state & STOPPED_OR_TRACED)
		return BLOCKED_STOPPED;
	if (state & FROZEN || BPF_CORE_READ_BITFIELD(task, frozen))
		return BLOCKED_FROZEN;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		return BLOCKED_DISK;
	if ((state & (UNINTERRUPTIBLE | NOLOAD)) == UNINTERRUPTIBLE)
		return BLOCKED_KERNEL;
	if (task->flags & PF_KTHREAD)
		return BLOCKED_OTHER;
	call = call_of(task);
	return call < CALLS ? s->kinds[BOUNDED(call, CALLS)] : BLOCKED_OTHER;
}

INLINE void unblock(struct thread *t, struct slot *slot, __u64 now)
{
	if (t->blocked && (__s64)(now - t->blocked) > 0)
		slot->blocked[BOUNDED(t->kind, KINDS)] += now - t->blocked;
	t->blocked = 0;
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
	t->kind = kind_of(s, p, state);
	t->blocked = now;
}

/*
 * A thread is woken of which no departure was seen. One that nothing is known of has been blocked since the watch began. Another
 * one ran since it was switched in, and then was blocked, for how long each is not known.
 */
INLINE void find_unseen(struct settings *s, struct task_struct *p, struct thread *t, int is_known)
{
	__u64 arrived = p->sched_info.last_arrival;

	if (t->blocked || t->waits)
		return;
	t->kind = is_known ? BLOCKED_UNSEEN : kind_of(s, p, INTERRUPTIBLE);
	t->blocked = arrived > memory.began ? arrived : memory.began;
}
