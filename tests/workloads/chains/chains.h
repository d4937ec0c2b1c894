/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs whose call chains follow from their sources, for the tests of unwinding. The tests
 * compile them without frame pointers and in several ways. A program is main.c and one file of
 * cases; the expected chains are in tests/end_to_end/unwind_chains.py.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#include <stdbool.h>
#include <stddef.h>

/* Neither inlined nor cloned, so the function has a frame under its own name. */
#ifdef __clang__
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noipa))
#endif

/* Follows the last call of a function, so that it is no tail call. */
#define AFTER_CALL() __asm__ volatile("" : : : "memory")

/* Makes an object exist on the stack. */
#define ON_STACK(object) __asm__ volatile("" : : "r"(&(object)) : "memory")

struct chain_case {
	const char *name;
	void (*run)(void);
};

/* The program's cases; one without a name ends them. */
extern const struct chain_case chain_cases[];

/* Works for a fraction of a millisecond. */
void leaf(void);

/* Returns whether the process has CPU time left for the case. */
bool goes_on(void);

/* The case's total CPU time, for cases whose work other processes do. */
extern double seconds_of_case;

/* Ends the program with a message and errno if the condition is false. */
void must(bool is_true, const char *what);

#ifdef __cplusplus
}
#endif
