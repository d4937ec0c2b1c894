/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of otlp_write(): a message under construction, and the numbers that its elements have
 * in the dictionary. Those of strings, functions, mappings and locations are the ids of a pprof
 * message (pprof_tables.h), which begin with 1, too. The first error sticks.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/hash_index.h"
#include "base/output.h"
#include "export/gzip.h"
#include "export/pprof_tables.h"
#include "export/protobuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct otlp_attribute {
	uint32_t key; /* string of the message */
	bool is_number;
	uint64_t value; /* a number, or a string of the message */
};

/* A stack of the message: that of a node of the profile, or one extra location. */
struct otlp_stack {
	uint32_t node; /* PROFILE_ROOT: `extra` */
	uint32_t extra;
};

struct otlp_writer {
	const struct profile *profile;
	const char *host;	     /* NULL: unknown */
	const char *host_attributes; /* NULL: none */
	enum pprof_labels labels;
	struct pprof_tables tables;
	struct protobuf message;
	struct gzip *gzip;
	struct output plain; /* buffers the messages for the compressor */
	int error;	     /* 0 or -ENOMEM */

	uint32_t *stack_ids; /* by the profile's node; 0: not added yet */
	uint32_t extra_stack_ids[PPROF_EXTRA_COUNT];
	struct otlp_stack *stacks; /* the stack with number N is at N - 1 */
	size_t stack_count;

	struct otlp_attribute *attributes; /* the attribute with number N is at N - 1 */
	size_t attribute_count, attribute_capacity;
	struct hash_index attribute_index;
};

/* Returns the number of an attribute of the dictionary; added if missing. 0 after an error. */
uint32_t otlp_attribute_text(struct otlp_writer *writer, const char *key, uint32_t string);
uint32_t otlp_attribute_number(struct otlp_writer *writer, const char *key, uint64_t number);

/* Encodes the dictionary, after all else. */
void otlp_put_dictionary(struct otlp_writer *writer);
