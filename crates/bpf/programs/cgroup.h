// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// What programs need that tell groups apart: the kernel's structures of groups, with the fields that are read (CO-RE finds
// their true offsets when a program is loaded), and how maps are declared.
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#define INLINE static __always_inline

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct kernfs_node {
	__u64 id;
};
struct cgroup;
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	__u64 serial_nr;
	struct cgroup_subsys_state *parent;
};
struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};
#pragma clang attribute pop

#define MAP(map_name, map_type, key_type, value_type, entries)                                                         \
	struct {                                                                                                       \
		__uint(type, map_type);                                                                                \
		__uint(max_entries, entries);                                                                          \
		__type(key, key_type);                                                                                 \
		__type(value, value_type);                                                                             \
	} map_name SEC(".maps")

/* One whose memory user space has too. It says how many entries when the object is loaded. */
#define SHARED_MAP(map_name, value_type)                                                                               \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                                      \
		__uint(map_flags, BPF_F_MMAPABLE);                                                                     \
		__uint(max_entries, 1);                                                                                \
		__type(key, __u32);                                                                                    \
		__type(value, value_type);                                                                             \
	} map_name SEC(".maps")

/* An index that the verifier sees to be within bounds: clang would drop or move a mask that it finds needless. */
#define BOUNDED(index, size) \
	({ __u64 bounded = (index); asm volatile("%0 &= %1" : "+r"(bounded) : "i"((size) - 1)); bounded; })

/* Entries of a cache of what is known of groups. */
enum { CACHE_BITS = 12, CACHE = 1 << CACHE_BITS };

/* By the serial number of a state, which every group has, of whatever controller. Those of a group follow each other. */
INLINE __u64 place_in_cache(__u64 serial)
{
	return BOUNDED(serial * 0x9e3779b97f4a7c15 >> (64 - CACHE_BITS), CACHE);
}
