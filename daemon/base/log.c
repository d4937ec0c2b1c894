/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static enum log_level shown_level = LOG_LEVEL_WARNING;

void log_set_level(enum log_level level)
{
	shown_level = level;
}

void log_message(enum log_level level, const char *format, ...)
{
	va_list arguments;

	if (level > shown_level)
		return;
	if (getenv("JOURNAL_STREAM"))
		(void)fprintf(stderr, "<%d>", (int)level);
	(void)fputs("pilotlight: ", stderr);
	va_start(arguments, format);
	(void)vfprintf(stderr, format, arguments);
	va_end(arguments);
	(void)fputc('\n', stderr);
}
