/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attacks through what a stack walk meets: forged frames, odd stacks, code that changes. */
#include "abuse.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum {
	FUNCTIONS = 1 << 18,
	PATH_CALLS = 60,
	STACK_BYTES = 1 << 20,
	DEEP_CALLS = 100000,
	DEEP_STACK_BYTES = 64 << 20,
	PAGE_BYTES = 4096,
};

void stack_random(struct abuse *abuse)
{
	struct code code;

	code_map(&code, FUNCTIONS);
	while (abuse_goes_on(abuse))
		code_run(abuse, &code, CHAIN_FRAMES, 20);
}

static unsigned step_left(uint64_t path, unsigned calls);
static unsigned step_right(uint64_t path, unsigned calls);

static inline __attribute__((always_inline)) unsigned step(uint64_t path, unsigned calls)
{
	if (calls == 0) {
		abuse_work(100);
		return 1;
	}
	return path & 1 ? step_right(path >> 1, calls - 1) + 1
			: step_left(path >> 1, calls - 1) + 2;
}

static NOINLINE unsigned step_left(uint64_t path, unsigned calls)
{
	return step(path, calls) + 3;
}

static NOINLINE unsigned step_right(uint64_t path, unsigned calls)
{
	return step(path, calls) + 4;
}

void stack_paths(struct abuse *abuse)
{
	while (abuse_goes_on(abuse))
		(void)step_left(abuse_draw(abuse, UINT64_MAX), PATH_CALLS);
}

void stack_forged(struct abuse *abuse)
{
	struct code code;
	void *circle[2] = { circle, NULL };
	void *const frames[] = { (void *)0xffffffff81000000, (void *)0xffff888000000000, (void *)1,
		(void *)0x7ffffffffff8, (void *)0xffffffffff600000, (void *)-8L, circle,
		(void *)0x8000000000000000, (char *)circle + 3, NULL };

	code_map(&code, FUNCTIONS);
	circle[1] = code.start + 9;
	while (abuse_goes_on(abuse)) {
		size_t turn = abuse_draw(abuse, sizeof(frames) / sizeof(frames[0]));

		code_run_frame(&code, abuse_draw(abuse, code.count), frames[turn], 50);
	}
}

static void run_on_stack(
	struct abuse *abuse, void *stack, size_t bytes, void *(*run)(void *argument))
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (pthread_attr_init(&attributes) || pthread_attr_setstack(&attributes, stack, bytes) ||
		pthread_create(&thread, &attributes, run, abuse))
		abuse_fail("a thread on that stack");
	(void)pthread_join(thread, NULL);
	(void)pthread_attr_destroy(&attributes);
}

static void *run_code(void *argument)
{
	struct abuse *abuse = argument;
	struct code code;

	code_map(&code, FUNCTIONS);
	while (abuse_goes_on(abuse))
		code_run(abuse, &code, CHAIN_FRAMES, 50);
	return NULL;
}

/* The other process writes to the half of the stack that the thread never reaches. */
void stack_file(struct abuse *abuse)
{
	int fd = abuse_create("stack");
	char *stack;

	if (ftruncate(fd, STACK_BYTES) < 0)
		abuse_fail("ftruncate");
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (stack == MAP_FAILED)
		abuse_fail("mmap of a stack");
	if (abuse_fork(abuse) == 0) {
		while (abuse_goes_on(abuse))
			abuse_draw_bytes(abuse, stack, STACK_BYTES / 2);
		_exit(0);
	}
	run_on_stack(abuse, stack, STACK_BYTES, run_code);
	(void)abuse_reap(1, 0);
}

void stack_code(struct abuse *abuse)
{
	struct code code;

	code_map(&code, FUNCTIONS);
	while (abuse_goes_on(abuse)) {
		size_t at = abuse_draw(abuse, code.count);

		memset(code.start + at * CODE_STEP, 0xcc, CODE_STEP);
		code_put(code.start + at * CODE_STEP);
		code_run_frame(&code, at, NULL, 5);
	}
}

static void on_signal(int signal)
{
	(void)signal;
	abuse_work(5);
}

void stack_signals(struct abuse *abuse)
{
	stack_t stack = { .ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_NODEFER };

	if (!stack.ss_sp || sigaltstack(&stack, NULL) < 0 || sigaction(SIGUSR1, &action, NULL) < 0)
		abuse_fail("sigaltstack");
	while (abuse_goes_on(abuse))
		(void)raise(SIGUSR1);
}

struct contexts {
	ucontext_t own, other;
};

static void run_other(unsigned high, unsigned low)
{
	struct contexts *contexts = (void *)(((uintptr_t)high << 32) | low);

	for (;;) {
		abuse_work(5);
		(void)swapcontext(&contexts->other, &contexts->own);
	}
}

void stack_contexts(struct abuse *abuse)
{
	static struct contexts contexts;
	uintptr_t address = (uintptr_t)&contexts;

	if (getcontext(&contexts.other) < 0)
		abuse_fail("getcontext");
	contexts.other.uc_stack.ss_sp = malloc(STACK_BYTES);
	contexts.other.uc_stack.ss_size = STACK_BYTES;
	if (!contexts.other.uc_stack.ss_sp)
		abuse_fail("malloc");
	makecontext(&contexts.other, (void (*)(void))run_other, 2, (unsigned)(address >> 32),
		(unsigned)address);
	while (abuse_goes_on(abuse))
		(void)swapcontext(&contexts.own, &contexts.other);
}

static NOINLINE unsigned descend(struct abuse *abuse, unsigned calls)
{
	if (calls == 0)
		while (abuse_goes_on(abuse))
			abuse_work(1000);
	return calls ? descend(abuse, calls - 1) + 1 : 1;
}

static void *run_deep(void *argument)
{
	(void)descend(argument, DEEP_CALLS);
	return NULL;
}

void stack_deep(struct abuse *abuse)
{
	void *stack = mmap(
		NULL, DEEP_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		abuse_fail("mmap of a stack");
	run_on_stack(abuse, stack, DEEP_STACK_BYTES, run_deep);
}

void stack_userfault(struct abuse *abuse)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct code code;
	char *pages;

	if (fd < 0)
		abuse_skip("userfaultfd is not permitted");
	pages = mmap(
		NULL, 64 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		abuse_fail("mmap");
	range.range.start = (uintptr_t)pages;
	range.range.len = 64 * PAGE_BYTES;
	if (ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &range) < 0)
		abuse_fail("userfaultfd");
	code_map(&code, FUNCTIONS);
	while (abuse_goes_on(abuse))
		code_run_frame(&code, abuse_draw(abuse, code.count),
			pages + abuse_draw(abuse, 63 * PAGE_BYTES), 50);
}
