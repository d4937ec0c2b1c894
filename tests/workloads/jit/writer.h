/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that a runtime writes about its code: a jitdump file with its marker mapping, or a
 * perf map, in the variants that runtimes use. Every function ends the program on failure.
 */
#pragma once

#include "code.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum writer_kind {
	WRITER_JITDUMP,
	WRITER_PERF_MAP,
	WRITER_NONE, /* has code and writes nothing */
};

/* The number format in a line of a perf map. */
enum map_form {
	MAP_PLAIN,
	MAP_BOTH_PREFIXED,  /* 0x before both */
	MAP_START_PREFIXED, /* 0x before the start only, and $ before the name */
	MAP_PADDED,	    /* sixteen digits, 0x before both */
};
int map_form_from_name(const char *name);

#define FLUSH_AT_EXIT UINT64_MAX

struct writer_options {
	enum writer_kind kind;
	const char *directory; /* NULL: the current one, or /tmp for a perf map */
	enum map_form map_form;
	uint32_t version;
	bool has_cpu_clock; /* time stamps are of the CPU's counter */
	bool is_swapped;    /* the other byte order */
	bool is_in_pieces;  /* three writes to a record */
	bool has_lines;	    /* DEBUG_INFO, and from version 2 on UNWINDING_INFO, before a LOAD */
	bool is_appending;  /* to the existing file */
	uint64_t flush_ns;  /* how long records wait in memory; 0: not at all */
};

struct writer {
	struct writer_options options;
	int fd;	      /* -1: WRITER_NONE */
	void *marker; /* the mapping, or NULL */
	pid_t pid;
	uint64_t next_index;
	uint64_t flushed_ns;
	uint8_t *bytes; /* that wait */
	size_t size, capacity;
	size_t record_start; /* of the record that is being made */
};

void writer_open(struct writer *writer, const struct writer_options *options);

/* For a child that inherited the writer and writes to its parent's file. */
void writer_inherit(struct writer *writer);

/* For a child that does not use its parent's file. */
void writer_disown(struct writer *writer);

/* Reports that the function is at its place from now on. Gives it an index if it has none. */
void writer_load(struct writer *writer, struct function *function);

/* Reports that the function has moved from `from`. */
void writer_move(struct writer *writer, const struct function *function, const void *from);

/* Writes records that have waited long enough. */
void writer_tick(struct writer *writer);

/* Writes everything, and then half of a LOAD. */
void writer_tear(struct writer *writer, struct function *function);

/* Writes the last record and everything that waits. */
void writer_close(struct writer *writer);

uint64_t monotonic_ns(void);
