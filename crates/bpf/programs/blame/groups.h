// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Whose thread is it? On cgroup2 its group is asked, and not the one in which the scheduler has it: that is a group further up
// where the controller `cpu` is not enabled, as for most services of a host with systemd.

INLINE __u32 place_of(struct settings *s, struct task_struct *p)
{
	__u32 place;

	if (!p->pid)
		return IDLE;
	if (s->process && p->tgid == s->process)
		return s->process_place;
	if (s->unified)
		place = number_of_group(&p->cgroups->dfl_cgrp->self, memory.cache);
	else
		place = number_of_group(&p->sched_task_group->css, memory.cache);
	if (place == ROOT && p->flags & PF_KTHREAD)
		return KERNEL;
	return place;
}
