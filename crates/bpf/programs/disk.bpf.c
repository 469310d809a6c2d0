// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Where requests to a disk spend their time, by group: waiting for a place in the pool of requests (block_bio_queue to
// block_getrq), in the plug of their thread, in the scheduler (block_rq_insert to block_rq_issue) and in the device
// (block_rq_issue to block_rq_complete), and whom the device served while they were in the scheduler.
//
// Who was served: for each group H the disk has a clock that runs while requests of H are in the device, at H's part of
// them. What H got while a request of G was queued is how far H's clock ran between insertion and issue, so a sum needs
// the clocks only at these two moments: charged[G][H] -= clock of H, later += clock of H. Of the groups that have a number
// those that the disk has served are charged; of more than 32 groups so few requests are, at random, that this takes no
// longer.
//
// Events of one disk happen on several CPUs at once. Its clocks are advanced by whoever gets `lock`; who does not goes
// on, since another CPU is advancing them at this moment. All else is added up atomically.
//
// Some hosts do not show every event (a virtual machine whose kernel hides those of its process 1). So nothing is counted
// up and down by events alone: a place of the pool has an owner in `asked` until its request has a tag, and in `tags`
// from then on. Whoever finds an owner whose place another has now takes the former off.
//
// Compiled by clang 14 (scripts/bpf-objects); the structures hold only what is read, and CO-RE finds the true offsets
// when the program is loaded. Runs on 6.1 and later.
#include "cgroup.h"
#include "known_groups.h"
#include "timing.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct blkcg {
	struct cgroup_subsys_state css;
};
struct blkcg_gq {
	struct blkcg *blkcg;
};
struct request_queue;
struct gendisk {
	int major;
	int first_minor;
	struct request_queue *queue;
};
struct request_queue {
	int id;
	struct gendisk *disk;
};
struct block_device {
	struct gendisk *bd_disk;
};
struct bio {
	struct block_device *bi_bdev;
	struct blkcg_gq *bi_blkg;
};
struct blk_mq_hw_ctx {
	unsigned int queue_num;
};
struct request {
	struct request_queue *q;
	struct blk_mq_hw_ctx *mq_hctx;
	int tag;
	int internal_tag;
	unsigned int __data_len;
	struct bio *bio, *biotail;
	__u64 start_time_ns;
};
#pragma clang attribute pop

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* crates/blame/src/disk/layout.rs has the same numbers. Both are powers of two. */
#ifndef MEMBERS
#define MEMBERS 32 /* groups that are told apart at a disk */
#define DISKS 8
#endif
enum {
	SHARDS = 4, CLASSES = 512, BUCKETS = 64 /* as many as bits */, QUEUES = 1024, BIOS = 65536, TAGS = 65536, CPUS = 256,
	MOST_DISKS = 8, /* of the settings; user space names no more than DISKS */
	CHUNK = 16, CHUNKS = MEMBERS / CHUNK,
};
enum stage { PLACE, PLUG, SCHEDULER, DEVICE, STAGES };

/* Allocation takes less than this where nothing holds it up. */
enum { ALLOCATION_NS = 20000 };

/* Clocks count in parts of a nanosecond, since each group gets its part of it. */
enum { FRACTION = 12 };

/* A request is charged to at most so many groups, on average. */
enum { CHARGED = 32, FIRST = 16 };

/* What a group had of a disk, as counted by some of the CPUs. */
struct group {
	__u64 requests, bytes, merged, requeued;
	__u64 pool_full; /* of the time in PLACE: all places were taken */
	__u64 limited; /* the rest of it, of waits that a full pool does not explain, nor the work of allocation */
	__u64 held; /* places held at the beginning of these x length of the rest, in ns */
	__u64 unknown_places, unknown_completions, issued;
	__u64 whole; /* start to completion, as /proc/diskstats has it */
	__u64 allocated, allocated_since; /* how many now; sum of the times since when, and of what is over */
	__u64 queued, queued_since;
	__u64 in_device, in_device_since;
	__u64 charging; /* of those queued now: the sum of what they count for */
	__u64 time[STAGES];
	__u64 lengths[STAGES][BUCKETS]; /* by the logarithm of the length in ns */
};

struct disk {
	__u64 lock;
	__u64 last; /* time up to which the clocks have run */
	__u64 full; /* how long all places of the pool were taken */
	__u64 contended, dropped;
	__s32 in_device, allocated;
	__u32 others; /* members in use besides those of watched groups */
	__u32 unseen; /* requests whose end was not shown */
	__s32 device[MEMBERS]; /* requests in the device */
	__s32 held[MEMBERS]; /* places of the pool */
	__u32 classes[MEMBERS]; /* class of a member + 1 */
	__u32 member_of[CLASSES]; /* member + 1 */
	__u64 clocks[MEMBERS]; /* what the device gave to a member */
	__u64 idle; /* the clock that runs while the device is idle */
	__s32 busy[CHUNKS]; /* requests in the device, of so many members each */
	__u64 charged[MEMBERS][MEMBERS]; /* to the second while the first was in the scheduler */
	__u64 charged_idle[MEMBERS];
};

struct cost {
	struct timing timing;
	__u64 pad[5];
};

/* The only variable, so that its offset in the map of all variables is known. */
struct memory {
	struct disk disks[DISKS];
	struct group groups[SHARDS][DISKS][MEMBERS];
	struct cost costs[CPUS];
	__u64 cache[CACHE]; /* of classes */
	__u64 queues[QUEUES]; /* of a queue by its id: address << 4 | disk + 1; 15 is none of ours */
};
struct memory memory;

struct watched_disk {
	__u32 major, minor;
	__u32 base; /* of its entries in `tags` */
	__u32 depth; /* entries for each hardware queue */
	__u32 queues; /* hardware queues */
	__u32 pool; /* places in the pool */
};

struct settings {
	__u64 since; /* requests that started earlier are not ours */
	__u32 enabled; /* programs do nothing until all are attached, and stop at the same moment */
	__u32 disks; /* watched */
	__u32 watched; /* groups: those of the classes from 1 on have members of their own, which others cannot take */
	__u32 pad;
	struct watched_disk disk[MOST_DISKS];
};

#include "switched.h"

/* A bio that was submitted, by its identity. Two rarely share an entry: then the earlier one's wait is unknown. */
struct asked {
	__u64 bio;
	__u64 at; /* 0 once it has a place */
	__u64 full; /* `full` of the disk at that time */
	__u32 member;
	__s32 held; /* by its group at that time */
	__u32 granted; /* disk << 16 | member + 1, while it has a place and its request has not been seen */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BIOS);
	__type(key, __u32);
	__type(value, struct asked);
} asked SEC(".maps");

enum state { NONE, INSERTED, ISSUED, DONE };

/* A request, by its place in the pool. */
struct known {
	__u64 rq;
	__u64 start; /* tells the requests of a place apart */
	__u64 since; /* of the state */
	__u32 state;
	__u32 member;
	__u64 counts; /* in `charged`: for so many requests, or 0 */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TAGS);
	__type(key, __u32);
	__type(value, struct known);
} tags SEC(".maps");

/* An address as a number: the verifier allows no other arithmetic with pointers than their difference. */
#define IDENTITY(pointer) \
	({ __u64 number = (__u64)(pointer); asm volatile("%0 -= %1" : "+r"(number) : "r"(&memory)); number; })

#define ADD(what, amount) __sync_fetch_and_add(&(what), (amount))

INLINE struct disk *disk_of(__u32 number)
{
	return &memory.disks[BOUNDED(number, DISKS)];
}

INLINE struct group *group_of(__u32 disk, __u32 member)
{
	__u64 shard = BOUNDED(bpf_get_smp_processor_id(), SHARDS);
	return &memory.groups[shard][BOUNDED(disk, DISKS)][BOUNDED(member, MEMBERS)];
}

/* The number of a watched disk; -1 for others. The search is done once for each queue. */
INLINE int number_of(struct settings *s, struct request_queue *q, struct gendisk *disk)
{
	__u64 *cached = &memory.queues[BOUNDED(q->id, QUEUES)];
	__u64 known = *cached, address = IDENTITY(q) << 4, found = 15;

	if ((known & ~15ull) == address && known)
		return (known & 15) == 15 ? -1 : (int)(known & 15) - 1;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MOST_DISKS; i++) {
		struct watched_disk *w = &s->disk[BOUNDED(i, MOST_DISKS)];
		if (i < s->disks && w->major == (__u32)disk->major && w->minor == (__u32)disk->first_minor)
			found = i + 1;
	}
	*cached = address | found;
	/* Read again, since the verifier would follow all that comes for each number. Another queue may have the entry now. */
	known = *(volatile __u64 *)cached;
	found = known & 15;
	return (known & ~15ull) != address || found == 15 ? -1 : (int)found - 1;
}

/* The class of a group is its number; 0 is the root. */
INLINE __u32 class_of(struct bio *bio)
{
	return number_of_group(&bio->bi_blkg->blkcg->css, memory.cache);
}

/* The members of watched groups, where a disk has enough for all of them and one more. */
INLINE __u32 reserved(struct settings *s)
{
	return s->watched <= MEMBERS - 2 ? s->watched : 0;
}

/* Members that may have been counted. */
INLINE __u32 members(struct disk *d, struct settings *s)
{
	return reserved(s) + d->others;
}

/*
 * The number of a group among the members of a disk: that of a watched one by its class, of others as they come. The last
 * one is all for which there is no number left.
 */
INLINE __u32 member_of(struct disk *d, struct settings *s, struct bio *bio)
{
	__u64 class = BOUNDED(class_of(bio), CLASSES);
	__u32 known = d->member_of[class], own = reserved(s), member;

	if (known)
		return known - 1;
	if (class - 1 < own) {
		member = class - 1;
	} else {
		member = own + (d->others < MEMBERS - 1 - own ? ADD(d->others, 1) : MEMBERS);
		if (member >= MEMBERS - 1) {
			d->others = MEMBERS - own;
			return MEMBERS - 1;
		}
	}
	/* Another CPU may have been faster: then this number of others stays unused. */
	known = __sync_val_compare_and_swap(&d->member_of[class], 0, member + 1);
	if (known)
		return known - 1;
	d->classes[BOUNDED(member, MEMBERS)] = class + 1;
	return member;
}

/* Lets the clocks of all with requests in the device run on by this for each request. */
INLINE void run_clocks(struct disk *d, __u64 each)
{
#pragma clang loop unroll(disable)
	for (__u32 chunk = 0; chunk < CHUNKS; chunk++) {
		if (d->busy[chunk] <= 0)
			continue;
#pragma clang loop unroll(disable)
		for (__u32 i = chunk * CHUNK; i < (chunk + 1) * CHUNK; i++)
			if (d->device[i] > 0)
				d->clocks[i] += each * (__u32)d->device[i];
	}
}

INLINE void count_in_device(struct disk *d, struct group *g, __u32 number, __s32 more)
{
	__u64 member = BOUNDED(number, MEMBERS);
	ADD(d->device[member], more);
	ADD(d->busy[member / CHUNK], more);
	ADD(d->in_device, more);
	ADD(g->in_device, (__s64)more);
}

/*
 * Lets the clocks run up to `now`. Callers do this first of all: the verifier follows the loops once for each way that
 * leads to them.
 */
INLINE void advance(struct disk *d, struct settings *s, __u32 number, __u64 now)
{
	__s64 passed;
	__s32 total = d->in_device;

	if (__sync_val_compare_and_swap(&d->lock, 0, 1)) {
		ADD(d->contended, 1);
		return;
	}
	passed = now - (d->last ? d->last : s->since);
	if (passed > 0) {
		if (d->allocated >= (__s32)s->disk[BOUNDED(number, MOST_DISKS)].pool)
			d->full += passed;
		if (total <= 0) {
			d->idle += (__u64)passed << FRACTION;
		} else {
			run_clocks(d, ((__u64)passed << FRACTION) / (__u32)total);
		}
		d->last = now;
	}
	__sync_lock_test_and_set(&d->lock, 0);
}

/* How long all places had been taken up to `now`. */
INLINE __u64 full_until(struct disk *d, struct settings *s, __u32 number, __u64 now)
{
	__u64 last = d->last;
	int is_full = d->allocated >= (__s32)s->disk[BOUNDED(number, MOST_DISKS)].pool;
	return d->full + (is_full && now > last ? now - last : 0);
}

INLINE void add_length(struct group *g, enum stage stage, __u64 ns)
{
	/* Position of the highest bit, by halves. */
	__u64 bucket = 0, rest = ns;
	if (rest >> 32) { bucket += 32; rest >>= 32; }
	if (rest >> 16) { bucket += 16; rest >>= 16; }
	if (rest >> 8) { bucket += 8; rest >>= 8; }
	if (rest >> 4) { bucket += 4; rest >>= 4; }
	if (rest >> 2) { bucket += 2; rest >>= 2; }
	if (rest >> 1) bucket += 1;
	ADD(g->time[stage], ns);
	ADD(g->lengths[stage][BOUNDED(bucket, BUCKETS)], 1);
}

/*
 * For how many requests the next one counts: each for itself, or one of several, by chance, for all of these. Until some
 * of a group's were issued all count, since one that starves has no others.
 */
INLINE __u64 counts(struct disk *d, struct settings *s, struct group *g)
{
	__u32 of = MEMBERS > CHARGED ? (members(d, s) + CHARGED - 1) / CHARGED : 1;
	if (of <= 1 || g->issued < FIRST)
		return 1;
	return bpf_get_prandom_u32() % of ? 0 : of;
}

/* Adds the clocks, so many times, to what is charged for the queued requests of a member. */
INLINE void charge(struct disk *d, struct settings *s, __u32 member, __u64 times)
{
	__u64 row = BOUNDED(member, MEMBERS);
	__u32 until = members(d, s);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MEMBERS && i < until; i++)
		if (d->clocks[i])
			ADD(d->charged[row][i], times * d->clocks[i]);
	ADD(d->charged_idle[row], times * d->idle);
}

INLINE void enter_scheduler(struct disk *d, struct settings *s, struct group *g, struct known *k, __u64 now)
{
	k->counts = counts(d, s, g);
	if (k->counts) {
		charge(d, s, k->member, -k->counts);
		ADD(g->charging, k->counts);
	}
	ADD(g->queued, 1);
	ADD(g->queued_since, now);
	k->state = INSERTED;
	k->since = now;
}

INLINE void leave_scheduler(struct disk *d, struct settings *s, struct group *g, struct known *k)
{
	if (k->counts) {
		charge(d, s, k->member, k->counts);
		ADD(g->charging, -k->counts);
	}
	ADD(g->queued, -1);
	ADD(g->queued_since, -k->since);
}

INLINE void leave_device(struct disk *d, struct group *g, struct known *k)
{
	count_in_device(d, g, k->member, -1);
	ADD(g->in_device_since, -k->since);
}

INLINE void enter_pool(struct disk *d, __u32 number, __u32 member, __u64 now)
{
	struct group *g = group_of(number, member);
	ADD(d->allocated, 1);
	ADD(d->held[BOUNDED(member, MEMBERS)], 1);
	ADD(g->allocated, 1);
	ADD(g->allocated_since, now);
}

INLINE void leave_pool(struct disk *d, __u32 number, __u32 member, __u64 now)
{
	struct group *g = group_of(number, member);
	ADD(d->allocated, -1);
	ADD(d->held[BOUNDED(member, MEMBERS)], -1);
	ADD(g->allocated, -1);
	ADD(g->allocated_since, -now);
}

INLINE struct asked *asked_of(struct bio *bio)
{
	__u64 identity = IDENTITY(bio);
	__u32 at = (identity >> 6 ^ identity >> 22) & (BIOS - 1);
	return bpf_map_lookup_elem(&asked, &at);
}

/* Another bio takes the entry: what became of the place of the former one was not shown. */
INLINE void evict(struct asked *a, __u64 now)
{
	__u32 granted = __sync_lock_test_and_set(&a->granted, 0);
	if (granted)
		leave_pool(disk_of(granted >> 16), granted >> 16, (granted & 0xffff) - 1, now);
}

/* Whether the place of a bio was noted; it is not any more. */
INLINE int take_grant(struct bio *bio)
{
	struct asked *a = asked_of(bio);
	return a && a->bio == IDENTITY(bio) && __sync_lock_test_and_set(&a->granted, 0);
}

/* The same for a request, to which bios may have been added at one end. */
INLINE int take_grants(struct request *rq)
{
	return take_grant(rq->bio) || take_grant(rq->biotail);
}

INLINE int is_live(struct known *k)
{
	return k->state == INSERTED || k->state == ISSUED;
}

/* The same request as that of the entry, and not a later one at its place. One that swallows another begins with it. */
INLINE int is_same(struct known *k, struct request *rq)
{
	return k->rq == IDENTITY(rq) && rq->start_time_ns <= k->start;
}

/* Takes off a request whose end was not shown. How long it took is not known. */
INLINE void forget(struct disk *d, struct settings *s, __u32 number, struct known *k, __u64 now)
{
	struct group *g = group_of(number, k->member);
	if (k->state == INSERTED)
		leave_scheduler(d, s, g, k);
	else
		leave_device(d, g, k);
	leave_pool(d, number, k->member, now);
	k->state = NONE;
	ADD(d->unseen, 1);
}

/* The entry of a request: with a scheduler its place is `internal_tag`, without one `tag`. */
INLINE struct known *entry_of(struct settings *s, __u32 number, struct request *rq)
{
	struct watched_disk *w = &s->disk[BOUNDED(number, MOST_DISKS)];
	__s32 tag = rq->internal_tag >= 0 ? rq->internal_tag : rq->tag;
	__u32 queue = rq->mq_hctx->queue_num, at;

	if (tag < 0 || (__u32)tag >= w->depth || queue >= w->queues)
		return 0;
	at = w->base + queue * w->depth + tag;
	return bpf_map_lookup_elem(&tags, &at);
}

#define TIMED(body) \
	struct timing *t = &memory.costs[BOUNDED(bpf_get_smp_processor_id(), CPUS)].timing; \
	__u64 start = start_timing(t); \
	__u64 now = start ? start : bpf_ktime_get_ns(); \
	body; \
	return stop_timing(t, start);

INLINE void submitted(struct settings *s, __u32 number, struct bio *bio, __u64 now)
{
	struct disk *d = disk_of(number);
	struct asked *a = asked_of(bio);

	if (!a)
		return;
	evict(a, now);
	a->bio = IDENTITY(bio);
	a->at = now;
	a->member = member_of(d, s, bio);
	a->held = d->held[BOUNDED(a->member, MEMBERS)];
	a->full = full_until(d, s, number, now);
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(block_bio_queue, struct bio *bio)
{
	struct settings *s = enabled();
	struct gendisk *disk = bio->bi_bdev->bd_disk;
	int number = s ? number_of(s, disk->queue, disk) : -1;
	if (number < 0)
		return 0;
	TIMED(submitted(s, number, bio, now))
}

INLINE void got_place(struct settings *s, __u32 number, struct bio *bio, __u64 now)
{
	struct disk *d = disk_of(number);
	struct asked *a = asked_of(bio);
	int is_known;
	struct group *g;

	if (!a)
		return;
	is_known = a->bio == IDENTITY(bio) && a->at >= s->since && a->at <= now;
	if (!is_known) {
		evict(a, now);
		a->bio = IDENTITY(bio);
		a->member = member_of(d, s, bio);
	}
	g = group_of(number, a->member);
	advance(d, s, number, now);
	if (is_known) {
		__u64 waited = now - a->at, full = full_until(d, s, number, now) - a->full;
		if (full > waited)
			full = waited;
		add_length(g, PLACE, waited);
		ADD(g->pool_full, full);
		/* Once a place of a full pool is free, its thread has to wake up. */
		if (waited - full >= ALLOCATION_NS && waited - full > full) {
			__u64 held = a->held > 0 ? a->held : 0;
			ADD(g->limited, waited - full);
			ADD(g->held, held * (waited - full));
		}
	} else {
		ADD(g->unknown_places, 1);
	}
	a->at = 0;
	enter_pool(d, number, a->member, now);
	a->granted = number << 16 | (a->member + 1);
}

SEC("tp_btf/block_getrq")
int BPF_PROG(block_getrq, struct bio *bio)
{
	struct settings *s = enabled();
	struct gendisk *disk = bio->bi_bdev->bd_disk;
	int number = s ? number_of(s, disk->queue, disk) : -1;
	if (number < 0)
		return 0;
	TIMED(got_place(s, number, bio, now))
}

/* Its time in the plug. The start that the kernel notes may be earlier than the event (a plug keeps the time). */
INLINE void left_plug(struct settings *s, struct group *g, struct request *rq, __u64 now)
{
	__u64 start = rq->start_time_ns;
	if (start >= s->since && start <= now)
		add_length(g, PLUG, now - start);
}

/* The first event of a request with its tag: whatever had this place before has ended. */
INLINE void note(struct disk *d, struct settings *s, __u32 number, struct known *k, struct request *rq, __u64 now)
{
	if (is_live(k))
		forget(d, s, number, k, now);
	k->rq = IDENTITY(rq);
	k->start = rq->start_time_ns;
	k->member = member_of(d, s, rq->bio);
	if (!take_grants(rq))
		enter_pool(d, number, k->member, now);
	left_plug(s, group_of(number, k->member), rq, now);
}

INLINE void inserted(struct settings *s, __u32 number, struct request *rq, __u64 now)
{
	struct disk *d = disk_of(number);
	struct known *k;

	advance(d, s, number, now);
	k = entry_of(s, number, rq);
	if (!k) {
		ADD(d->dropped, 1);
		return;
	}
	/* It was requeued, and has been in the scheduler since. */
	if (k->state == INSERTED && is_same(k, rq))
		return;
	note(d, s, number, k, rq, now);
	enter_scheduler(d, s, group_of(number, k->member), k, now);
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(block_rq_insert, struct request *rq)
{
	struct settings *s = enabled();
	int number = s && rq->bio ? number_of(s, rq->q, rq->q->disk) : -1;
	if (number < 0)
		return 0;
	TIMED(inserted(s, number, rq, now))
}

INLINE void issued(struct settings *s, __u32 number, struct request *rq, __u64 now)
{
	struct disk *d = disk_of(number);
	struct known *k;
	struct group *g;

	advance(d, s, number, now);
	k = entry_of(s, number, rq);
	if (!k) {
		ADD(d->dropped, 1);
		return;
	}
	if (k->state == INSERTED && is_same(k, rq)) {
		g = group_of(number, k->member);
		leave_scheduler(d, s, g, k);
		add_length(g, SCHEDULER, now - k->since);
	} else {
		note(d, s, number, k, rq, now);
		g = group_of(number, k->member);
	}
	k->state = ISSUED;
	k->since = now;
	ADD(g->issued, 1);
	ADD(g->in_device_since, now);
	count_in_device(d, g, k->member, 1);
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_rq_issue, struct request *rq)
{
	struct settings *s = enabled();
	int number = s && rq->bio ? number_of(s, rq->q, rq->q->disk) : -1;
	if (number < 0)
		return 0;
	TIMED(issued(s, number, rq, now))
}

INLINE void completed(struct settings *s, __u32 number, struct request *rq, unsigned int bytes, __u64 now)
{
	struct disk *d = disk_of(number);
	struct known *k;
	__u64 start = rq->start_time_ns;
	struct group *g;
	int is_ours;

	advance(d, s, number, now);
	k = entry_of(s, number, rq);
	is_ours = k && is_same(k, rq);
	g = group_of(number, is_ours ? k->member : MEMBERS - 1);
	if (is_ours && k->state == DONE && !rq->bio) {
		/* A write whose flush is over as well: the kernel counts up to here. */
		ADD(g->whole, now - k->since);
		k->state = NONE;
		return;
	}
	if (!rq->bio)
		return;
	if (is_ours && k->state == ISSUED)
		ADD(g->bytes, bytes);
	if (bytes < rq->__data_len)
		return;
	if (start && start <= now)
		ADD(g->whole, now - start);
	if (!is_ours || k->state != ISSUED) {
		ADD(g->unknown_completions, 1);
		if (is_ours && k->state == INSERTED)
			forget(d, s, number, k, now);
		return;
	}
	leave_device(d, g, k);
	add_length(g, DEVICE, now - k->since);
	leave_pool(d, number, k->member, now);
	ADD(g->requests, 1);
	k->state = DONE;
	k->since = now;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_rq_complete, struct request *rq, int error, unsigned int bytes)
{
	struct settings *s = enabled();
	int number = s ? number_of(s, rq->q, rq->q->disk) : -1;
	if (number < 0)
		return 0;
	TIMED(completed(s, number, rq, bytes, now))
}

INLINE void requeued(struct settings *s, __u32 number, struct request *rq, __u64 now)
{
	struct disk *d = disk_of(number);
	struct known *k;
	struct group *g;

	advance(d, s, number, now);
	k = entry_of(s, number, rq);
	if (!k || !is_same(k, rq) || k->state != ISSUED)
		return;
	g = group_of(number, k->member);
	leave_device(d, g, k);
	add_length(g, DEVICE, now - k->since);
	ADD(g->requeued, 1);
	enter_scheduler(d, s, g, k, now);
}

SEC("tp_btf/block_rq_requeue")
int BPF_PROG(block_rq_requeue, struct request *rq)
{
	struct settings *s = enabled();
	int number = s && rq->bio ? number_of(s, rq->q, rq->q->disk) : -1;
	if (number < 0)
		return 0;
	TIMED(requeued(s, number, rq, now))
}

/* This request became a part of the one before it. */
INLINE void swallowed(struct settings *s, __u32 number, struct request *rq, __u64 now)
{
	struct disk *d = disk_of(number);
	struct known *k;
	struct group *g;
	int is_queued;
	__u32 member;

	advance(d, s, number, now);
	k = entry_of(s, number, rq);
	is_queued = k && is_same(k, rq) && k->state == INSERTED;
	member = is_queued ? k->member : member_of(d, s, rq->bio);
	g = group_of(number, member);
	if (is_queued) {
		leave_scheduler(d, s, g, k);
		add_length(g, SCHEDULER, now - k->since);
		k->state = NONE;
	}
	if (is_queued || take_grants(rq))
		leave_pool(d, number, member, now);
	ADD(g->merged, 1);
}

SEC("tp_btf/block_rq_merge")
int BPF_PROG(block_rq_merge, struct request *rq)
{
	struct settings *s = enabled();
	int number = s && rq->bio ? number_of(s, rq->q, rq->q->disk) : -1;
	if (number < 0)
		return 0;
	TIMED(swallowed(s, number, rq, now))
}

INLINE int merged(struct bio *bio)
{
	struct settings *s = enabled();
	struct gendisk *disk = bio->bi_bdev->bd_disk;
	int number = s ? number_of(s, disk->queue, disk) : -1;
	if (number < 0)
		return 0;
	ADD(group_of(number, member_of(disk_of(number), s, bio))->merged, 1);
	return 0;
}

SEC("tp_btf/block_bio_backmerge")
int BPF_PROG(block_bio_backmerge, struct bio *bio)
{
	return merged(bio);
}

SEC("tp_btf/block_bio_frontmerge")
int BPF_PROG(block_bio_frontmerge, struct bio *bio)
{
	return merged(bio);
}
