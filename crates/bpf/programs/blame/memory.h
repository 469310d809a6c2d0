// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// What the programs remember and count. The loader gives `cpus`, `slots` and `groups` as many entries as this host has
// CPUs and this watch has groups; crates/blame/src/counted.rs reads the same layout.

#include "../known_groups.h"
#include "../logarithm.h"
#include "../timing.h"

/* Who is charged. Groups follow, numbered by user space. crates/blame/src/culprit.rs has the same numbers. */
enum class { ROOT, KERNEL, IDLE, INTERRUPTS, QUOTA, HYPERVISOR, UNSEEN, CLASSES = 512 };

/* Groups that wait: the verifier of Linux before 6.18 gives up on many (blame_few.bpf.c). */
#ifndef SLOTS
#define SLOTS 64
#endif

enum { BUCKETS = 40, SEGMENTS = 64, LONGEST = 8, SHOWN = 12, MASK_WORDS = 4 };

/* Sets of CPUs to which threads are bound. */
#ifndef MASKS
#define MASKS 16
#endif

/* A power of two: threads whose ids are equal modulo this share an entry. */
enum { THREADS = 65536 };

/* What threads that want no CPU wait for; crates/blame/src/thread_time.rs has the same numbers. */
enum blocked {
	BLOCKED_OTHER,
	BLOCKED_READ,
	BLOCKED_WRITE,
	BLOCKED_EVENTS,
	BLOCKED_TIME,
	BLOCKED_FUTEX,
	BLOCKED_CHILD,
	BLOCKED_FILE_LOCK,
	BLOCKED_DISK,
	BLOCKED_KERNEL,
	BLOCKED_STOPPED,
	BLOCKED_FROZEN,
	BLOCKED_UNSEEN,
	BLOCKED_UNSERVED, /* not blocked: it could run throughout */
	BLOCKED_RAN, /* not blocked: it ran throughout */
	KINDS = 16
};

/* System calls that are told apart. */
enum { CALLS = 512 };

/* The place of a group or thread, and the number of a known group: its slot, from 1 on if it is watched, and its class. */
#define SLOT(place) ((place) >> 12)
#define CLASS(place) ((place) & 0xfff)

struct settings {
	__u32 enabled; /* programs do nothing until all are attached, and stop at the same moment */
	__u32 process; /* watch this process and not groups */
	__u32 process_place;
	__u32 slots; /* in use */
	__u32 cpus;
	__u32 unified; /* groups are those of cgroup2 */
	__u64 limited; /* bit mask of the slots with a quota in their path */
	__u8 kinds[CALLS]; /* what is waited for in each system call */
};

/* What a CPU ran up to `until`. */
struct segment {
	__u64 until;
	__u32 class;
	__u32 pid;
};

/* Time since the last event of a run queue. */
struct elapsed {
	__u64 now;
	__u64 run; /* without the others */
	__u64 interrupts;
	__u64 steal;
	__u64 quota;
};

/* What is kept of a wait that ended. */
struct ended {
	__u64 length;
	__u64 quota;
	__u64 idle_elsewhere;
};

struct cpu {
	__u64 first; /* clock of the first event */
	__u64 last; /* clock up to which everything is charged */
	__u64 waiting; /* bit mask of slots with threads that wait; only changed under the lock of the run queue */
	__u64 arrived; /* the same of slots whose `arrived` has changed: without the lock, so atomically */
	__u64 pending; /* length of the wait that ended when the running thread was switched in */
	__u64 pending_slot;
	__u64 interrupts, interrupt_since, interrupts_taken;
	__u64 steal_taken;
	__u64 idle_since; /* 0: it is not idle, as far as known */
	__u64 idle_time; /* of ended idle times */
	__u64 idle_in; /* bit mask of the `masks` that count it as idle; changed atomically */
	__u32 interrupt_depth;
	__u32 running, pid; /* what runs */
	__u32 pad;
	__u64 segment; /* number of segments so far */
	__u64 switches;
	struct timing timing;
	__u64 hidden_switches;
	__u64 unused[3];
	struct segment segments[SEGMENTS]; /* a ring */
	/*
	 * What functions hand to each other, under the lock of the run queue. Not on the stack: the verifier of Linux 7.3 takes what only
	 * a function further down reads for dead, and refuses the reading.
	 */
	struct elapsed elapsed, limited;
	struct ended ended;
};

/* One of the longest waits that ended on a CPU, with what the CPU ran last before. */
struct wait {
	__u64 length;
	__u64 ended;
	__u64 quota; /* the part for which the group was throttled */
	__u64 idle_elsewhere;
	__u64 pid;
	char name[16]; /* of the thread */
	struct segment last[SHOWN]; /* newest first */
};

/* Counters of a slot on a CPU. */
enum slot_counter { WAKEUPS, MOVES, UNSEEN_WAITS, DROPPED_WAITS, DROPPED_NS, LOST_MOVES, OTHER_MASKS, RAN_NS, SLOT_COUNTERS };

/*
 * The waiting of a watched group on a CPU. Groups with a quota in their path have a slot each, since each is throttled
 * by itself; other groups below a watched one share its slot.
 */
struct slot {
	__s32 waiting; /* only changed under the lock of the run queue */
	__s32 arrived; /* what moves add to it: without the lock, so atomically; `waiting` takes it over */
	__u64 began; /* sum of the times at which these waits began */
	__u64 arrived_began;
	__u64 arrived_credit; /* what is charged too much for `arrived`: from `cpu.last` to the move */
	__u64 queue; /* address of the group's cfs_rq on this CPU, once a thread of it waited there */
	__u64 throttled; /* its throttled time so far; before 6.6 whether it is throttled */
	__u64 quota; /* throttled time charged here so far */
	__u64 run_delay; /* what the kernel counted, of threads that were switched out here */
	__u64 idle_elsewhere; /* of ended waits: an idle CPU was there that the thread may use */
	__u64 floor; /* length of the shortest of `longest` */
	__u32 held; /* since 6.18: how many of `waiting` the quota holds */
	__u32 releases; /* how often it let them go */
	__u64 counters[SLOT_COUNTERS];
	__u64 charged[CLASSES]; /* ns; only changed under the lock of the run queue */
	__u64 lengths[BUCKETS]; /* waits by the logarithm of their length in ns */
	struct wait longest[LONGEST];
	__u64 blocked[KINDS]; /* ns of threads that wanted no CPU, and want one again */
	/* Threads that began or came, and that ended or are no longer followed, with the sums of when. */
	__u64 births, born, deaths, died;
	__u64 moved; /* threads that went to another group and were not seen there */
};

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
	__u64 quota; /* `slot.quota` when its wait began on this CPU */
	__u32 mask; /* from 1 on: the entry of `masks` with the CPUs that it may use */
	__u32 held; /* `slot.releases` + 1 when the quota held it */
	__u64 any_idle, own_idle; /* idle times of these CPUs and of its own when its wait began on this CPU */
	__u64 idle_elsewhere; /* of its wait on CPUs from which it was moved */
	__u64 blocked; /* since when it has wanted no CPU, or BEFORE; 0: it wants one */
	__u32 kind; /* what it waits for; KINDS: it has ended */
	__u32 holder; /* class + 1 of who held the lock of the kernel for which it waits, when that began */
	__u64 moved; /* of its wait: when it was last moved, less `run_delay` then; 0: it was not */
	__u64 lock; /* of `holder` */
};

/* Instead of when a thread was blocked: before the first event. If none follows, its kind says what it did throughout. */
#define BEFORE 1

/* For how long at least one of some CPUs has been idle. */
struct mask {
	__u64 bits[MASK_WORDS];
	__u64 time; /* ends less starts of these times */
	__s32 idle; /* how many are */
	__u32 ready;
};

/* The only variable. */
struct memory {
	__u64 began; /* clock of the first event of any CPU */
	__u64 cache[CACHE]; /* of places */
	struct mask masks[MASKS];
	__u64 masks_used;
};
struct memory memory;

#include "../switched.h"
/* ns of threads that waited for a lock of the kernel, by slot and by class of who held it. */
MAP(held, BPF_MAP_TYPE_ARRAY, __u32, __u64, 1);
MAP(threads, BPF_MAP_TYPE_ARRAY, __u32, struct thread, THREADS);
MAP(cpus, BPF_MAP_TYPE_ARRAY, __u32, struct cpu, 1);
/* By CPU and slot. */
MAP(slots, BPF_MAP_TYPE_ARRAY, __u32, struct slot, 1);

INLINE struct cpu *cpu_of(__u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

INLINE struct slot *slot_of(struct settings *s, __u32 cpu, __u32 slot)
{
	__u32 at = cpu * s->slots + slot;
	return bpf_map_lookup_elem(&slots, &at);
}

/* The entry of a thread, if it has one. */
INLINE struct thread *find(struct task_struct *p)
{
	__u32 at = p->pid & (THREADS - 1);
	struct thread *t = bpf_map_lookup_elem(&threads, &at);
	return t && t->pid == p->pid ? t : 0;
}
