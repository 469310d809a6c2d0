// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Who wanted a disk, and who got it: for every group on every watched disk the bytes of its completed requests, and since when
// at least one request of it has been in the scheduler or the device without a break.
//
// A request is remembered by its address from its insertion into the scheduler (or, without one, its issue) to its
// completion. Some ends are not shown (a request that was merged into another, a host that hides events of a process): then
// the former is taken off when its place is used again, which on a busy disk is soon.
//
// Compiled by clang 14 (scripts/bpf-objects). Runs on 6.1 and later.
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
struct gendisk {
	int major;
	int first_minor;
};
struct request_queue {
	struct gendisk *disk;
};
struct bio {
	struct blkcg_gq *bi_blkg;
};
struct request {
	struct request_queue *q;
	unsigned int __data_len;
	struct bio *bio;
};
#pragma clang attribute pop

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* crates/audit/src/contention/watch/disks.rs has the last two too. */
enum { REQUESTS = 16384, DISKS = 64, TIMINGS = 256 };

struct settings {
	__u32 enabled;
	__u32 slots;
};

/* A group on a disk. crates/audit/src/contention/watch/disks.rs reads this. */
struct use {
	__u64 there; /* since when it has requests, in units of 1024 ns, << 16, and how many now; 0 while it has none */
	__u64 bytes; /* of completed requests */
	__u64 done; /* how many were */
};

/* Where a request counts: slot | disk << 16. */
MAP(requests, BPF_MAP_TYPE_HASH, __u64, __u32, REQUESTS);
/* Number of a disk by its device numbers: major << 20 | minor. */
MAP(disks, BPF_MAP_TYPE_HASH, __u32, __u32, DISKS);
/* By disk and slot, which is the number of a group; in slot 0 are those without a number. */
SHARED_MAP(uses, struct use);
/* By the last bits of the CPU's number. */
SHARED_MAP(timings, struct timing);

/* The only variable. */
struct memory {
	__u64 cache[CACHE]; /* of slots */
};
struct memory memory;

#include "switched.h"

INLINE __u32 slot_of(struct request *rq)
{
	/* A flush has no bio. */
	return rq->bio ? number_of_group(&rq->bio->bi_blkg->blkcg->css, memory.cache) : 0;
}

INLINE struct use *use_of(struct settings *s, __u32 place)
{
	__u32 at = (place >> 16) * s->slots + (place & 0xffff);
	return bpf_map_lookup_elem(&uses, &at);
}

enum { COUNT = 0xffff, ATTEMPTS = 64 };

/*
 * A request comes (1) or goes (-1). Time and number are one word, since the last request may go on one CPU while the first of
 * the next ones comes on another. Whoever fails so often lets 64 others pass.
 */
static __noinline int count_request(struct use *use, int request)
{
	__u64 now = bpf_ktime_get_ns() >> 10 << 16;

#pragma clang loop unroll(disable)
	for (int i = 0; i < ATTEMPTS; i++) {
		__u64 old = use->there, new = old + request;

		if (!(old & COUNT))
			new = request > 0 ? now | 1 : 0;
		else if (!(new & COUNT))
			new = 0;
		if (__sync_val_compare_and_swap(&use->there, old, new) == old)
			return 1;
	}
	return 0;
}

INLINE void take_off(struct settings *s, __u32 place)
{
	struct use *use = use_of(s, place);

	if (use)
		count_request(use, -1);
}

INLINE struct timing *own_timing(void)
{
	__u32 place = bpf_get_smp_processor_id() & (TIMINGS - 1);
	return bpf_map_lookup_elem(&timings, &place);
}

/* A request enters the scheduler, or the device if it has not been in a scheduler. */
INLINE void enter(struct settings *s, struct request *rq, int may_be_known)
{
	struct gendisk *disk = rq->q->disk;
	__u32 device = disk->major << 20 | disk->first_minor, *number, *before, place;
	__u64 key = (__u64)rq;
	struct use *use;

	number = bpf_map_lookup_elem(&disks, &device);
	if (!number)
		return;
	before = bpf_map_lookup_elem(&requests, &key);
	if (before && may_be_known)
		return;
	if (before)
		take_off(s, *before);
	place = *number << 16 | (slot_of(rq) & 0xffff);
	use = use_of(s, place);
	if (!use || bpf_map_update_elem(&requests, &key, &place, BPF_ANY))
		return;
	if (!count_request(use, 1))
		bpf_map_delete_elem(&requests, &key);
}

INLINE void complete(struct settings *s, struct request *rq, unsigned int bytes)
{
	__u64 key = (__u64)rq;
	__u32 *place = bpf_map_lookup_elem(&requests, &key);
	struct use *use = place ? use_of(s, *place) : 0;

	if (!use)
		return;
	__sync_fetch_and_add(&use->bytes, bytes);
	/* It is called for each part of a request. */
	if (bytes < rq->__data_len)
		return;
	__sync_fetch_and_add(&use->done, 1);
	take_off(s, *place);
	bpf_map_delete_elem(&requests, &key);
}

#define TIMED(body) \
	struct settings *s = enabled(); \
	struct timing *t = own_timing(); \
	__u64 start; \
	if (!s || !t) \
		return 0; \
	start = start_timing(t); \
	body; \
	return stop_timing(t, start);

SEC("tp_btf/block_rq_insert")
int BPF_PROG(block_rq_insert, struct request *rq)
{
	TIMED(enter(s, rq, 0))
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_rq_issue, struct request *rq)
{
	TIMED(enter(s, rq, 1))
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_rq_complete, struct request *rq, unsigned char error, unsigned int bytes)
{
	TIMED(complete(s, rq, bytes))
}
