/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What events cost: one in 64 is timed. Included after cgroup.h. */
struct timing {
	__u64 events;
	__u64 timed;
	__u64 ns; /* of those that were timed */
};

/* The time, if this event is to be timed. */
INLINE __u64 start_timing(struct timing *t)
{
	return t->events++ & 63 ? 0 : bpf_ktime_get_ns();
}

INLINE int stop_timing(struct timing *t, __u64 start)
{
	if (start) {
		t->timed++;
		t->ns += bpf_ktime_get_ns() - start;
	}
	return 0;
}
