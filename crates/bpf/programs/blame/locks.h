// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Who holds the lock of the kernel for which a thread waits, as far as the lock says: a mutex, and a semaphore that somebody holds to
// write. Known when the wait begins; a thread behind others in the queue of a lock waits for several holders, and is told the first.

/* include/trace/events/lock.h, 5.19. Others spin, or have no owner. */
enum { LOCK_READ = 2, LOCK_WRITE = 4, LOCK_MUTEX = 32 };

/* The lowest bits of an owner (kernel/locking/mutex.c, rwsem.c); a reader may be gone by now. */
enum { READER_OWNED = 1, OWNER_FLAGS = 7 };

/* With PREEMPT_RT the locks have another shape. */
INLINE __u64 owner_of(void *lock, __u32 flags)
{
	__u64 owner = 0;

	if (!bpf_core_field_exists(((struct mutex *)0)->owner) || !bpf_core_field_exists(((struct rw_semaphore *)0)->owner))
		return 0;
	if (flags == LOCK_MUTEX)
		bpf_probe_read_kernel(&owner, sizeof(owner), &((struct mutex *)lock)->owner);
	else if (flags == LOCK_READ || flags == LOCK_WRITE)
		bpf_probe_read_kernel(&owner, sizeof(owner), &((struct rw_semaphore *)lock)->owner);
	return flags != LOCK_MUTEX && owner & READER_OWNED ? 0 : owner & ~(__u64)OWNER_FLAGS;
}

/* As place_of, of a task that may end meanwhile. */
static __noinline __u32 class_of_owner(struct settings *s, __u64 owner)
{
	struct task_struct *p = (void *)owner;
	struct cgroup_subsys_state *css;

	if (s->process && BPF_CORE_READ(p, tgid) == s->process)
		return CLASS(s->process_place);
	css = s->unified ? &BPF_CORE_READ(p, cgroups, dfl_cgrp)->self : &BPF_CORE_READ(p, sched_task_group)->css;
#pragma clang loop unroll(disable)
	for (int level = 0; css && level < LEVELS; level++) {
		__u64 id = BPF_CORE_READ(css, cgroup, kn, id);
		__u32 *found = bpf_map_lookup_elem(&groups, &id);

		if (found)
			return CLASS(*found);
		css = BPF_CORE_READ(css, parent);
	}
	return BPF_CORE_READ(p, flags) & PF_KTHREAD ? KERNEL : ROOT;
}

INLINE void begin_contention(struct settings *s, void *lock, __u32 flags)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct thread *t;
	__u64 owner;

	/* Spinlocks first, which are the most. */
	if ((flags != LOCK_MUTEX && flags != LOCK_READ && flags != LOCK_WRITE) || !SLOT(place_of(s, p)))
		return;
	t = find(p);
	owner = t ? owner_of(lock, flags) : 0;
	if (!owner)
		return;
	t->holder = class_of_owner(s, owner) + 1;
	t->lock = (__u64)lock;
}

/* Before it sleeps for this lock a thread may have waited for others, such as the spinlock of its queue. */
INLINE void end_contention(void *lock)
{
	struct thread *t = find(bpf_get_current_task_btf());

	if (t && t->lock == (__u64)lock)
		t->holder = 0;
}

/* A thread has waited for a lock. */
INLINE void count_held(struct thread *t, __u64 ns)
{
	__u32 at = (t->slot & (SLOTS - 1)) * CLASSES + BOUNDED(t->holder - 1, CLASSES);
	__u64 *sum = bpf_map_lookup_elem(&held, &at);

	if (sum)
		__sync_fetch_and_add(sum, ns);
}
