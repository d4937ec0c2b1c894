/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the events of one stream: a file, or a FIFO that another process writes. Since a stream is
 * only nearly in order, it looks ahead by up to KMEMTRACE_AHEAD events and yields the least
 * sequence number among them. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "kmemtrace/kmemtrace_event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KMEMTRACE_AHEAD = 64 }; /* events of nested interrupts, with room */

struct kmemtrace_stream;

/*
 * Takes `fd` over, also on failure; that of a FIFO does not block. `name` is borrowed for the call.
 * Returns 0 or -ENOMEM.
 */
int kmemtrace_stream_new(int fd, const char *name, struct kmemtrace_stream **ret_stream);
void kmemtrace_stream_free(struct kmemtrace_stream *stream);
DEFINE_CLEANUP(struct kmemtrace_stream, kmemtrace_stream_free);

/*
 * Reads until the look-ahead is full. Returns 0; -EAGAIN if a FIFO has no more at the moment or has
 * no writer yet; or the error of reading. Bytes that are no event end the stream:
 * kmemtrace_stream_is_damaged().
 */
int kmemtrace_stream_fill(struct kmemtrace_stream *stream);

/* The next event, or NULL if none is ahead; borrowed until the next call of another function. */
const struct kmemtrace_event *kmemtrace_stream_peek(const struct kmemtrace_stream *stream);
void kmemtrace_stream_pop(struct kmemtrace_stream *stream);

/* Nothing more will come: the look-ahead is empty and the file has ended. */
bool kmemtrace_stream_has_ended(const struct kmemtrace_stream *stream);
/* Did it end in bytes that are no event, or within one? They begin at `ret_offset`. */
bool kmemtrace_stream_is_damaged(const struct kmemtrace_stream *stream, uint64_t *ret_offset);

int kmemtrace_stream_fd(const struct kmemtrace_stream *stream); /* borrowed */
const char *kmemtrace_stream_name(const struct kmemtrace_stream *stream);
