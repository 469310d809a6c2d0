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

enum { CACHE = 4096, LEVELS = 24, REQUESTS = 16384, DISKS = 64 };

struct settings {
	__u32 enabled;
	__u32 slots;
};

/* A group on a disk. crates/sample/src/contention/disks.rs reads this. */
struct use {
	__u64 since; /* since when it has requests; 0 while it has none */
	__u64 requests; /* how many now */
	__u64 bytes; /* of completed requests */
	__u64 done; /* how many were */
};

/* Where a request counts: slot | disk << 16. */
MAP(requests, BPF_MAP_TYPE_HASH, __u64, __u32, REQUESTS);
/* Number of a disk by its device numbers: major << 20 | minor. */
MAP(disks, BPF_MAP_TYPE_HASH, __u32, __u32, DISKS);
/* Slot of a group by its kernfs id; a group without an entry belongs to the nearest one above it, or to slot 0. */
MAP(groups, BPF_MAP_TYPE_HASH, __u64, __u32, 1);

/* By disk and slot. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct use);
} uses SEC(".maps");

/* The only variable. */
struct memory {
	__u64 cache[CACHE]; /* of a group by its css id: serial number << 16 | slot */
};
struct memory memory;

#include "switched.h"

INLINE __u32 slot_of(struct request *rq)
{
	struct cgroup_subsys_state *css = &rq->bio->bi_blkg->blkcg->css;
	__u64 serial, known, *cached;
	__u32 slot = 0;

	/* A flush has no bio. */
	if (!rq->bio)
		return 0;
	serial = css->serial_nr;
	cached = &memory.cache[css->id & (CACHE - 1)];
	known = *cached;
	if (known >> 16 == serial)
		return known & 0xffff;
#pragma clang loop unroll(disable)
	for (int level = 0; level < LEVELS; level++) {
		__u64 id = css->cgroup->kn->id;
		__u32 *found = bpf_map_lookup_elem(&groups, &id);
		if (found) {
			slot = *found;
			break;
		}
		css = css->parent;
		if (!css)
			break;
	}
	*cached = serial << 16 | (slot & 0xffff);
	return slot;
}

INLINE struct use *use_of(struct settings *s, __u32 place)
{
	__u32 at = (place >> 16) * s->slots + (place & 0xffff);
	return bpf_map_lookup_elem(&uses, &at);
}

INLINE void take_off(struct settings *s, __u32 place)
{
	struct use *use = use_of(s, place);

	if (use && __sync_fetch_and_add(&use->requests, -1ull) == 1)
		use->since = 0;
}

/* A request enters the scheduler, or the device if it has not been in a scheduler. */
INLINE int enter(struct request *rq, int may_be_known)
{
	struct settings *s = enabled();
	struct gendisk *disk = rq->q->disk;
	__u32 device = disk->major << 20 | disk->first_minor, *number, *before, place;
	__u64 key = (__u64)rq;
	struct use *use;

	if (!s)
		return 0;
	number = bpf_map_lookup_elem(&disks, &device);
	if (!number)
		return 0;
	before = bpf_map_lookup_elem(&requests, &key);
	if (before && may_be_known)
		return 0;
	if (before)
		take_off(s, *before);
	place = *number << 16 | slot_of(rq);
	use = use_of(s, place);
	if (!use || bpf_map_update_elem(&requests, &key, &place, BPF_ANY))
		return 0;
	if (__sync_fetch_and_add(&use->requests, 1) == 0)
		use->since = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(block_rq_insert, struct request *rq)
{
	return enter(rq, 0);
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_rq_issue, struct request *rq)
{
	return enter(rq, 1);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_rq_complete, struct request *rq, unsigned char error, unsigned int bytes)
{
	struct settings *s = enabled();
	__u64 key = (__u64)rq;
	__u32 *place = bpf_map_lookup_elem(&requests, &key);
	struct use *use = s && place ? use_of(s, *place) : 0;

	if (!use)
		return 0;
	__sync_fetch_and_add(&use->bytes, bytes);
	/* It is called for each part of a request. */
	if (bytes < rq->__data_len)
		return 0;
	__sync_fetch_and_add(&use->done, 1);
	take_off(s, *place);
	bpf_map_delete_elem(&requests, &key);
	return 0;
}
