/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers the names of a profile's frames so that the numbers sort as the names do. A label is a
 * text and a kind and, by line, a source line. Two locations with the same label are drawn as the
 * same frame. Labels are sorted by (text bytes, address, file, line, kind), so their order does not
 * depend on the order in which the profile was filled.
 *
 * Texts are borrowed from the profile, which must outlive the labels and not change. Memory: about
 * 50 bytes for each location, frame and distinct name. Read-only once built; the caller of
 * frame_labels_new() owns the result.
 */
#pragma once

#include "aggregate/profile.h"

#include <stdbool.h>

/* Kinds beyond those of binaries. */
enum frame_kind {
	FRAME_KERNEL = BINARY_KERNEL,
	FRAME_EXECUTABLE = BINARY_EXECUTABLE,
	FRAME_LIBRARY = BINARY_LIBRARY,
	FRAME_JIT = BINARY_JIT,
	FRAME_SYNTHETIC = BINARY_SYNTHETIC,
	FRAME_PYTHON = BINARY_PYTHON,
	FRAME_JAVASCRIPT = BINARY_JAVASCRIPT,
	FRAME_RUBY = BINARY_RUBY,
	FRAME_JAVA = BINARY_JAVA,
	FRAME_PHP = BINARY_PHP,
	FRAME_PERL = BINARY_PERL,
	FRAME_INLINED,
	FRAME_COMM,
	FRAME_ROOT,
	FRAME_KIND_COUNT,
};

/* "kernel", "executable", … */
const char *frame_kind_name(enum frame_kind kind);

/* Whether a frame stands for a function or for a line of a function. */
enum frame_detail {
	FRAME_BY_FUNCTION,
	FRAME_BY_LINE,
};

enum {
	/* Two of the longest pooled strings, "[", "+0x", 16 digits, "] (", ":", 10 digits, ")" and
	 * a NUL. */
	FRAME_NAME_BYTES = 2112,
	FRAME_LOSS_BYTES = 48,
};
#define FRAME_NONE UINT32_MAX

struct frame_label {
	const char *text; /* not terminated at text_bytes; a binary's base name if has_address */
	const char *file; /* its base name; NULL: unknown, or FRAME_BY_FUNCTION */
	uint64_t address;
	uint32_t line; /* 0: unknown */
	uint16_t text_bytes;
	uint8_t kind; /* enum frame_kind */
	bool has_address;
};

/* The frames of a location, outermost first: labels chain[first] to chain[first + count - 1]. */
struct frame_chain {
	uint32_t first, count; /* count is 1 at least */
	uint32_t binary_rank;  /* the position of its binary in the order of (path, build-id) */
};

struct frame_labels {
	struct frame_label *items; /* in their order */
	size_t count, capacity;
	struct frame_chain *chains; /* by location */
	uint32_t *chain;
	size_t chain_count, chain_capacity;
	uint32_t *comms;			/* a label by thread */
	uint32_t *ranked_binaries;		/* a binary by rank */
	uint32_t root;				/* the label "all" */
	uint32_t losses[PILOTLIGHT_DROP_COUNT]; /* FRAME_NONE: no such loss */
	char loss_texts[PILOTLIGHT_DROP_COUNT][FRAME_LOSS_BYTES];
};

/* Returns 0, -ENOMEM, or -E2BIG when there are more than 2^32 frames. */
int frame_labels_new(
	const struct profile *profile, enum frame_detail detail, struct frame_labels **ret_labels);
void frame_labels_free(struct frame_labels *labels);
DEFINE_CLEANUP(struct frame_labels, frame_labels_free);

/* Compares labels, also of different profiles. Returns less than, equal to or greater than 0. */
int frame_label_compare(const struct frame_label *a, const struct frame_label *b);

/* The part after the last '/' of a path; the whole path if that part is empty. */
const char *frame_base_name(const char *path);

/*
 * Formats the label as it is shown: the text, or `[binary+0xvaddr]` for a location without a name;
 * by line followed by ` (file.c:123)`. The result is valid UTF-8 without control characters.
 * Returns the length without the NUL.
 */
size_t frame_label_format(const struct frame_label *label, char name[FRAME_NAME_BYTES]);

/* FNV-1a of the formatted label, a tab and the name of its kind; the page has the same function. */
uint32_t frame_label_hash(const struct frame_label *label);

/* The lost samples that the frame of this reason stands for; 0 if the reason is not a loss (I1). */
uint64_t frame_loss(const struct profile *profile, enum pilotlight_drop reason);

/* All samples that are drawn, stored and lost. */
uint64_t frame_samples(const struct profile *profile);
