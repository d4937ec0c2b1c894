/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The properties of a symbol file, as text for people and as JSON for programs. */
#pragma once

#include "pilotlight/symbol_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;
struct output;
struct symbol_file;

/* A word for programs, and a phrase for people. Never NULL: other versions may have other values.
 */
const char *symbols_text_rank_word(uint8_t rank);
const char *symbols_text_rank(uint8_t rank);

/* The same for why a binary has no symbols, as the end of a sentence; and a remedy. */
const char *symbols_text_failure_word(uint8_t failure);
const char *symbols_text_failure(uint8_t failure);
const char *symbols_text_remedy(uint8_t failure);

/* The name of EM_…, or NULL if it is unknown here. */
const char *symbols_text_machine(uint16_t machine);

/* Names of the bits of PILOTLIGHT_SYMBOL_HAS_…: a list with commas, or an array. */
void symbols_text_write_contents(struct output *output, uint32_t contents);
void symbols_text_json_contents(struct json *json, uint32_t contents);

/* "2026-11-21 12:00" in local time; "-" if the calendar has no such time. Returns `text`. */
enum { SYMBOLS_TEXT_TIME_BYTES = 24 };
const char *symbols_text_time(uint64_t time_s, char text[SYMBOLS_TEXT_TIME_BYTES]);

/* Writes the origin, which need not end with a NUL, for people and as a JSON string. */
void symbols_text_write_origin(
	struct output *output, const struct pilotlight_symbol_header *header);
void symbols_text_json_origin(struct json *json, const struct pilotlight_symbol_header *header);

/* Counts functions, and those that were inlined into others. */
void symbols_text_count_frames(
	const struct symbol_file *file, uint64_t *ret_functions, uint64_t *ret_inlined);

/* The losses of extraction, as members of an object. */
void symbols_text_json_losses(struct json *json, const struct pilotlight_symbol_header *header);

bool symbols_text_has_losses(const struct pilotlight_symbol_header *header);

/* The same for people: "3 compilation units, 1 name". */
void symbols_text_write_losses(
	struct output *output, const struct pilotlight_symbol_header *header);
