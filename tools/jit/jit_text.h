/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of a jitdump file in words for people and for programs, and times as both have them. */
#pragma once

#include "jit/jitdump_record.h"

#include <stdint.h>

struct json;
struct output;

/* Seconds with nine digits after the point, "551.226382574"; returns `text`. */
enum { JIT_TEXT_TIME_BYTES = 24 };
const char *jit_text_time(uint64_t time_ns, char text[JIT_TEXT_TIME_BYTES]);

/* The same back, or without a point as ns. Returns 0, -EINVAL no time, -ERANGE too big a one. */
int jit_text_parse_time(const char *text, uint64_t *ret_ns);

/* "LOAD"; "UNKNOWN" of what nobody has defined. */
const char *jit_text_kind(uint32_t id);

/* A line, and as an object the same. */
void jit_text_write_header(struct output *output, const struct jitdump_header *header);
void jit_text_json_header(struct json *json, const struct jitdump_header *header);

/*
 * What begins at `offset` in the file: a line, and one for each debug entry; or an object. Of a
 * damaged one (`error` not 0) nothing but its size is believed.
 */
void jit_text_write_record(struct output *output, uint64_t offset,
	const struct jitdump_header *header, const struct jitdump_record *record, int error);
void jit_text_json_record(struct json *json, uint64_t offset, const struct jitdump_header *header,
	const struct jitdump_record *record, int error);
