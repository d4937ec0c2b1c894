/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was at an address, newest first: lists of entries that share their tails, so that a segment
 * that is cut in two costs nothing, and nothing is ever changed in a list that somebody has. A list
 * is a 32-bit number: that of an entry alone, or of a node that puts an entry before a list. Each
 * node also points far down its list (the jumps of a skew-binary stack, Myers 1983), so that a time
 * is found in O(log n) steps.
 *
 * Within a list times never grow; of equal times the later told comes first. Owned by the index.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_LIST_NONE	UINT32_MAX
#define CODE_ENTRY_NONE UINT32_MAX
#define CODE_NAME_NONE	UINT32_MAX /* from then on nothing is there */
#define CODE_LINES_NONE UINT32_MAX
#define CODE_NODE_NONE	UINT32_MAX

/* A fact that comes late goes below this many newer ones, and no deeper. */
enum { CODE_REORDER_MAX = 32 };

struct code_entry {
	uint64_t address, size;
	uint64_t time_ns;
	uint32_t name;	/* an id, or CODE_NAME_NONE */
	uint32_t lines; /* where they are, or CODE_LINES_NONE */
	uint32_t writer;
	uint32_t heads; /* segments whose list it begins: 0: it has ended everywhere */
};

struct code_node {
	uint32_t entry;
	uint32_t next; /* a list, never CODE_LIST_NONE */
	uint32_t jump; /* a list, further down */
	uint32_t depth;
};

struct code_history {
	struct code_entry *entries;
	size_t entry_count, entry_capacity;
	struct code_node *nodes; /* each after those it points to */
	size_t node_count, node_capacity;
	size_t live;   /* entries of code with heads */
	bool is_mixed; /* not all of one writer */
};

void code_history_done(struct code_history *history);

/* Room for so many more; what it takes is code_history_bytes_after(). Returns 0 or -ENOMEM. */
int code_history_reserve(struct code_history *history, size_t entries, size_t nodes);
size_t code_history_bytes_after(const struct code_history *history, size_t entries, size_t nodes);

/* Take room that is reserved. */
uint32_t code_history_add(struct code_history *history, const struct code_entry *entry);
uint32_t code_history_push(struct code_history *history, uint32_t entry, uint32_t list);

/* A segment has, or has no longer, this list. */
void code_history_hold(struct code_history *history, uint32_t list);
void code_history_drop(struct code_history *history, uint32_t list);

/* Of a list that is not empty: its newest entry, and what comes after it. */
uint32_t code_history_newest(const struct code_history *history, uint32_t list);
uint64_t code_history_time(const struct code_history *history, uint32_t list);
uint32_t code_history_older(const struct code_history *history, uint32_t list);

/* The node that a list begins with, or CODE_NODE_NONE; and back. */
uint32_t code_history_node(uint32_t list);
uint32_t code_history_list(uint32_t node);

/*
 * The part of the list that begins with the newest entry at or before `time_ns`; `ret_newer` is the
 * part that begins with the entry before that. Either may be CODE_LIST_NONE.
 */
uint32_t code_history_seek(
	const struct code_history *history, uint32_t list, uint64_t time_ns, uint32_t *ret_newer);

enum code_placing {
	CODE_PLACED,
	CODE_NOT_OVER,	/* what is there is not what it was to be put over */
	CODE_DISPLACED, /* too many are newer */
};

/* How many nodes code_history_place() takes at most for an entry of that time. */
size_t code_history_cost(const struct code_history *history, uint32_t list, uint64_t time_ns);

/*
 * Puts an entry where its time belongs; one of the same time and writer right below it goes.
 * `only_over`: an entry that has to be there at that time, or CODE_ENTRY_NONE: any or none.
 */
enum code_placing code_history_place(
	struct code_history *history, uint32_t entry, uint32_t only_over, uint32_t *list);
