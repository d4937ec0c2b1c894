/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static enum log_level shown_level = LOG_LEVEL_WARNING;
static log_sink sink;

void log_set_level(enum log_level level)
{
	shown_level = level;
}

void log_set_sink(log_sink new_sink)
{
	sink = new_sink;
}

__attribute__((format(printf, 2, 0))) static void show(
	const struct log_event *event, const char *format, va_list arguments)
{
	char text[LOG_TEXT_BYTES];

	if (event->level > shown_level)
		return;
	(void)vsnprintf(text, sizeof(text), format, arguments);
	if (sink && sink(event, text))
		return;
	if (getenv("JOURNAL_STREAM"))
		(void)fprintf(stderr, "<%d>", (int)event->level);
	(void)fprintf(stderr, "pilotlight: %s\n", text);
}

void log_message(enum log_level level, const char *format, ...)
{
	const struct log_event event = { .level = level };
	va_list arguments;

	va_start(arguments, format);
	show(&event, format, arguments);
	va_end(arguments);
}

void log_event(const struct log_event *event, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	show(event, format, arguments);
	va_end(arguments);
}
