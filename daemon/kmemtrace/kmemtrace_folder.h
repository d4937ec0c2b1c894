/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder in which a trace is offered (pilotlight/kmemtrace.h). Its streams are FIFOs `cpu<n>`,
 * each read by whoever opens it, or with `is_files` files `cpu<n>.out`, as kmemtrace-user writes
 * them.
 *
 * A slow or absent reader costs only its own stream: the stream keeps KMEMTRACE_STREAM_BYTES, then
 * drops events and counts their bytes as overruns. When kmemtrace_folder_flush() finds that a
 * reader has gone away, the bytes that it left are overruns, too, so that the next reader begins
 * with a whole event. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KMEMTRACE_STREAM_BYTES = 8 << 20, KMEMTRACE_PIPE_BYTES = 1 << 20 };

struct kmemtrace_folder;

/*
 * Creates the folder unless it exists, and in it a stream for each of the `count` CPUs, which
 * ascend. Replaces the streams of an earlier trace. Returns 0, or -errno with `fault`; -EBUSY:
 * another trace has it.
 */
int kmemtrace_folder_new(const char *path, bool is_files, const uint32_t *cpus, size_t count,
	struct kmemtrace_folder **ret_folder, struct fault *fault);
/* Removes the FIFOs; all other files stay. */
void kmemtrace_folder_free(struct kmemtrace_folder *folder);
DEFINE_CLEANUP(struct kmemtrace_folder, kmemtrace_folder_free);

/* Appends a whole event to the stream of one of the CPUs, or counts it as overrun. */
void kmemtrace_folder_append(
	struct kmemtrace_folder *folder, uint32_t cpu, const void *bytes, size_t size);

/* Writes what the readers take without blocking. Returns 0, or the error of writing a file, with
 * `fault`. */
int kmemtrace_folder_flush(struct kmemtrace_folder *folder, struct fault *fault);

/* Has each stream whose reader is there written all? */
bool kmemtrace_folder_is_flushed(const struct kmemtrace_folder *folder);

/* What to poll for until a reader takes more: an entry for each stream, with fd -1 if there is
 * nothing to wait for. */
void kmemtrace_folder_polls(const struct kmemtrace_folder *folder, struct pollfd *polls);

/* Counts the bytes that are not written yet as overruns. Nothing may be appended after. */
void kmemtrace_folder_end(struct kmemtrace_folder *folder);

/* Bytes of events that are in no stream. */
uint64_t kmemtrace_folder_overrun_bytes(const struct kmemtrace_folder *folder);

/* Replaces a file of the folder as a whole. Returns 0 or -errno. */
int kmemtrace_folder_put(
	struct kmemtrace_folder *folder, const char *name, const void *bytes, size_t size);
