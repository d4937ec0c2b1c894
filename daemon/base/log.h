/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages for people, on standard error or to a sink that a service sets. If the journal reads
 * standard error, each message has its sd-daemon(3) priority. Stages log at debug only; the caller
 * that gives up on an error logs it once.
 */
#pragma once

#include <stddef.h>

enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7
};

/* The most verbose level that is shown; LOG_LEVEL_WARNING at first. */
void log_set_level(enum log_level level);

void log_message(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define log_error(...)	 log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)	 log_message(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)	 log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)

enum { LOG_FIELDS_MAX = 8, LOG_TEXT_BYTES = 1024 };

/* A field of a message for programs; names consist of A to Z and '_'. */
struct log_field {
	const char *name;
	const char *value;
};

/*
 * A message of a kind: `id` is 32 digits of hex, one for each kind (systemd.journal-fields(7),
 * MESSAGE_ID). Without a sink only the text is shown. All pointers are borrowed.
 */
struct log_event {
	enum log_level level;
	const char *id;
	const struct log_field *fields;
	size_t field_count;
};
void log_event(const struct log_event *event, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Receives every shown message instead of standard error. The event of a plain message has only a
 * level. Returns whether it delivered the message; if not, it goes to standard error.
 */
typedef int (*log_sink)(const struct log_event *event, const char *text);
void log_set_sink(log_sink sink);
