/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Functions of the kernel that programs call (Documentation/bpf/kfuncs.rst). clang makes a call of the constant; the loader
 * replaces it with the function's number in the kernel's types (src/kernel_functions.rs has the same numbers).
 */
#define KERNEL_FUNCTION(number) ((void *)(0x4b460000 + (number)))

struct bpf_iter_task {
	__u64 opaque[3];
} __attribute__((aligned(8)));
struct bpf_iter_num {
	__u64 opaque[1];
} __attribute__((aligned(8)));

static void *(*const rdonly_cast)(const void *, __u32) = KERNEL_FUNCTION(0); /* 6.2 */
static int (*const iter_task_new)(struct bpf_iter_task *, void *, __u32) = KERNEL_FUNCTION(1); /* 6.7, as those below */
static void *(*const iter_task_next)(struct bpf_iter_task *) = KERNEL_FUNCTION(2);
static void (*const iter_task_destroy)(struct bpf_iter_task *) = KERNEL_FUNCTION(3);
static void (*const rcu_read_lock)(void) = KERNEL_FUNCTION(4); /* 6.2 */
static void (*const rcu_read_unlock)(void) = KERNEL_FUNCTION(5);
static int (*const iter_num_new)(struct bpf_iter_num *, int, int) = KERNEL_FUNCTION(6); /* 6.4 */
static int *(*const iter_num_next)(struct bpf_iter_num *) = KERNEL_FUNCTION(7);
static void (*const iter_num_destroy)(struct bpf_iter_num *) = KERNEL_FUNCTION(8);

/* A program that user space runs by a system call (BPF_PROG_TYPE_SYSCALL). aya-obj knows no section of that name. */
#define ROUTINE SEC("iter/routine")
