// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Wait attribution: whenever a thread of the watched group could run and did not, what did its CPU do?
//
// Every run queue has a count of the watched threads that wait on it and a time up to which all waiting has been
// charged. At each event (switch, wake-up, move) the time since then is charged, once for each waiting thread, to what
// the CPU ran. Nothing is walked, so an event costs the same however many threads there are.
//
// The clock is `rq->clock`, which the kernel updates before these tracepoints and by which it counts `run_delay`
// (kernel/sched/stats.h): sums can be compared with that counter exactly. The lock of the run queue is held in
// sched_switch and sched_wakeup, so a queue has one writer, but for moves to it (below).
//
// Compiled by clang 14 (scripts/bpf-objects); the structures hold only what is read, and CO-RE finds the true offsets
// when the program is loaded. Runs on 6.1 and later.
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct kernfs_node {
	__u64 id;
};
struct cgroup {
	struct kernfs_node *kn;
};
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	int id;
	__u64 serial_nr;
	struct cgroup_subsys_state *parent;
};
struct cfs_rq;
struct task_group {
	struct cgroup_subsys_state css;
	struct cfs_rq **cfs_rq;
};
struct rq {
	__u64 clock;
	int cpu;
	__u64 prev_steal_time_rq; /* CONFIG_PARAVIRT_TIME_ACCOUNTING */
	__u64 prev_steal_time; /* CONFIG_PARAVIRT, counted in ticks */
};
struct cfs_rq {
	struct rq *rq;
	int throttle_count;
	__u64 throttled_clock_self; /* 6.6 */
	__u64 throttled_clock_self_time; /* 6.6 */
};
struct sched_entity {
	struct cfs_rq *cfs_rq;
};
struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};
struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	int pid;
	int tgid;
	char comm[16];
	struct sched_entity se;
	struct sched_info sched_info;
	struct task_group *sched_task_group;
};
#pragma clang attribute pop

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define INLINE static __always_inline
#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

/* Who is charged. Classes from OTHERS on are groups, numbered by user space. src/blame.rs has the same numbers. */
enum class { ROOT, KERNEL, IDLE, INTERRUPTS, QUOTA, HYPERVISOR, UNSEEN, OWN, OTHERS, CLASSES = 512 };

enum { CPUS = 256, SLOTS = 16, THREADS = 65536, CACHE = 4096, BUCKETS = 40, SEGMENTS = 64, LONGEST = 8, SHOWN = 12 };

/* Counters of events, of what went wrong, and of the cost. */
enum counter {
	SWITCHES, WAKEUPS, MOVES, TIMED, TIMED_NS, HIDDEN_SWITCHES, UNSEEN_WAITS, DROPPED_WAITS, DROPPED_NS, LOST_MOVES,
	COUNTERS = 16
};

/* What a CPU ran up to `until`. */
struct segment {
	__u64 until;
	__u32 class;
	__u32 pid;
};

/* One of the longest waits that ended on a CPU, with what the CPU ran last before. */
struct wait {
	__u64 length;
	__u64 ended;
	__u64 quota; /* the part for which the group was throttled */
	__u64 pid;
	char name[16]; /* of the thread */
	struct segment last[SHOWN]; /* newest first */
};

/* Groups with a quota in their path have a slot each, since each is throttled by itself. Others share one. */
struct slot {
	__s32 waiting; /* only changed under the lock of the run queue */
	__s32 arrived; /* moved here: without the lock, so atomically */
	__u64 queue; /* address of the group's cfs_rq on this CPU */
	__u64 throttled; /* its throttled time so far; before 6.6 whether it is throttled */
	__u64 quota; /* throttled time charged here so far */
};

struct cpu {
	__u64 first; /* clock of the first event */
	__u64 last; /* clock up to which everything is charged */
	__s64 here; /* sum of `waiting` of all slots */
	__s64 moved; /* sum of `arrived` */
	__u64 began; /* sum of the times at which these waits began */
	__u64 pending; /* length of the wait that ended when the running thread was switched in */
	__u64 run_delay; /* what the kernel counted, of threads that were switched out here */
	__u64 interrupts, interrupt_since, interrupts_taken;
	__u64 steal_taken;
	__u32 interrupt_depth;
	__u32 running, pid; /* what runs */
	__u32 pad;
	__u64 segment; /* number of segments so far */
	__u64 floor; /* length of the shortest of `longest` */
	__u64 counters[COUNTERS];
	__u64 charged[CLASSES];
	__u64 lengths[BUCKETS]; /* waits by the logarithm of their length in ns */
	struct slot slots[SLOTS];
	struct segment segments[SEGMENTS]; /* a ring */
	struct wait longest[LONGEST];
};

/* The only variable, so that its offset in the map of all variables is known. */
struct memory {
	struct cpu cpus[CPUS];
	__u64 cache[CACHE]; /* of a group by its css id: serial number << 24 | slot << 16 | class */
};
struct memory memory;

struct settings {
	__u32 enabled; /* programs do nothing until all are attached, and stop at the same moment */
	__u32 process; /* watch this process and not a group */
	__u32 limited; /* bit mask of the slots with a quota in their path */
	__u32 slots; /* in use */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} settings SEC(".maps");

/* Class and slot of a group by its kernfs id; a group without an entry belongs to the nearest one above it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u32);
} groups SEC(".maps");

/*
 * What is known of a watched thread, by its id. Two threads rarely share an entry: then the later one takes it, unless
 * the former waits. An array, since neither locks nor allocations are wanted under the lock of a run queue.
 */
struct thread {
	__u32 pid;
	__u16 cpu;
	__u8 waits;
	__u8 slot;
	__u64 since; /* when its wait began */
	__u64 run_delay; /* as last read */
	__u64 quota; /* `slot.quota` when its wait began */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, THREADS);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

INLINE struct settings *enabled(void)
{
	__u32 zero = 0;
	struct settings *s = bpf_map_lookup_elem(&settings, &zero);
	return s && s->enabled ? s : 0;
}

/* An index that the verifier sees to be within bounds: clang would drop or move a mask that it finds needless. */
#define BOUNDED(index, size) ({ __u64 i = (index); asm volatile("%0 &= %1" : "+r"(i) : "i"((size) - 1)); i; })

INLINE struct cpu *cpu_of(__u32 cpu)
{
	return &memory.cpus[BOUNDED(cpu, CPUS)];
}

/* The CPU that counts is the one that runs the program, whichever run queue the event concerns. */
INLINE void count(enum counter counter, __u64 amount)
{
	cpu_of(bpf_get_smp_processor_id())->counters[counter] += amount;
}

INLINE struct slot *slot_of(struct cpu *c, __u32 slot)
{
	return &c->slots[BOUNDED(slot, SLOTS)];
}

/* The entry of a thread, if it has one. */
INLINE struct thread *find(struct task_struct *p)
{
	__u32 at = p->pid & (THREADS - 1);
	struct thread *t = bpf_map_lookup_elem(&threads, &at);
	return t && t->pid == p->pid ? t : 0;
}

/* The entry of a thread that was switched out or woken; a new one begins with what the kernel has counted so far. */
INLINE struct thread *find_or_make(struct task_struct *p, __u64 run_delay)
{
	__u32 at = p->pid & (THREADS - 1);
	struct thread *t = bpf_map_lookup_elem(&threads, &at);
	if (!t || (t->pid != p->pid && t->waits))
		return 0;
	if (t->pid != p->pid) {
		t->pid = p->pid;
		t->run_delay = run_delay;
	}
	return t;
}

/* Slot << 16 | class of a group. The walk upwards is done once for each group. */
INLINE __u32 class_of_group(struct task_group *group)
{
	struct cgroup_subsys_state *css = &group->css;
	__u64 serial = css->serial_nr;
	__u64 *cached = &memory.cache[css->id & (CACHE - 1)];
	__u64 known = *cached;
	__u32 class = ROOT;

	if (known >> 24 == serial)
		return known & 0xffffff;
#pragma clang loop unroll(disable)
	for (int level = 0; level < 24; level++) {
		__u64 id = css->cgroup->kn->id;
		__u32 *found = bpf_map_lookup_elem(&groups, &id);
		if (found) {
			class = *found;
			break;
		}
		css = css->parent;
		if (!css)
			break;
	}
	*cached = serial << 24 | (class & 0xffffff);
	return class;
}

INLINE __u32 class_of(struct settings *s, struct task_struct *p)
{
	__u32 class;

	if (!p->pid)
		return IDLE;
	if (s->process && p->tgid == s->process)
		return OWN;
	class = class_of_group(p->sched_task_group);
	if (class == ROOT && p->flags & PF_KTHREAD)
		return KERNEL;
	return class;
}

INLINE int is_watched(__u32 class)
{
	return (class & 0xffff) == OWN;
}

INLINE __u64 stolen(struct rq *rq)
{
	if (bpf_core_field_exists(rq->prev_steal_time_rq))
		return rq->prev_steal_time_rq;
	if (bpf_core_field_exists(rq->prev_steal_time))
		return rq->prev_steal_time;
	return 0;
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
		return since && now > since ? before + (now - since) : before;
	}
	bpf_probe_read_kernel(&depth, sizeof(depth), &q->throttle_count);
	return depth > 0;
}

/* How much of the last `all` ns the slot's group was throttled for. */
static __noinline __u64 throttled_part(struct slot *slot, __u64 now, __u64 all)
{
	__u64 before, part;

	if (!slot || !slot->queue)
		return 0;
	before = slot->throttled;
	slot->throttled = throttled(slot->queue, now);
	if (bpf_core_field_exists(((struct cfs_rq *)0)->throttled_clock_self_time))
		part = slot->throttled - before;
	else
		part = before ? all : 0;
	return part > all ? all : part;
}

/* Charges a time to what runs, once for each thread that waits: without interrupts, interrupts, stolen. */
static __noinline void distribute(struct cpu *c, __u64 now, __u64 run, __u64 interrupts, __u64 steal)
{
	__u32 zero = 0;
	struct settings *s = bpf_map_lookup_elem(&settings, &zero);
	if (!s || !c)
		return;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SLOTS; i++) {
		struct slot *slot = &c->slots[i];
		__s64 n;
		__u64 r = run, u = interrupts, t = steal;
		if (i >= s->slots)
			break;
		n = slot->waiting + slot->arrived;
		if (n <= 0)
			continue;
		if (s->limited & (1u << i)) {
			__u64 part = throttled_part(slot, now, r + u + t), cut;
			__sync_fetch_and_add(&c->charged[QUOTA], n * part);
			slot->quota += part;
			cut = part < r ? part : r;
			r -= cut;
			part -= cut;
			cut = part < u ? part : u;
			u -= cut;
			t -= part - cut;
		}
		__sync_fetch_and_add(&c->charged[c->running & (CLASSES - 1)], n * r);
		__sync_fetch_and_add(&c->charged[INTERRUPTS], n * u);
		__sync_fetch_and_add(&c->charged[HYPERVISOR], n * t);
	}
}

/* Charges everything up to `now` on this run queue. */
static __noinline void charge(struct cpu *c, __u64 now, __u64 steal_total)
{
	__u64 run, interrupts, steal;

	if (!c)
		return;
	if (!c->last) {
		c->first = c->last = now;
		c->interrupts_taken = c->interrupts;
		c->steal_taken = steal_total;
		return;
	}
	if ((__s64)(now - c->last) <= 0)
		return;
	run = now - c->last;
	c->last = now;
	interrupts = c->interrupts - c->interrupts_taken;
	steal = steal_total - c->steal_taken;
	if (c->here + c->moved <= 0) {
		c->interrupts_taken = c->interrupts;
		c->steal_taken = steal_total;
		return;
	}
	if (interrupts > run)
		interrupts = run;
	c->interrupts_taken += interrupts;
	run -= interrupts;
	c->steal_taken = steal_total;
	if (steal > run)
		steal = run;
	distribute(c, now, run - steal, interrupts, steal);
}

/* Remembers where the slot's throttled time is counted, before its first thread waits here. */
INLINE void watch_quota(struct settings *s, struct slot *slot, __u32 index, __u64 queue, __u64 now)
{
	if (!(s->limited & (1u << (index & (SLOTS - 1)))) || slot->waiting + slot->arrived > 0)
		return;
	slot->queue = queue;
	slot->throttled = throttled(queue, now);
}

INLINE void begin(struct settings *s, struct task_struct *p, __u32 class, __u32 cpu, __u64 now)
{
	struct cpu *c = cpu_of(cpu);
	__u32 index = class >> 16 & (SLOTS - 1);
	struct slot *slot = slot_of(c, index);
	struct thread *t = find_or_make(p, p->sched_info.run_delay);

	if (!t || t->waits)
		return;
	watch_quota(s, slot, index, (__u64)p->se.cfs_rq, now);
	t->waits = 1;
	t->cpu = cpu;
	t->slot = index;
	t->since = now;
	t->quota = slot->quota;
	slot->waiting++;
	c->here++;
	c->began += now;
}

/* Takes a waiting thread off the counts of the CPU on which it waits; `cpu` is the one whose lock is held. */
INLINE void leave(struct thread *t, __u32 cpu)
{
	struct cpu *c = cpu_of(t->cpu);
	struct slot *slot = slot_of(c, t->slot);

	t->waits = 0;
	if (t->cpu == cpu) {
		slot->waiting--;
		c->here--;
	} else {
		__sync_fetch_and_add(&slot->arrived, -1);
		__sync_fetch_and_add(&c->moved, -1);
	}
	__sync_fetch_and_add(&c->began, -t->since);
}

INLINE __u32 logarithm(__u64 value)
{
	__u32 result = 0;

	if (value >> 32)
		value >>= 32, result += 32;
	if (value >> 16)
		value >>= 16, result += 16;
	if (value >> 8)
		value >>= 8, result += 8;
	if (value >> 4)
		value >>= 4, result += 4;
	if (value >> 2)
		value >>= 2, result += 2;
	return result + (value >> 1 & 1);
}

/* Keeps a wait that is among the longest of this CPU, instead of the shortest of them. */
static __noinline void keep(struct cpu *c, struct task_struct *p, __u64 length, __u64 quota)
{
	__u32 at = 0;
	__u64 shortest = ~0ull;
	struct wait *w;

	if (!c || !p)
		return;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < LONGEST; i++)
		if (c->longest[i].length < shortest) {
			shortest = c->longest[i].length;
			at = i;
		}
	w = &c->longest[at & (LONGEST - 1)];
	w->length = length;
	w->ended = c->last;
	w->quota = quota;
	w->pid = p->pid;
	bpf_probe_read_kernel(w->name, sizeof(w->name), &p->comm);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SHOWN; i++)
		w->last[i] = c->segments[(c->segment - 1 - i) & (SEGMENTS - 1)];
	shortest = length;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < LONGEST; i++)
		if (c->longest[i].length < shortest)
			shortest = c->longest[i].length;
	c->floor = shortest;
}

INLINE void ended(struct cpu *c, struct task_struct *p, __u64 length, __u64 quota)
{
	__u32 bucket = logarithm(length);

	c->lengths[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
	c->pending = length;
	if (length > c->floor)
		keep(c, p, length, quota);
}

/* A wait whose beginning was not shown: the kernel knows its length, nobody who ran meanwhile. */
INLINE void charge_unseen(struct cpu *c, struct task_struct *p, __u64 now)
{
	__u64 queued = p->sched_info.last_queued, since = queued > c->first ? queued : c->first;
	struct thread *t;

	if (!queued || (__s64)(now - since) <= 0)
		return;
	/* What was waited before the first event is not ours, but the kernel will count it now. */
	t = find_or_make(p, p->sched_info.run_delay + (since - queued));
	if (!t) {
		count(DROPPED_WAITS, 1);
		count(DROPPED_NS, now - since);
		return;
	}
	__sync_fetch_and_add(&c->charged[UNSEEN], now - since);
	count(UNSEEN_WAITS, 1);
	ended(c, p, now - since, 0);
}

/* A wait of which neither the beginning nor the end was shown: only the kernel counted it. */
INLINE void charge_hidden(struct cpu *c, struct thread *t, struct task_struct *p)
{
	__u64 run_delay = p->sched_info.run_delay;

	if ((__s64)(run_delay - t->run_delay) <= 0)
		return;
	__sync_fetch_and_add(&c->charged[UNSEEN], run_delay - t->run_delay);
	count(UNSEEN_WAITS, 1);
}

/* A thread is switched in. */
INLINE void end(struct task_struct *p, __u32 class, __u32 cpu, __u64 now)
{
	struct cpu *c = cpu_of(cpu);
	struct thread *t;

	c->pending = 0;
	/* A thread may have left the group while it waited. */
	if (!is_watched(class) && c->here + c->moved <= 0)
		return;
	t = find(p);
	if (t && t->waits) {
		__u64 quota = slot_of(c, t->slot)->quota - t->quota, length = now - t->since;
		int same = t->cpu == cpu;
		leave(t, cpu);
		if ((__s64)length >= 0)
			ended(c, p, length, same && quota <= length ? quota : 0);
	} else if (is_watched(class)) {
		charge_unseen(c, p, now);
	}
}

/* A thread is switched out: what the kernel counted for it since the last time is complete now. */
INLINE void depart(struct settings *s, struct task_struct *p, __u32 class, __u32 cpu, __u64 now)
{
	struct cpu *c = cpu_of(cpu);
	__u64 run_delay = p->sched_info.run_delay;
	struct thread *t = find_or_make(p, run_delay);

	if (t) {
		/* Less than before: the entry is that of an ended thread with the same id. */
		if (run_delay > t->run_delay)
			c->run_delay += run_delay - t->run_delay;
		t->run_delay = run_delay;
		if (t->waits)
			leave(t, cpu);
	}
	/* As sched_info_depart asks, which begins a wait for the kernel. */
	if (!p->__state)
		begin(s, p, class, cpu, now);
}

/* Programs have the names of their tracepoints, by which the loader attaches them. One event in 64 is timed. */
INLINE __u64 start_timing(void)
{
	struct cpu *c = cpu_of(bpf_get_smp_processor_id());
	return (c->counters[SWITCHES] + c->counters[WAKEUPS]) & 63 ? 0 : bpf_ktime_get_ns();
}

INLINE void stop_timing(__u64 start)
{
	if (!start)
		return;
	count(TIMED, 1);
	count(TIMED_NS, bpf_ktime_get_ns() - start);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct settings *s = enabled();
	if (!s)
		return 0;
	__u64 start = start_timing();
	struct rq *rq = next->se.cfs_rq->rq;
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu *c = cpu_of(cpu);
	__u64 now = rq->clock, steal = stolen(rq);
	__u32 from = class_of(s, prev), to = class_of(s, next);

	if (cpu >= CPUS)
		return 0;
	if (c->pid != prev->pid) {
		/*
		 * Some hosts do not show every switch. The kernel noted when prev was switched in: what ran before
		 * is charged up to there, and its wait, if any, ended there.
		 */
		__u64 then = prev->sched_info.last_arrival;
		struct thread *t = find(prev);
		if (c->last && prev->pid && (__s64)(then - c->last) > 0)
			charge(c, then, steal);
		if (t && t->waits)
			leave(t, cpu);
		else if (t && is_watched(from))
			charge_hidden(c, t, prev);
		c->running = from & 0xffff;
		c->pid = prev->pid;
		count(HIDDEN_SWITCHES, 1);
	}
	charge(c, now, steal);
	struct segment *segment = &c->segments[c->segment++ & (SEGMENTS - 1)];
	segment->until = now;
	segment->class = c->running;
	segment->pid = prev->pid;
	end(next, to, cpu, now);
	if (is_watched(from))
		depart(s, prev, from, cpu, now);
	c->running = to & 0xffff;
	c->pid = next->pid;
	count(SWITCHES, 1);
	stop_timing(start);
	return 0;
}

INLINE int woken(struct task_struct *p, int is_new)
{
	struct settings *s = enabled();
	struct thread *t;
	__u64 start;
	__u32 class;
	struct rq *rq;

	if (!s)
		return 0;
	start = start_timing();
	class = class_of(s, p);
	/* A thread that is woken before it was switched out does not wait (ttwu_runnable). */
	if (!is_watched(class) || p->on_cpu)
		return 0;
	rq = p->se.cfs_rq->rq;
	if ((__u32)rq->cpu >= CPUS)
		return 0;
	/* An ended thread may have had the same id. */
	t = is_new ? find(p) : 0;
	if (t && !t->waits)
		t->run_delay = p->sched_info.run_delay;
	charge(cpu_of(rq->cpu), rq->clock, stolen(rq));
	begin(s, p, class, rq->cpu, rq->clock);
	count(WAKEUPS, 1);
	stop_timing(start);
	return 0;
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

/*
 * A thread is moved. The lock of the queue that it leaves is held, not the other's: the time of that queue is charged
 * up to now only if its `last` can be changed in one step, and the thread is counted atomically.
 */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(sched_migrate_task, struct task_struct *p, int to)
{
	struct settings *s = enabled();
	struct thread *t;
	struct rq *rq;
	struct cpu *c;
	struct slot *slot;
	__u64 now, last, queue = 0, *queues;

	if (!s || !is_watched(class_of(s, p)) || (__u32)to >= CPUS)
		return 0;
	t = find(p);
	if (!t || !t->waits)
		return 0;
	rq = p->se.cfs_rq->rq;
	now = rq->clock;
	charge(cpu_of(t->cpu), now, stolen(rq));
	leave(t, t->cpu);

	c = cpu_of(to);
	last = c->last;
	if (last && (__s64)(now - last) > 0) {
		if (__sync_val_compare_and_swap(&c->last, last, now) == last)
			distribute(c, now, now - last, 0, 0);
		else
			count(LOST_MOVES, 1);
	}
	slot = slot_of(c, t->slot);
	queues = (__u64 *)p->sched_task_group->cfs_rq;
	bpf_probe_read_kernel(&queue, sizeof(queue), queues + to);
	watch_quota(s, slot, t->slot, queue, now);
	t->waits = 1;
	t->cpu = to;
	t->quota = slot->quota;
	__sync_fetch_and_add(&slot->arrived, 1);
	__sync_fetch_and_add(&c->moved, 1);
	__sync_fetch_and_add(&c->began, t->since);
	count(MOVES, 1);
	return 0;
}

/* Interrupts nest: a softirq is interrupted by an irq. */
INLINE int enter_interrupt(void)
{
	struct cpu *c = cpu_of(bpf_get_smp_processor_id());
	if (c->interrupt_depth++ == 0)
		c->interrupt_since = bpf_ktime_get_ns();
	return 0;
}

INLINE int leave_interrupt(void)
{
	struct cpu *c = cpu_of(bpf_get_smp_processor_id());
	if (c->interrupt_depth && --c->interrupt_depth == 0)
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
	return enter_interrupt();
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit)
{
	return leave_interrupt();
}
