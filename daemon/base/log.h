/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages for people, on standard error, each with its sd-daemon(3) priority where the journal
 * reads it. Stages log at debug only; whoever gives up logs, once.
 */
#pragma once

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
