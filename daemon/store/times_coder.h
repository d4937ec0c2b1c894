/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Codes the times of a window's samples, thread by thread. Reader and writer know the window's rows
 * (window_blob.h), so that what these tell takes no space:
 *
 *	once        the slices in which any sample was taken, by their distances. All that follows
 *	            counts these alone: a survey of all threads has few
 *	per thread  its counts without a time; its slices, by their distances, and the counts in
 *	            each, until these are all of its counts
 * and, apart from these, so that who needs no stacks need not read them:
 *
 *	per row     if its thread has counts without a time, how many of the row's are; and which
 *	            of the thread's counts are the row's, of those that no row before has: by
 *	            distances among the slices that have such, from the row's before on, and
 *	            around. A row that takes all that are left takes no space
 *
 * A number is coded by its magnitude. Each bit of that adapts (range_coder.h): numbers of each
 * kind, and with like neighbours, have chances of their own. So threads that run on, stacks that
 * come in the order of their ids, and surveys cost little, and what is random costs no more than it
 * must. Versions 2 and 3 of times_blob.h: for ever (I9). In version 2 all is in one, a thread's
 *rows behind the thread.
 */
#pragma once

#include "base/cleanup.h"
#include "store/range_coder.h"
#include "store/row_times.h"

/* A bit for each slice in which any sample was taken. */
struct times_used {
	uint8_t bits[TIMES_SLICE_MAX / 8];
};

/*
 * Borrow what is read or written. A writer fills `column` and the next one, with rows. A reader of
 * version 2 has no `row_bytes`: NULL. Return 0 or -ENOMEM; a reader also -EBADMSG.
 */
struct times_coder;
int times_coder_new_writer(struct column_writer *to, unsigned int column,
	const struct times_used *used, struct times_coder **ret_coder);
int times_coder_new_reader(const uint8_t *bytes, size_t size, const uint8_t *row_bytes,
	size_t row_size, struct times_coder **ret_coder);
void times_coder_free(struct times_coder *coder);
/* What a reader holds. */
size_t times_coder_bytes(const struct times_coder *coder);
DEFINE_CLEANUP(struct times_coder, times_coder_free);

/*
 * Before the first row of a thread whose rows have so many counts. A writer passes all its times,
 * joined; they are consumed. A reader passes NULL. Returns 0, -ENOMEM, -E2BIG or -EBADMSG.
 */
int times_coder_thread(struct times_coder *coder, uint64_t counts, struct row_times *times);
/* The next row: a writer's times, joined; a reader adds them, shifted. Returns as above. */
int times_coder_row(struct times_coder *coder, uint64_t counts, const struct slice_shift *shift,
	struct row_times *times);

/* A reader of version 3 may pass over all rows of the thread: its times. Borrowed until the next
 * one. */
const struct row_times *times_coder_skip_rows(struct times_coder *coder);

/* After the last row. */
void times_coder_finish_writing(struct times_coder *coder);
bool times_coder_is_whole(const struct times_coder *coder);
/* The same if all rows were skipped. */
bool times_coder_has_whole_threads(const struct times_coder *coder);
