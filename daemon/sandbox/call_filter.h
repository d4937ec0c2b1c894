/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A seccomp filter as a list of lists: each sandbox of sandbox.h names those it is made of. What
 * stands in no list has the filter's default action; a list must not have the same one.
 */
#pragma once

#include "base/array.h"

#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>

/* Calls that are treated alike whatever their arguments are. */
struct call_list {
	uint32_t action;
	const int *calls;
	size_t count;
};
#define CALL_LIST(list_action, array)                     \
	{                                                 \
		(list_action), (array), ARRAY_SIZE(array) \
	}

/* A call that is harmless with some arguments only: where all conditions hold, the action. */
struct conditional_call {
	int call;
	uint32_t action;
	unsigned int condition_count;
	struct scmp_arg_cmp conditions[2];
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
	int own_signal; /* that the process may send itself; 0: any, -1: left to the default */
};

/* Puts it in force for good. Calls of another architecture kill. Returns 0 or -errno. */
int call_filter_load(const struct call_filter *filter);

/* --- lists that several sandboxes share --- */

/* On what is open, and on oneself: reading, writing, talking, memory, ending. */
extern const struct call_list own_calls;
extern const struct conditional_call_list own_conditional_calls;
