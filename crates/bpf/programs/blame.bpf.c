// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Wait attribution: whenever a thread of a watched group could run and did not, what did its CPU do?
//
// Every run queue has a count of the threads of each watched group that wait on it and a time up to which all waiting
// has been charged. At each event (switch, wake-up, move) the time since then is charged, once for each waiting
// thread, to what the CPU ran. No threads are walked, only the groups that wait there.
//
// The clock is `rq->clock`, which the kernel updates before these tracepoints and by which it counts `run_delay`
// (kernel/sched/stats.h): sums can be compared with that counter exactly. The lock of the run queue is held in
// sched_switch and sched_wakeup, so a queue has one writer, but for moves to it (below).
//
// Compiled by clang 14 (scripts/bpf-objects). Runs on 6.1 and later.
#include "blame/kernel.h"
#include "blame/memory.h"
#include "blame/groups.h"
#include "blame/idle.h"
#include "blame/charge.h"
#include "blame/locks.h"
#include "blame/blocked.h"
#include "blame/waits.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/*
 * Some hosts do not show every switch. The kernel noted when prev was switched in: what ran before is charged up to
 * there, and its wait, if any, ended there.
 */
INLINE void heal(struct settings *s, struct cpu *c, __u32 cpu, struct task_struct *prev, __u32 from, __u64 steal)
{
	__u64 then = prev->sched_info.last_arrival;
	struct thread *t = find(prev);

	if (c->last && prev->pid && (__s64)(then - c->last) > 0)
		charge_apart(s, c, cpu, then, steal);
	if (prev->pid)
		leave_idle(c, c->last);
	/* At the first event of a CPU nothing is charged yet, unless a thread was moved there. */
	if (t && t->waits)
		leave(s, t, c, cpu, c->last ? c->last : then);
	else if (t && SLOT(from))
		charge_hidden(s, t, prev, cpu);
	c->running = CLASS(from);
	c->pid = prev->pid;
	c->hidden_switches++;
}

/* A thread that has left its group and was not seen since ends. */
static __noinline int end_elsewhere(struct settings *s, struct task_struct *p, __u32 cpu)
{
	struct thread *t = find(p);

	if (!t || t->kind == KINDS)
		return 0;
	count_moved(s, t, cpu);
	t->kind = KINDS;
	return 0;
}

/* Programs have the names of their tracepoints, by which the loader attaches them. */
SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct settings *s = enabled();
	__u32 cpu = bpf_get_smp_processor_id(), from, to;
	struct cpu *c = cpu_of(cpu);
	struct segment *segment;
	struct rq *rq;
	__u64 start, now, steal, last;

	if (!s || !c)
		return 0;
	start = start_timing(&c->timing);
	rq = next->se.cfs_rq->rq;
	now = rq->clock;
	steal = stolen(rq);
	from = place_of(s, prev);
	to = place_of(s, next);
	if (c->pid != prev->pid)
		heal(s, c, cpu, prev, from, steal);
	charge(s, c, cpu, now, steal);
	/* No interrupt is served here: the end of one was missed. */
	c->interrupt_depth = 0;
	last = c->segments[(c->segment - 1) & (SEGMENTS - 1)].until;
	segment = &c->segments[c->segment++ & (SEGMENTS - 1)];
	segment->until = now;
	segment->class = c->running;
	segment->pid = prev->pid;
	if (!prev->pid)
		leave_idle(c, now);
	end(s, next, to, c, cpu, now);
	if (SLOT(from))
		depart(s, prev, from, c, cpu, last, now);
	else if (prev->__state & DEAD)
		end_elsewhere(s, prev, cpu);
	if (!next->pid)
		enter_idle(c, cpu, now);
	c->running = CLASS(to);
	c->pid = next->pid;
	c->switches++;
	return stop_timing(&c->timing, start);
}

INLINE void start_wait(struct settings *s, struct task_struct *p, __u32 index, int is_new)
{
	struct rq *rq = p->se.cfs_rq->rq;
	__u64 now = rq->clock;
	struct cpu *c = cpu_of(rq->cpu);
	struct slot *slot = slot_of(s, rq->cpu, index);
	struct thread *t;

	if (!c || !slot)
		return;
	slot->counters[WAKEUPS]++;
	charge(s, c, rq->cpu, now, stolen(rq));
	t = find_or_make(s, p, slot, index, now, is_new);
	if (!t || t->waits)
		return;
	/* It was not shown how it was switched out: it ran since it was switched in, and then was blocked. */
	if (!t->blocked) {
		t->kind = BLOCKED_UNSEEN;
		t->blocked = p->sched_info.last_arrival;
	}
	unblock(t, slot, p, now);
	/*
	 * A thread that was moved while it slept on its queue (sched_delayed, 6.12) is queued for the kernel since then, and its sleep
	 * becomes run_delay: sched_info_enqueue keeps the first time, and nothing clears it when the thread leaves the queue.
	 */
	t->run_delay += now - p->sched_info.last_queued;
	begin(s, p, t, index, slot, c, rq->cpu, now);
}

INLINE int woken(struct task_struct *p, int is_new)
{
	struct settings *s = enabled();
	struct cpu *here = cpu_of(bpf_get_smp_processor_id());
	__u64 start;
	__u32 place;

	if (!s || !here)
		return 0;
	start = start_timing(&here->timing);
	place = place_of(s, p);
	/*
	 * A thread that has not left its run queue does not wait, as far as the kernel counts (ttwu_runnable): one woken before it
	 * was switched out, or preempted just before it slept, or kept there for who runs in its place (SCHED_PROXY_EXEC, 7.x).
	 */
	if (SLOT(place) && p->sched_info.last_queued)
		start_wait(s, p, BOUNDED(SLOT(place) - 1, SLOTS), is_new);
	return stop_timing(&here->timing, start);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(sched_wakeup, struct task_struct *p)
{
	return woken(p, 0);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(sched_wakeup_new, struct task_struct *p)
{
	return woken(p, 1);
}

/* A thread is moved. The lock of the queue that it leaves is held, not the other's. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(sched_migrate_task, struct task_struct *p, int to)
{
	struct settings *s = enabled();
	struct thread *t;
	struct rq *rq;
	struct cpu *from, *c;
	struct slot *slot;
	__u64 now;

	if (!s || !SLOT(place_of(s, p)))
		return 0;
	t = find(p);
	if (!t || !t->waits)
		return 0;
	c = cpu_of(to);
	from = cpu_of(t->cpu);
	slot = slot_of(s, to, t->slot);
	if (!c || !from || !slot)
		return 0;
	rq = p->se.cfs_rq->rq;
	now = rq->clock;
	charge_apart(s, from, t->cpu, now, stolen(rq));
	leave(s, t, from, t->cpu, now);
	count_moving(t, now - p->sched_info.run_delay);

	watch_quota(s, slot, t->slot & (SLOTS - 1), slot->queue, now);
	start_stay(t, c, to, slot, now);
	/* Before the first event of that CPU, which may take seconds, everything is charged from here on. */
	__sync_val_compare_and_swap(&c->last, 0, now);
	count_arrival(c, slot, t, 1, now);
	__sync_fetch_and_add(&slot->counters[MOVES], 1);
	return 0;
}

SEC("tp_btf/contention_begin")
int BPF_PROG(contention_begin, void *lock, unsigned int flags)
{
	struct settings *s = enabled();

	if (s)
		begin_contention(s, lock, flags);
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(contention_end, void *lock)
{
	if (enabled())
		end_contention(lock);
	return 0;
}

/*
 * Interrupts nest: a softirq is interrupted by an irq. On PREEMPT_RT softirqs are served by threads, which are preempted: there
 * they are part of what these threads do.
 */
INLINE int are_softirqs_threads(void)
{
	return bpf_core_field_exists(((struct task_struct *)0)->softirq_disable_cnt);
}

INLINE int enter_interrupt(void)
{
	struct cpu *c = cpu_of(bpf_get_smp_processor_id());
	if (c && c->interrupt_depth++ == 0)
		c->interrupt_since = bpf_ktime_get_ns();
	return 0;
}

INLINE int leave_interrupt(void)
{
	struct cpu *c = cpu_of(bpf_get_smp_processor_id());
	if (c && c->interrupt_depth && --c->interrupt_depth == 0)
		c->interrupts += bpf_ktime_get_ns() - c->interrupt_since;
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_handler_entry)
{
	return enter_interrupt();
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_handler_exit)
{
	return leave_interrupt();
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry)
{
	return are_softirqs_threads() ? 0 : enter_interrupt();
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit)
{
	return are_softirqs_threads() ? 0 : leave_interrupt();
}

/*
 * Runs for each thread before the first event, which most sleepers of a host are without, and after the last one: one that has moved
 * to another group meanwhile and was not seen there is still counted in its former one.
 */
SEC("iter/task")
int task(struct bpf_iter__task *walk)
{
	struct task_struct *p = walk->task;
	__u32 zero = 0, place, at;
	struct settings *s = bpf_map_lookup_elem(&settings, &zero);
	struct thread *t;

	if (!p || !s || p->__state & DEAD)
		return 0;
	place = place_of(s, p);
	at = p->pid & (THREADS - 1);
	t = bpf_map_lookup_elem(&threads, &at);
	if (!t)
		return 0;
	if (!memory.began) {
		if (SLOT(place))
			note(s, p, t, BOUNDED(SLOT(place) - 1, SLOTS));
	} else if (t->pid == p->pid && t->kind != KINDS) {
		if (SLOT(place) != t->slot + 1)
			count_moved(s, t, bpf_get_smp_processor_id());
		/* Between the two looks and the events it began something else. */
		if (t->blocked == BEFORE && t->kind != what_it_does(s, p))
			t->kind = BLOCKED_UNSEEN;
	}
	return 0;
}
