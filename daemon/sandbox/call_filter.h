/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A seccomp filter made of lists of system calls. Each sandbox of sandbox.h combines the lists that
 * it needs. Calls in no list get the filter's default action; no list may have that same action.
 */
#pragma once

#include "base/array.h"

#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>

/* Calls that get one action whatever their arguments are. */
struct call_list {
	uint32_t action;
	const int *calls;
	size_t count;
};
#define CALL_LIST(list_action, array)                     \
	{                                                 \
		(list_action), (array), ARRAY_SIZE(array) \
	}

/* A call whose action depends on its arguments: it applies if all conditions hold. */
struct conditional_call {
	int call;
	uint32_t action;
	unsigned int condition_count;
	struct scmp_arg_cmp conditions[3];
};

struct conditional_call_list {
	const struct conditional_call *calls;
	size_t count;
};
#define CONDITIONAL_CALL_LIST(array)       \
	{                                  \
		(array), ARRAY_SIZE(array) \
	}

#define IS(number, value)                                                            \
	{                                                                            \
		.arg = (number), .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)(value) \
	}
#define HAS_BITS(number, mask, value)                                                            \
	{                                                                                        \
		.arg = (number), .op = SCMP_CMP_MASKED_EQ, .datum_a = (mask), .datum_b = (value) \
	}

struct call_filter {
	uint32_t default_action;
	const struct call_list *lists;
	size_t list_count;
	const struct conditional_call_list *conditional_lists;
	size_t conditional_list_count;
	int own_signal; /* the signal that the process may send itself; 0: any, -1: the default
			   action applies */
};

/*
 * Installs the filter; it cannot be removed. Calls of another architecture kill. Returns 0 or
 * -errno.
 */
int call_filter_load(const struct call_filter *filter);

/* --- lists that several sandboxes share --- */

/* Reading, writing and sending on open descriptors; managing own memory; ending. */
extern const struct call_list own_calls;
extern const struct conditional_call_list own_conditional_calls;

/* Calls that no library makes, but an intruder would: they kill. */
extern const struct call_list killing_calls;

/*
 * What a program with libraries needs: its own state, time, waiting, open descriptors, and names of
 * files, but neither opening nor changing them.
 */
extern const struct call_list program_calls;
extern const struct conditional_call_list program_conditional_calls;

/* Opening and creating files by name, but none with these rights. */
#define LENT_RIGHTS (S_ISUID | S_ISGID)
extern const struct conditional_call_list opening_calls;
