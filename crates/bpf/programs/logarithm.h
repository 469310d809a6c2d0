/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* By which lengths are counted. Included after cgroup.h. */
INLINE __u32 logarithm(__u64 value)
{
	__u32 result = 0;

	if (value >> 32)
		value >>= 32, result += 32;
	if (value >> 16)
		value >>= 16, result += 16;
	if (value >> 8)
		value >>= 8, result += 8;
	if (value >> 4)
		value >>= 4, result += 4;
	if (value >> 2)
		value >>= 2, result += 2;
	return result + (value >> 1 & 1);
}
