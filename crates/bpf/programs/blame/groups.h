// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Whose thread is it?

/* The place of a group. The walk upwards is done once for each group. */
INLINE __u32 place_of_group(struct task_group *group)
{
	struct cgroup_subsys_state *css = &group->css;
	__u64 serial = css->serial_nr;
	__u64 *cached = &memory.cache[css->id & (CACHE - 1)];
	__u64 known = *cached;
	__u32 place = ROOT;

	if (known >> 24 == serial)
		return known & 0xffffff;
#pragma clang loop unroll(disable)
	for (int level = 0; level < 24; level++) {
		__u64 id = css->cgroup->kn->id;
		__u32 *found = bpf_map_lookup_elem(&groups, &id);
		if (found) {
			place = *found;
			break;
		}
		css = css->parent;
		if (!css)
			break;
	}
	*cached = serial << 24 | (place & 0xffffff);
	return place;
}

INLINE __u32 place_of(struct settings *s, struct task_struct *p)
{
	__u32 place;

	if (!p->pid)
		return IDLE;
	if (s->process && p->tgid == s->process)
		return s->process_place;
	place = place_of_group(p->sched_task_group);
	if (place == ROOT && p->flags & PF_KTHREAD)
		return KERNEL;
	return place;
}
