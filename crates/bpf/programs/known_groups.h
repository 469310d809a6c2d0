/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The numbers by which user space knows groups. Included after cgroup.h.
 *
 * A group without a number has that of the nearest group above it with one, or 0. The walk upwards is done once for each
 * group: a cache has the number by the serial number of the group's state, which the kernel never gives twice.
 */
enum { LEVELS = 24 };

/* By kernfs id. Room for more is made when the object is loaded. */
MAP(groups, BPF_MAP_TYPE_HASH, __u64, __u32, 1024);

/* `cache` has CACHE entries: serial number << 24 | number. */
INLINE __u32 number_of_group(struct cgroup_subsys_state *css, __u64 *cache)
{
	__u64 serial = css->serial_nr;
	__u64 *cached = &cache[place_in_cache(serial)];
	__u64 known = *cached;
	__u32 number = 0;

	if (known >> 24 == serial)
		return known & 0xffffff;
#pragma clang loop unroll(disable)
	for (int level = 0; level < LEVELS; level++) {
		__u64 id = css->cgroup->kn->id;
		__u32 *found = bpf_map_lookup_elem(&groups, &id);
		if (found) {
			number = *found;
			break;
		}
		css = css->parent;
		if (!css)
			break;
	}
	*cached = serial << 24 | (number & 0xffffff);
	return number;
}
