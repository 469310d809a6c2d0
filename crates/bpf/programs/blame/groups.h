// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Whose thread is it?

INLINE __u32 place_of(struct settings *s, struct task_struct *p)
{
	__u32 place;

	if (!p->pid)
		return IDLE;
	if (s->process && p->tgid == s->process)
		return s->process_place;
	place = number_of_group(&p->sched_task_group->css, memory.cache);
	if (place == ROOT && p->flags & PF_KTHREAD)
		return KERNEL;
	return place;
}
