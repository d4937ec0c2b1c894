/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages for people, on standard error, each with its sd-daemon(3) priority where the journal
 * reads it; or to a sink that a service sets. Stages log at debug only; whoever gives up logs,
 * once.
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

/* What a message is about, for programs: the name is of A to Z and '_'. */
struct log_field {
	const char *name;
	const char *value;
};

/*
 * A message of a kind: `id` is 32 digits of hex, one for each kind (systemd.journal-fields(7),
 * MESSAGE_ID). Without a sink only people's part is shown. All is borrowed.
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
 * Takes every message that is shown instead of standard error. Of a plain message the event has a
 * level alone. Returns whether it took it: else standard error has it.
 */
typedef int (*log_sink)(const struct log_event *event, const char *text);
void log_set_sink(log_sink sink);
