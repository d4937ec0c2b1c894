/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words and figures of the status as text. Each function that fills the caller's buffer returns it.
 */
#pragma once

#include "api/service_status.h"
#include "base/output.h"
#include "base/utf8.h"

enum { REPORT_NUMBER_BYTES = 32, REPORT_SHARE_BYTES = 24, REPORT_ENTRY_BYTES = 1024 };

/* Writes words from column `start` on, in 80 columns, and indents the following lines to it. */
void report_write_words(struct output *output, const char *text, size_t start);

/* "43.0 MiB", "1,234", "0.081%". */
const char *report_bytes(uint64_t bytes, char text[REPORT_NUMBER_BYTES]);
const char *report_count(uint64_t count, char text[REPORT_NUMBER_BYTES]);
/* Uses enough digits to show that a nonzero share is not 0. */
const char *report_share(uint64_t part, uint64_t whole, char text[REPORT_SHARE_BYTES]);

/* An event's name, as in the history. */
const char *report_event_name(const struct service_status *service, enum pilotlight_source source);

/* A text of the service's, whose bytes may be anything (I8). */
const char *report_clean(const char *text, size_t size, char clean[UTF8_CLEAN_BYTES]);
#define REPORT_CLEAN(text, clean) report_clean(text, sizeof(text), clean)

/*
 * Lists what is wrong, with causes and remedies. With nothing wrong a sentence says so.
 */
void report_write_problems(const struct service_status *service, struct output *output);
