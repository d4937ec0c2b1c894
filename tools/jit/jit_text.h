/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of a jitdump file as text for people and JSON for programs, and their time stamps. */
#pragma once

#include "jit/jitdump_record.h"

#include <stdint.h>

struct json;
struct output;

/* Seconds with nine digits after the point, "551.226382574"; returns `text`. */
enum { JIT_TEXT_TIME_BYTES = 24 };
const char *jit_text_time(uint64_t time_ns, char text[JIT_TEXT_TIME_BYTES]);

/* Parses such a time, or ns without a point. Returns 0, -EINVAL, or -ERANGE if it is too large. */
int jit_text_parse_time(const char *text, uint64_t *ret_ns);

/* "LOAD"; "UNKNOWN" for an id that the specification does not define. */
const char *jit_text_kind(uint32_t id);

/* Writes the header as a line or as an object. */
void jit_text_write_header(struct output *output, const struct jitdump_header *header);
void jit_text_json_header(struct json *json, const struct jitdump_header *header);

/*
 * Writes the record at `offset` in the file: a line and one for each debug entry; or an object. Of
 * a damaged record (`error` not 0) only the size is used.
 */
void jit_text_write_record(struct output *output, uint64_t offset,
	const struct jitdump_header *header, const struct jitdump_record *record, int error);
void jit_text_json_record(struct json *json, uint64_t offset, const struct jitdump_header *header,
	const struct jitdump_record *record, int error);
