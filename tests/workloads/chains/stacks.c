/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks other than the first: of signal handlers, coroutines and threads. */
#include "chains.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>

enum {
	STACK_BYTES = 256 << 10,
	HANDLER_LEAVES = 8,
	UD2_BYTES = 2,
};

static char stack[STACK_BYTES] __attribute__((aligned(64)));

/* --- signals -----------------------------------------------------------------------------------
 */

FRAME static void handler(int number)
{
	(void)number;
	for (int i = 0; i < HANDLER_LEAVES; i++)
		leaf();
}

FRAME static void interrupted_work(void)
{
	for (unsigned i = 0; i < 100000; i++)
		__asm__ volatile("" : : : "memory");
}

FRAME static void interrupted(void)
{
	while (goes_on())
		interrupted_work();
}

FRAME static void handle_alarms(int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	struct itimerval often = { .it_interval.tv_usec = 3000, .it_value.tv_usec = 3000 };
	struct itimerval never = { .it_value.tv_usec = 0 };

	must(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
	must(setitimer(ITIMER_REAL, &often, NULL) == 0, "setitimer");
	interrupted();
	must(setitimer(ITIMER_REAL, &never, NULL) == 0, "setitimer");
}

FRAME static void signals(void)
{
	handle_alarms(SA_RESTART);
	AFTER_CALL();
}

FRAME static void signal_stack(void)
{
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };

	must(sigaltstack(&other, NULL) == 0, "sigaltstack");
	handle_alarms(SA_RESTART | SA_ONSTACK);
	AFTER_CALL();
}

/* Its first instruction faults. The byte before belongs to another function with another frame. */
void faulting(void);
__asm__(".text\n"
	".type before_faulting, @function\n"
	"before_faulting:\n"
	"	.cfi_startproc\n"
	"	sub	$1000, %rsp\n"
	"	.cfi_adjust_cfa_offset 1000\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	".size before_faulting, . - before_faulting\n"
	".globl faulting\n"
	".type faulting, @function\n"
	"faulting:\n"
	"	.cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size faulting, . - faulting\n");

FRAME static void fault_handler(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	leaf();
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += UD2_BYTES;
}

FRAME static void signal_fault(void)
{
	struct sigaction action = { .sa_sigaction = fault_handler, .sa_flags = SA_SIGINFO };

	must(sigaction(SIGILL, &action, NULL) == 0, "sigaction");
	while (goes_on())
		faulting();
}

/* --- coroutines --------------------------------------------------------------------------------
 */

static ucontext_t caller, coroutine;

FRAME static void context_inner(void)
{
	leaf();
	AFTER_CALL();
}

FRAME static void context_body(void)
{
	for (;;) {
		context_inner();
		(void)swapcontext(&coroutine, &caller);
	}
}

FRAME static void contexts(void)
{
	must(getcontext(&coroutine) == 0, "getcontext");
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = sizeof(stack);
	coroutine.uc_link = NULL;
	makecontext(&coroutine, context_body, 0);
	while (goes_on())
		(void)swapcontext(&caller, &coroutine);
}

/* Saves the stack pointer in *from and continues at `to`; both have the same six words on top. */
void switch_stacks(void **from, void *to);
/* The base of one kind of coroutine, marked as having no caller. Calls the function in %rbx. */
void coroutine_base(void);
__asm__(".text\n"
	".globl switch_stacks\n"
	".type switch_stacks, @function\n"
	"switch_stacks:\n"
	"	.cfi_startproc\n"
	"	push	%rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbx, 0\n"
	"	push	%rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbp, 0\n"
	"	push	%r12\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %r12, 0\n"
	"	push	%r13\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %r13, 0\n"
	"	push	%r14\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %r14, 0\n"
	"	push	%r15\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %r15, 0\n"
	"	mov	%rsp, (%rdi)\n"
	"	mov	%rsi, %rsp\n"
	"	pop	%r15\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %r15\n"
	"	pop	%r14\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %r14\n"
	"	pop	%r13\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %r13\n"
	"	pop	%r12\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %r12\n"
	"	pop	%rbp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rbp\n"
	"	pop	%rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size switch_stacks, . - switch_stacks\n"
	".globl coroutine_base\n"
	".type coroutine_base, @function\n"
	"coroutine_base:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined %rip\n"
	"	call	*%rbx\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	".size coroutine_base, . - coroutine_base\n");

/* The words that switch_stacks() pops. */
struct switched {
	void (*r15)(void), (*r14)(void), (*r13)(void), (*r12)(void);
	void *rbp;
	void (*rbx)(void);
	void (*return_address)(void);
	void *next[2]; /* the function's return address and the word below it */
};

static void *main_stack, *other_stack;

FRAME static void switched_inner(void)
{
	char frame[400];

	ON_STACK(frame);
	leaf();
	AFTER_CALL();
}

FRAME static void switched_body(void)
{
	for (;;) {
		switched_inner();
		switch_stacks(&other_stack, main_stack);
	}
}

FRAME static void switch_between(void (*entry)(void), uintptr_t misalignment)
{
	uintptr_t top = (uintptr_t)stack + sizeof(stack) - 128 - misalignment;
	struct switched *first = (struct switched *)(top - offsetof(struct switched, next));

	*first = (struct switched){ .return_address = entry, .rbx = switched_body };
	other_stack = first;
	while (goes_on())
		switch_stacks(&main_stack, other_stack);
}

FRAME static void switched_base(void)
{
	switch_between(coroutine_base, 0);
	AFTER_CALL();
}

/* A function whose return address is 0. */
FRAME static void switched_zero(void)
{
	switch_between(switched_body, sizeof(void *));
	AFTER_CALL();
}

/* --- threads -----------------------------------------------------------------------------------
 */

FRAME static void *thread_body(void *unused)
{
	while (goes_on())
		leaf();
	return unused;
}

FRAME static void threads(void)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, thread_body, NULL) == 0, "pthread_create");
	must(pthread_join(thread, NULL) == 0, "pthread_join");
}

const struct chain_case chain_cases[] = {
	{ "signals", signals },
	{ "signal_stack", signal_stack },
	{ "signal_fault", signal_fault },
	{ "contexts", contexts },
	{ "switched_base", switched_base },
	{ "switched_zero", switched_zero },
	{ "threads", threads },
	{ NULL, NULL },
};
