/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of every shape that a compiler makes. */
#include "chains.h"

#include <alloca.h>
#include <setjmp.h>
#include <string.h>

enum { LARGE_BYTES = 1 << 20, LARGE_DEPTH = 4, TURNS = 1000 };

/* --- recursion ---------------------------------------------------------------------------------
 */

static void descend_a(unsigned depth);

FRAME static void descend_c(unsigned depth)
{
	char frame[1000];

	ON_STACK(frame);
	if (depth)
		descend_a(depth - 1);
	else
		leaf();
	AFTER_CALL();
}

FRAME static void descend_b(unsigned depth)
{
	/* All registers that a function must save. */
	__asm__ volatile("" : : : "rbx", "r12", "r13", "r14", "r15");
	if (depth)
		descend_c(depth - 1);
	else
		leaf();
	AFTER_CALL();
}

FRAME static void descend_a(unsigned depth)
{
	if (depth)
		descend_b(depth - 1);
	else
		leaf();
	AFTER_CALL();
}

FRAME static void deep_200(void)
{
	while (goes_on())
		descend_a(199);
}

FRAME static void deep_900(void)
{
	while (goes_on())
		descend_a(899);
}

/* More frames than a walk takes. */
FRAME static void deep_1200(void)
{
	while (goes_on())
		descend_a(1199);
}

/* --- calls that are jumps, and jumps that are returns --------------------------------------------
 */

FRAME static void tail_third(void)
{
	leaf();
	AFTER_CALL();
}

FRAME static void tail_second(void)
{
	tail_third();
}

FRAME static void tail_first(void)
{
	tail_second();
}

FRAME static void tail_calls(void)
{
	while (goes_on())
		tail_first();
}

static jmp_buf place;

FRAME static void jump_from_here(void)
{
	leaf();
	longjmp(place, 1);
}

FRAME static void jump_over_this(void)
{
	char frame[300];

	ON_STACK(frame);
	jump_from_here();
	AFTER_CALL();
}

FRAME static void set_jump(void)
{
	if (setjmp(place) == 0)
		jump_over_this();
	AFTER_CALL();
}

FRAME static void jumps(void)
{
	while (goes_on())
		set_jump();
}

FRAME __attribute__((noreturn)) static void does_not_return(void)
{
	leaf();
	longjmp(place, 1);
}

/* The return address is after its end, in the next function. */
FRAME static void ends_in_a_call(void)
{
	char frame[500];

	ON_STACK(frame);
	does_not_return();
}

FRAME static void no_return(void)
{
	while (goes_on())
		if (setjmp(place) == 0)
			ends_in_a_call();
}

/* --- frames of dynamic size, large frames, aligned frames ------------------------------
 */

FRAME static void with_array(unsigned size)
{
	char array[size];

	array[0] = array[size - 1] = 1;
	ON_STACK(array);
	leaf();
	AFTER_CALL();
}

FRAME static void with_alloca(unsigned size)
{
	char *memory = alloca(size);

	memset(memory, 0, size);
	__asm__ volatile("" : : "r"(memory) : "memory");
	with_array(size * 3 + 1);
	AFTER_CALL();
}

FRAME static void late_sizes(void)
{
	for (unsigned size = 1; goes_on(); size = size % 5000 + 7)
		with_alloca(size);
}

FRAME static void large_frame(unsigned depth)
{
	char block[LARGE_BYTES];

	block[0] = block[sizeof(block) - 1] = 1;
	ON_STACK(block);
	if (depth > 1)
		large_frame(depth - 1);
	else
		leaf();
	AFTER_CALL();
}

FRAME static void large_frames(void)
{
	while (goes_on())
		large_frame(LARGE_DEPTH);
}

/* If the compiler touches each page of a new frame, this takes most of the time. */
FRAME static void probed_frame(void)
{
	char block[LARGE_BYTES];

	ON_STACK(block);
}

FRAME static void probed(void)
{
	while (goes_on())
		for (unsigned i = 0; i < TURNS; i++)
			probed_frame();
}

FRAME static void aligned_locals(unsigned size)
{
	char vector[64] __attribute__((aligned(64)));
	char *memory = alloca(size);

	__asm__ volatile("" : : "r"(vector), "r"(memory) : "memory");
	leaf();
	AFTER_CALL();
}

__attribute__((target("avx"))) FRAME static void vector_locals(unsigned size)
{
	typedef double vector __attribute__((vector_size(32)));
	vector values[3] = { { size } };

	ON_STACK(values);
	aligned_locals(size);
	ON_STACK(values);
}

__attribute__((force_align_arg_pointer)) FRAME static void realigned(unsigned size)
{
	vector_locals(size);
	AFTER_CALL();
}

FRAME static void alignment(void)
{
	for (unsigned size = 1; goes_on(); size = size % 200 + 1)
		realigned(size);
}

/* --- prologues and epilogues -------------------------------------------------------------------
 */

FRAME static unsigned tiny(unsigned value)
{
	return value * 7 + 1;
}

/* Saves registers on only one of its paths. */
FRAME static unsigned shrunk(unsigned value)
{
	unsigned a, b, c;

	__asm__ volatile("" : "+r"(value));
	if (value % 3 == 0)
		return value + 1;
	a = tiny(value);
	b = tiny(a + value);
	c = tiny(b + a);
	if (c % 5 == 0)
		return c;
	return tiny(a) + b + c + value;
}

FRAME static void shrink_wrapping(void)
{
	unsigned value = 1;

	while (goes_on())
		for (unsigned i = 0; i < TURNS * 30; i++)
			value = shrunk(value);
}

const struct chain_case chain_cases[] = {
	{ "deep_200", deep_200 },
	{ "deep_900", deep_900 },
	{ "deep_1200", deep_1200 },
	{ "tail_calls", tail_calls },
	{ "jumps", jumps },
	{ "no_return", no_return },
	{ "late_sizes", late_sizes },
	{ "large_frames", large_frames },
	{ "probed", probed },
	{ "alignment", alignment },
	{ "shrink_wrapping", shrink_wrapping },
	{ NULL, NULL },
};
