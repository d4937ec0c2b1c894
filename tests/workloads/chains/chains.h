/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs whose call chains follow from their sources, for the tests of unwinding: compiled by the
 * tests, without frame pointers and in several ways. A program is main.c and one other file, which
 * has the cases; the expected chains are in tests/end_to_end/unwind_chains.py.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#include <stdbool.h>
#include <stddef.h>

/* Neither inlined nor cloned, so that it is a frame under its own name. */
#ifdef __clang__
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noipa))
#endif

/* Behind a call that would otherwise be the last thing that a function does. */
#define AFTER_CALL() __asm__ volatile("" : : : "memory")

/* Makes an object exist on the stack. */
#define ON_STACK(object) __asm__ volatile("" : : "r"(&(object)) : "memory")

struct chain_case {
	const char *name;
	void (*run)(void);
};

/* The program's own, ended by one without a name. */
extern const struct chain_case chain_cases[];

/* Works for a fraction of a millisecond. */
void leaf(void);

/* Whether the process still has CPU time for the case. */
bool goes_on(void);

/* The CPU time of the case in all, for one that leaves it to other processes. */
extern double seconds_of_case;

/* Ends the program with a message and errno if it is not true. */
void must(bool is_true, const char *what);

#ifdef __cplusplus
}
#endif
