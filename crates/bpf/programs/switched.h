// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Programs do nothing until user space has attached all of them, and stop at the same moment. Included after `struct
// settings`, which has `enabled`.
MAP(settings, BPF_MAP_TYPE_ARRAY, __u32, struct settings, 1);

INLINE struct settings *enabled(void)
{
	__u32 zero = 0;
	struct settings *s = bpf_map_lookup_elem(&settings, &zero);
	return s && s->enabled ? s : 0;
}
