// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// What threads of a watched group wait for memory: reclaim, by the limit that asked for it, the delay of memory.high,
// compaction, and pages that are read back after they were evicted. And who evicted the group's page cache, and who
// filled the machine with his own meanwhile.
//
// Reclaim and compaction have tracepoints at both ends: the whole time between them counts, with what the thread slept or
// waited for a CPU. The rest is seen at switches: the kernel marks a thread that is stalled for memory (psi_memstall_enter,
// kernel/sched/psi.c), and it is either in an I/O wait (a page is read back, from a file or from swap) or sleeps as
// memory.high tells it to (__mem_cgroup_handle_over_high, mm/memcontrol.c).
//
// Compiled by clang 14 (scripts/bpf-objects). Runs on 6.1 and later.
#include "cgroup.h"
#include "known_groups.h"
#include "logarithm.h"

/* include/linux/sched.h */
#define PF_MEMALLOC 0x00000800
#define PF_KSWAPD 0x00020000
#define PF_KTHREAD 0x00200000

enum cgroup_subsys_id { memory_cgrp_id };
enum pageflags { PG_head };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct css_set {
	struct cgroup_subsys_state *subsys[16];
};
struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int pid;
	unsigned int in_memstall : 1; /* CONFIG_PSI */
	unsigned int in_iowait : 1;
	struct css_set *cgroups;
};
struct page_counter {
	struct {
		long counter;
	} usage;
	unsigned long high;
	unsigned long max;
};
struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
	struct page_counter memsw;
};
struct obj_cgroup {
	struct mem_cgroup *memcg;
	_Bool is_root; /* 7.x, where a page names one of these instead of its group */
};
struct folio {
	unsigned long memcg_data;
	unsigned int _nr_pages; /* 6.15 */
	unsigned int _folio_nr_pages; /* before */
};
#pragma clang attribute pop

/* Numbers of groups from 1 on, by user space; with WATCHED if the group is the watched one or below it. */
enum { GROUPS = 1024, KERNEL = 1022, KSWAPD = 1023, WATCHED = 1 << 16 };
#define CLASS(place) BOUNDED(place, GROUPS)

/* crates/blame/src/stall/counted.rs has the same numbers. */
enum kind { NONE, MAX, HIGH, MACHINE, OTHER, COMPACTION, THROTTLE, READ_BACK, KINDS };
enum { BUCKETS = 40, THREADS = 65536 };

struct settings {
	__u32 enabled;
	__u32 unified; /* groups are those of cgroup2 */
	__u64 since; /* when programs were switched on */
};
#include "switched.h"

/* A kind of stall, by the group whose limit it is. */
struct stall {
	__u64 ns;
	__u64 lengths[BUCKETS]; /* by the logarithm of the length in ns */
};

/* A stalled thread. Two rarely share an entry; then the later one is not counted. */
struct thread {
	__u32 pid;
	__u16 kind;
	__u16 group;
	__u64 since;
};

/* Pages of the page cache. */
struct pages {
	__u64 filled; /* by the group */
	__u64 evicted; /* of the watched group, by this one */
};

MAP(threads, BPF_MAP_TYPE_ARRAY, __u32, struct thread, THREADS);
MAP(stalls, BPF_MAP_TYPE_ARRAY, __u32, struct stall, KINDS * GROUPS);
MAP(pages, BPF_MAP_TYPE_ARRAY, __u32, struct pages, GROUPS);

/* The only variable. */
struct memory {
	__u64 cache[CACHE]; /* of places */
	__u64 dropped; /* stalls of threads that shared an entry */
};
struct memory memory;

char LICENSE[] SEC("license") = "Dual MIT/GPL";

INLINE struct cgroup_subsys_state *memory_of(struct task_struct *p)
{
	struct css_set *groups = p->cgroups;
	struct cgroup_subsys_state *css = 0;
	__u32 at = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);

	bpf_probe_read_kernel(&css, sizeof(css), &groups->subsys[at]);
	return css;
}

/* The same as number_of_group for a group's state that is known by its address only. */
INLINE __u32 place_of(struct cgroup_subsys_state *css)
{
	__u64 serial = 0, id, *cached;
	__u32 number = 0, *found;

	if (bpf_probe_read_kernel(&serial, sizeof(serial), &css->serial_nr))
		return 0;
	cached = &memory.cache[place_in_cache(serial)];
	if (*cached >> 24 == serial)
		return *cached & 0xffffff;
#pragma clang loop unroll(disable)
	for (int level = 0; level < LEVELS && css; level++) {
		id = BPF_CORE_READ(css, cgroup, kn, id);
		found = bpf_map_lookup_elem(&groups, &id);
		if (found) {
			number = *found;
			break;
		}
		css = BPF_CORE_READ(css, parent);
	}
	*cached = serial << 24 | (number & 0xffffff);
	return number;
}

/* A charge is of at most 64 pages, or of a huge page (MEMCG_CHARGE_BATCH of mm/memcontrol.c). */
enum { BATCH = 64, HUGE_PAGE = 512 };

/* Pages that are left below a limit. */
INLINE long left_of(long usage, unsigned long limit)
{
	return limit > (1ul << 50) ? 1l << 50 : (long)limit - usage;
}

/* The limits in the path of a group, as try_charge_memcg and reclaim_high look at them: from the group upwards. */
struct limits {
	__u64 max, high; /* the groups: of the least room below `max`, and the lowest above `high` */
	long room;
	long above;
};

INLINE void look_at(struct limits *l, struct mem_cgroup *group, __u64 place, __u32 unified)
{
	long usage = BPF_CORE_READ(group, memory.usage.counter);
	long room = left_of(usage, BPF_CORE_READ(group, memory.max));

	if (!unified) {
		long swap = left_of(BPF_CORE_READ(group, memsw.usage.counter), BPF_CORE_READ(group, memsw.max));
		room = swap < room ? swap : room;
	}
	if (room < l->room) {
		l->room = room;
		l->max = place;
	}
	if (l->above <= 0 && (l->above = -left_of(usage, BPF_CORE_READ(group, memory.high))) > 0)
		l->high = place;
}

/*
 * Why a thread of this group reclaims: kind << 16 | number of the group whose limit it is. `delayed`: it does not, and sleeps: delayed by
 * memory.high, or for pages that it reads back.
 */
static __noinline __u32 limit_of(struct cgroup_subsys_state *css, __u32 unified, int delayed)
{
	struct limits l = { .room = HUGE_PAGE };

#pragma clang loop unroll(disable)
	for (int level = 0; level < LEVELS && css; level++) {
		look_at(&l, (struct mem_cgroup *)css, CLASS(place_of(css)), unified);
		css = BPF_CORE_READ(css, parent);
	}
	if (delayed)
		return l.above > 0 ? THROTTLE << 16 | l.high : READ_BACK << 16;
	if (l.room < BATCH || (l.room < HUGE_PAGE && l.above <= 0))
		return MAX << 16 | l.max;
	if (l.above > 0)
		return HIGH << 16 | l.high;
	return OTHER << 16;
}

INLINE struct thread *thread_of(struct task_struct *p)
{
	__u32 at = p->pid & (THREADS - 1);
	return bpf_map_lookup_elem(&threads, &at);
}

INLINE int is_watched(struct task_struct *p)
{
	return !(p->flags & PF_KTHREAD) && place_of(memory_of(p)) & WATCHED;
}

/* A thread begins to be stalled, unless it is already. */
INLINE void begin(struct task_struct *p, __u32 cause)
{
	struct thread *t = thread_of(p);

	if (!t)
		return;
	if (t->kind) {
		if (t->pid != p->pid)
			__sync_fetch_and_add(&memory.dropped, 1);
		return;
	}
	t->pid = p->pid;
	t->kind = cause >> 16;
	t->group = cause & 0xffff;
	t->since = bpf_ktime_get_ns();
}

INLINE void count(__u32 kind, __u32 group, __u64 since)
{
	__u32 at = BOUNDED(kind, KINDS) * GROUPS + CLASS(group), bucket;
	struct stall *stall = bpf_map_lookup_elem(&stalls, &at);
	__u64 ns = bpf_ktime_get_ns() - since;

	if (!stall)
		return;
	bucket = logarithm(ns);
	__sync_fetch_and_add(&stall->ns, ns);
	__sync_fetch_and_add(&stall->lengths[bucket < BUCKETS ? bucket : BUCKETS - 1], 1);
}

/* It goes on. */
INLINE void end(struct task_struct *p, __u32 first, __u32 last)
{
	struct thread *t = thread_of(p);
	__u32 kind;

	if (!t || t->pid != p->pid || t->kind < first || t->kind > last)
		return;
	kind = t->kind;
	t->kind = NONE;
	count(kind, t->group, t->since);
}

INLINE int enter(__u32 kind)
{
	struct settings *s = enabled();
	struct task_struct *p = bpf_get_current_task_btf();

	if (s && is_watched(p))
		begin(p, kind == MAX ? limit_of(memory_of(p), s->unified, 0) : kind << 16);
	return 0;
}

INLINE int leave(void)
{
	if (enabled())
		end(bpf_get_current_task_btf(), MAX, COMPACTION);
	return 0;
}

/* Programs have the names of their tracepoints, by which the loader attaches them. */
SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(mm_vmscan_memcg_reclaim_begin)
{
	return enter(MAX);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(mm_vmscan_memcg_reclaim_end)
{
	return leave();
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(mm_vmscan_direct_reclaim_begin)
{
	return enter(MACHINE);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(mm_vmscan_direct_reclaim_end)
{
	return leave();
}

SEC("tp_btf/mm_compaction_begin")
int BPF_PROG(mm_compaction_begin)
{
	return enter(COMPACTION);
}

SEC("tp_btf/mm_compaction_end")
int BPF_PROG(mm_compaction_end)
{
	return leave();
}

INLINE __u32 stalled_by(struct settings *s, struct task_struct *task)
{
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		return READ_BACK << 16;
	return limit_of(memory_of(task), s->unified, 1);
}

/* One that left its CPU as a stalled thread has an entry, unless it did so before programs were switched on. */
INLINE void come(struct settings *s, struct task_struct *p)
{
	struct thread *t = thread_of(p);
	__u32 cause;

	if (t && t->pid != p->pid && !t->kind) {
		t->pid = p->pid;
		cause = stalled_by(s, p);
		count(cause >> 16, cause & 0xffff, s->since);
		return;
	}
	end(p, THROTTLE, READ_BACK);
}

/* Of most threads the kernel marks nothing, which is all that is read of them. */
SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
	int leaves = BPF_CORE_READ_BITFIELD(prev, in_memstall), comes = BPF_CORE_READ_BITFIELD(next, in_memstall);
	struct settings *s;

	if (!leaves && !comes)
		return 0;
	s = enabled();
	if (!s)
		return 0;
	if (comes && is_watched(next))
		come(s, next);
	/* One that is delayed or reads sleeps; who lost its CPU meanwhile goes on to read. */
	if (leaves && is_watched(prev))
		begin(prev, prev->__state ? stalled_by(s, prev) : READ_BACK << 16);
	return 0;
}

INLINE __u64 pages_of(struct folio *folio)
{
	__u64 flags = 0;

	/* They are the first field, of different types. */
	bpf_probe_read_kernel(&flags, sizeof(flags), folio);
	if (!(flags >> bpf_core_enum_value(enum pageflags, PG_head) & 1))
		return 1;
	if (bpf_core_field_exists(folio->_nr_pages))
		return BPF_CORE_READ(folio, _nr_pages);
	return BPF_CORE_READ(folio, _folio_nr_pages);
}

/* The group that pays for a page of the page cache. */
INLINE __u32 payer(struct folio *folio)
{
	unsigned long group = BPF_CORE_READ(folio, memcg_data) & ~7ul;

	if (group && bpf_core_field_exists(((struct obj_cgroup *)0)->is_root))
		group = (unsigned long)BPF_CORE_READ((struct obj_cgroup *)group, memcg);
	return group ? place_of((struct cgroup_subsys_state *)group) : 0;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(mm_filemap_add_to_page_cache, struct folio *folio)
{
	struct pages *filled;
	__u32 at;

	if (!enabled())
		return 0;
	at = CLASS(payer(folio));
	filled = bpf_map_lookup_elem(&pages, &at);
	if (filled)
		__sync_fetch_and_add(&filled->filled, pages_of(folio));
	return 0;
}

/* Whoever reclaims has PF_MEMALLOC; others have truncated or removed a file. */
SEC("tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(mm_filemap_delete_from_page_cache, struct folio *folio)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct pages *evicted;
	__u32 at;

	if (!(p->flags & PF_MEMALLOC) || !enabled() || !(payer(folio) & WATCHED))
		return 0;
	if (p->flags & PF_KSWAPD)
		at = KSWAPD;
	else
		at = p->flags & PF_KTHREAD ? KERNEL : CLASS(place_of(memory_of(p)));
	evicted = bpf_map_lookup_elem(&pages, &at);
	if (evicted)
		__sync_fetch_and_add(&evicted->evicted, pages_of(folio));
	return 0;
}
