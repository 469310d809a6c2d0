// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Whose turn it is under BFQ. A sampler (perf_event) reads the queue in service of each disk: its group, whether BFQ
// idles for it, its waker and the first queue that it wakes. block_rq_insert, which BFQ calls under its lock, finds
// wakers being set and processes that were drained; block_rq_issue finds requests issued in another group's turn.
//
// The sampler holds no lock: what it reads may be freed at this moment. Every queue must name the disk that it was
// found in, and every group the disk's request queue; what does not is counted as garbled.
//
// Compiled by clang 14 (scripts/bpf-objects), with offsets found by CO-RE when it is loaded. BFQ's structures must be in
// the types of the kernel: they are not where BFQ is a module.
#include "cgroup.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct blkcg {
	struct cgroup_subsys_state css;
};
struct request_queue;
struct blkcg_gq {
	struct request_queue *q;
	struct blkcg *blkcg;
};
struct blkg_policy_data {
	struct blkcg_gq *blkg;
};
struct hlist_node {
	struct hlist_node *next;
};
struct hlist_head {
	struct hlist_node *first;
};
struct bfq_service_tree {
	__u64 vtime;
};
struct bfq_sched_data {
	struct bfq_service_tree service_tree[3];
};
struct bfq_entity {
	__u64 start;
	int budget;
	int weight;
	struct bfq_entity *parent;
	struct bfq_sched_data *sched_data;
};
struct bfq_ttime {
	__u64 ttime_mean;
};
struct bfq_data;
struct bfq_queue {
	struct bfq_data *bfqd;
	unsigned int inject_limit;
	int queued[2];
	struct bfq_entity entity;
	unsigned long flags;
	struct bfq_ttime ttime;
	struct bfq_queue *waker_bfqq;
	struct hlist_node woken_list_node;
	struct hlist_head woken_list;
};
struct bfq_group {
	struct blkg_policy_data pd;
	struct bfq_entity entity;
};
struct bfq_data {
	struct request_queue *queue;
	int tot_rq_in_driver; /* 6.3 */
	struct bfq_queue *in_service_queue;
	__u32 bfq_slice_idle;
};
struct bfq_data___before_6_3 {
	int rq_in_driver;
};
struct bfq_io_cq {
	unsigned int requests; /* 5.17 */
};
struct gendisk {
	int major;
	int first_minor;
};
struct elevator_queue {
	void *elevator_data;
};
struct request_queue {
	int id;
	struct gendisk *disk;
	struct elevator_queue *elevator;
};
struct request {
	struct request_queue *q;
	struct {
		void *priv[2];
	} elv;
};
#pragma clang attribute pop

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* crates/blame/src/disk/layout.rs and bfq_counted.rs have the same numbers. The first two are powers of two. */
#ifndef MEMBERS
#define MEMBERS 32 /* groups that are told apart at a disk */
#define DISKS 8
#endif
enum { CLASSES = 512, QUEUES = 1024, WAKERS = 4096 };
enum { MOST_DISKS = 8 }; /* of the settings; user space names no more than DISKS */
enum { WAIT_REQUEST = 1 << 2 }; /* enum bfqq_state_flags */
enum { MAX_WEIGHT = 1000 * 1000 }; /* BFQ_MAX_WEIGHT times what low_latency raises it by, with room */
enum { SERVICE_SHIFT = 22 }; /* block/bfq-wf2q.c: sectors / weight << 22 */
enum { AS_WAKER, AS_WOKEN, OTHER, KINDS };

struct turns {
	__u64 samples; /* in service */
	__u64 empty; /* its queue had no request */
	__u64 timer; /* and BFQ waited for one */
	__u64 inject_limit, inject_limit_max;
	__u64 in_driver, budget; /* sums over samples */
	__u64 weight;
	__u64 has_lead;
	__s64 first_lead, last_lead; /* (start - vtime) x weight, in sectors */
	__u64 inserts, drained, long_think, think_max;
	__u64 issued, in_own_turn;
	__u64 pad;
};

struct disk {
	__u64 bfqd; /* its address, once there was a request */
	__u64 queue; /* address of the request queue */
	__u64 samples, idle, garbled;
	__u32 others; /* members in use besides those of watched groups */
	__u32 pad;
	__u32 classes[MEMBERS]; /* class of a member + 1 */
	__u32 member_of[CLASSES]; /* member + 1 */
	struct turns turns[MEMBERS];
	__u64 bonds[MEMBERS][MEMBERS][2]; /* samples: in service, waker or first woken */
	__u64 set[MEMBERS][MEMBERS]; /* group, new waker */
	__u64 injected[MEMBERS][MEMBERS][4]; /* in service, issued, kind */
};

struct waker {
	__u64 queue, waker;
};

/* The only variable, so that its offset in the map of all variables is known. */
struct memory {
	struct disk disks[DISKS];
	__u64 cache[CACHE]; /* of a group: serial number << 16 | class */
	struct waker wakers[WAKERS]; /* the last waker seen, by the identity of a queue */
};
struct memory memory;

struct watched_disk {
	__u32 major, minor;
};

struct settings {
	__u32 enabled;
	__u32 disks; /* under BFQ */
	__u32 watched; /* groups: those of the classes from 1 on have members of their own */
	struct watched_disk disk[MOST_DISKS];
};

#include "switched.h"

/* Class of a group by its kernfs id; a group without an entry belongs to the nearest one above it, 0 is the root. */
MAP(groups, BPF_MAP_TYPE_HASH, __u64, __u32, 1024);

#define ADD(what, amount) __sync_fetch_and_add(&(what), (amount))

INLINE __u32 class_of(struct cgroup_subsys_state *css)
{
	__u64 serial = BPF_CORE_READ(css, serial_nr);
	__u64 *cached = &memory.cache[place_in_cache(serial)];
	__u64 known = *cached;
	__u32 class = 0;

	if (known && known >> 16 == serial)
		return known & 0xffff;
#pragma clang loop unroll(disable)
	for (int level = 0; level < 24; level++) {
		__u64 id = BPF_CORE_READ(css, cgroup, kn, id);
		__u32 *found = bpf_map_lookup_elem(&groups, &id);
		if (found) {
			class = *found;
			break;
		}
		css = BPF_CORE_READ(css, parent);
		if (!css)
			break;
	}
	*cached = serial << 16 | (class & 0xffff);
	return class;
}

/*
 * The number of a class among the members of a disk: that of a watched group by its class, of others as they come. The
 * last one is all for which there is no number left.
 */
INLINE __u32 member_of_class(struct disk *d, struct settings *s, __u32 number)
{
	__u64 class = BOUNDED(number, CLASSES);
	__u32 own = s->watched <= MEMBERS - 2 ? s->watched : 0; /* as in disk.bpf.c */
	__u32 known = d->member_of[class], member;

	if (known)
		return known - 1;
	if (class - 1 < own) {
		member = class - 1;
	} else {
		member = own + (d->others < MEMBERS - 1 - own ? ADD(d->others, 1) : MEMBERS);
		if (member >= MEMBERS - 1)
			return MEMBERS - 1;
	}
	known = __sync_val_compare_and_swap(&d->member_of[class], 0, member + 1);
	if (known)
		return known - 1;
	d->classes[BOUNDED(member, MEMBERS)] = class + 1;
	return member;
}

/* The number of the group of a queue; -1 if it is no queue of this disk any more. */
INLINE int member_of(struct disk *d, struct settings *s, struct bfq_queue *queue)
{
	struct bfq_entity *parent;
	struct blkcg_gq *blkg;
	void *group;

	if ((__u64)BPF_CORE_READ(queue, bfqd) != d->bfqd)
		return -1;
	parent = BPF_CORE_READ(queue, entity.parent);
	if (!parent) /* a queue of the root group */
		return member_of_class(d, s, 0);
	group = (void *)parent - bpf_core_field_offset(struct bfq_group, entity);
	blkg = BPF_CORE_READ((struct bfq_group *)group, pd.blkg);
	if (!blkg || (__u64)BPF_CORE_READ(blkg, q) != d->queue)
		return -1;
	return member_of_class(d, s, class_of(&BPF_CORE_READ(blkg, blkcg)->css));
}

INLINE struct turns *turns_of(struct disk *d, int member)
{
	return &d->turns[BOUNDED(member, MEMBERS)];
}

/* The first queue that this one wakes. */
INLINE struct bfq_queue *first_woken(struct bfq_queue *queue)
{
	struct hlist_node *first = BPF_CORE_READ(queue, woken_list.first);
	return first ? (void *)first - bpf_core_field_offset(struct bfq_queue, woken_list_node) : 0;
}

INLINE void add_bond(struct disk *d, struct settings *s, int member, struct bfq_queue *partner, int kind)
{
	int other = partner ? member_of(d, s, partner) : -1;
	if (other >= 0)
		d->bonds[BOUNDED(member, MEMBERS)][BOUNDED(other, MEMBERS)][kind]++;
}

INLINE __u32 in_driver(struct bfq_data *bfqd)
{
	struct bfq_data___before_6_3 *before = (void *)bfqd;
	if (bpf_core_field_exists(bfqd->tot_rq_in_driver))
		return BPF_CORE_READ(bfqd, tot_rq_in_driver);
	return BPF_CORE_READ(before, rq_in_driver);
}

INLINE void sample_disk(struct disk *d, struct settings *s)
{
	struct bfq_data *bfqd = (void *)d->bfqd;
	struct request_queue *q = (void *)d->queue;
	struct bfq_queue *queue;
	struct turns *t;
	__u32 limit;
	__s32 weight;
	int member;

	/* Another scheduler may have taken its place. */
	if (!bfqd || BPF_CORE_READ(q, elevator, elevator_data) != bfqd)
		return;
	d->samples++;
	queue = BPF_CORE_READ(bfqd, in_service_queue);
	if (!queue) {
		d->idle++;
		return;
	}
	member = member_of(d, s, queue);
	weight = BPF_CORE_READ(queue, entity.weight);
	if (member < 0 || weight < 1 || weight > MAX_WEIGHT) {
		d->garbled++;
		return;
	}
	t = turns_of(d, member);
	t->samples++;
	if (BPF_CORE_READ(queue, queued[0]) + BPF_CORE_READ(queue, queued[1]) == 0) {
		t->empty++;
		if (BPF_CORE_READ(queue, flags) & WAIT_REQUEST)
			t->timer++;
	}
	limit = BPF_CORE_READ(queue, inject_limit);
	t->inject_limit += limit;
	if (limit > t->inject_limit_max)
		t->inject_limit_max = limit;
	t->in_driver += in_driver(bfqd);
	t->budget += BPF_CORE_READ(queue, entity.budget);
	add_bond(d, s, member, BPF_CORE_READ(queue, waker_bfqq), AS_WAKER);
	add_bond(d, s, member, first_woken(queue), AS_WOKEN);
}

SEC("perf_event")
int sample_service(void *context)
{
	struct settings *s = enabled();
	if (!s)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 number = 0; number < DISKS; number++)
		sample_disk(&memory.disks[BOUNDED(number, DISKS)], s);
	return 0;
}

/* The watched disk of a request, with the addresses by which the sampler finds it. */
INLINE struct disk *disk_of(struct settings *s, struct request *rq)
{
	struct gendisk *disk = rq->q->disk;
	int found = -1;
	struct disk *d;

#pragma clang loop unroll(disable)
	for (__u32 number = 0; number < MOST_DISKS; number++) {
		struct watched_disk *w = &s->disk[BOUNDED(number, MOST_DISKS)];
		if (number < s->disks && w->major == (__u32)disk->major && w->minor == (__u32)disk->first_minor)
			found = number;
	}
	if (found < 0)
		return 0;
	d = &memory.disks[BOUNDED(found, DISKS)];
	d->queue = (__u64)rq->q;
	d->bfqd = (__u64)rq->q->elevator->elevator_data;
	return d->bfqd ? d : 0;
}

/* How much service the queue's group has had beyond its share; nothing for the root. */
INLINE void note_lead(struct turns *t, struct bfq_queue *queue)
{
	struct bfq_entity *entity = BPF_CORE_READ(queue, entity.parent);
	struct bfq_sched_data *scheduled;
	__s64 ahead;

	if (!entity)
		return;
	scheduled = BPF_CORE_READ(entity, sched_data);
	if (!scheduled)
		return;
	t->weight = BPF_CORE_READ(entity, weight);
	/* Groups are of the class "best effort", the second one. */
	ahead = BPF_CORE_READ(entity, start) - BPF_CORE_READ(scheduled, service_tree[1].vtime);
	/* Shifted first: far ahead, the product would not fit. What is lost is a sector at most. */
	t->last_lead = (ahead >> (SERVICE_SHIFT - 8)) * (__s64)t->weight >> 8;
	if (!t->has_lead) {
		t->has_lead = 1;
		t->first_lead = t->last_lead;
	}
}

/* A waker that differs from the one at the last insertion was set in between. */
INLINE void note_waker(struct disk *d, struct settings *s, int member, struct bfq_queue *queue)
{
	__u64 at = (__u64)queue, waker = (__u64)BPF_CORE_READ(queue, waker_bfqq);
	struct waker *last = &memory.wakers[BOUNDED(at >> 4 ^ at >> 16, WAKERS)];
	int other;

	if (last->queue == at && last->waker != waker && waker) {
		other = member_of(d, s, (void *)waker);
		if (other >= 0)
			d->set[BOUNDED(member, MEMBERS)][BOUNDED(other, MEMBERS)]++;
	}
	last->queue = at;
	last->waker = waker;
}

/* The queue of a request as a number, which the verifier allows to be computed with. */
INLINE __u64 queue_of(struct request *rq)
{
	__u64 queue = 0;
	bpf_core_read(&queue, sizeof(queue), &rq->elv.priv[1]);
	return queue;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(block_rq_insert, struct request *rq)
{
	struct settings *s = enabled();
	struct disk *d = s ? disk_of(s, rq) : 0;
	struct bfq_queue *queue = (void *)(d ? queue_of(rq) : 0);
	struct bfq_data *bfqd = (void *)(d ? d->bfqd : 0);
	struct bfq_io_cq *process = 0;
	int member = queue ? member_of(d, s, queue) : -1;
	struct turns *t;
	__u64 think;

	if (member < 0)
		return 0;
	t = turns_of(d, member);
	note_waker(d, s, member, queue);
	if ((t->inserts++ & 7) == 0)
		note_lead(t, queue);
	bpf_core_read(&process, sizeof(process), &rq->elv.priv[0]);
	if (!process || BPF_CORE_READ(process, requests) > 1)
		return 0;
	t->drained++;
	think = BPF_CORE_READ(queue, ttime.ttime_mean);
	if (think > t->think_max)
		t->think_max = think;
	if (think * 2 > BPF_CORE_READ(bfqd, bfq_slice_idle))
		t->long_think++;
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_rq_issue, struct request *rq)
{
	struct settings *s = enabled();
	struct disk *d = s ? disk_of(s, rq) : 0;
	struct bfq_queue *queue = (void *)(d ? queue_of(rq) : 0), *served;
	struct bfq_data *bfqd = (void *)(d ? d->bfqd : 0);
	int member = queue ? member_of(d, s, queue) : -1, turn, kind = OTHER;

	if (member < 0)
		return 0;
	ADD(turns_of(d, member)->issued, 1);
	served = BPF_CORE_READ(bfqd, in_service_queue);
	turn = served ? member_of(d, s, served) : -1;
	if (turn < 0)
		return 0;
	if (turn == member) {
		ADD(turns_of(d, member)->in_own_turn, 1);
		return 0;
	}
	if (BPF_CORE_READ(served, waker_bfqq) == queue)
		kind = AS_WAKER;
	else if (first_woken(served) == queue)
		kind = AS_WOKEN;
	ADD(d->injected[BOUNDED(turn, MEMBERS)][BOUNDED(member, MEMBERS)][kind], 1);
	return 0;
}
