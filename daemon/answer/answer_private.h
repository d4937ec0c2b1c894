/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to answer/: one answer while it is made. */
#pragma once

#include "answer/answer_parameters.h"
#include "answer/answer_request.h"
#include "base/output.h"
#include "query/heatmap.h"
#include "store/store.h"

enum { TITLE_BYTES = 512 };

/* The state of one answer. A function that fails fills the reply and returns -errno. */
struct answer {
	const struct answer_request *request;
	struct answer_reply *reply;
	struct answer_parameters parameters;
	struct symbol_cache *cache;
	struct cached_symbol_source *names;
	struct profile *profiles[DIFFERENCE_SIDE_COUNT];
	struct heatmap heatmap;
	char titles[DIFFERENCE_SIDE_COUNT][TITLE_BYTES];
	uint64_t written_bytes;
	uint64_t covered_ns; /* by the profile; used only for profiles and metrics */
	int64_t increase;    /* as in the reply */
	int output_fd;
};

/* Profiles get half of the memory; reading, symbolizing and rendering need less than the rest. */
size_t answer_profile_budget(const struct answer *answer);

/* The history has nothing of that side. Returns as answer_fail(). */
int answer_fail_side(
	struct answer *answer, enum difference_side side, const struct store_found *found);

const struct event_source *answer_source_of(const struct store_selection *asked);

/* Makes the title of a side from what was found. */
void answer_title(struct answer *answer, enum difference_side side, const struct profile *profile,
	const struct store_found *found, bool lacks_names);

int answer_read_side(struct answer *answer, enum difference_side side);

int answer_make_incidents(struct answer *answer);
int answer_make_timeline(struct answer *answer);
int answer_make_heatmap(struct answer *answer);

/* An output_function. Returns -EFBIG if the answer would exceed its bound. */
int answer_write_counted(void *context, const void *bytes, size_t size);
/* Fills the reply for an error of the output. */
int answer_fail_output(struct answer *answer, int error);
/* Is the answer compressed? */
bool answer_compresses(const struct answer *answer);
/* Writes what was read. */
int answer_write(struct answer *answer);
