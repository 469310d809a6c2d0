/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Functions of the kernel that programs call (Documentation/bpf/kfuncs.rst). clang makes a call of the constant; the loader
 * replaces it with the function's number in the kernel's types (src/kernel_functions.rs has the same numbers).
 */
#define KERNEL_FUNCTION(number) ((void *)(0x4b460000 + (number)))

struct bpf_iter_task;

static void *(*const rdonly_cast)(const void *, __u32) = KERNEL_FUNCTION(0); /* 6.2 */
static int (*const iter_task_new)(struct bpf_iter_task *, void *, __u32) = KERNEL_FUNCTION(1); /* 6.7, as those below */
static void *(*const iter_task_next)(struct bpf_iter_task *) = KERNEL_FUNCTION(2);
static void (*const iter_task_destroy)(struct bpf_iter_task *) = KERNEL_FUNCTION(3);
