/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/utf8.h"
#include "config/config_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE_BYTES = 1024 };

static int keep(struct config_problems *problems, const char *sentence)
{
	char clean[UTF8_CLEAN_BYTES];
	char *copy;

	/* The text may quote any bytes of a configuration file, and goes to a terminal. */
	(void)utf8_clean(clean, sentence, strlen(sentence));
	if (ARRAY_RESERVE(problems->texts, &problems->capacity, problems->count + 1,
		    CONFIG_PROBLEMS_MAX) < 0)
		return -ENOMEM;
	copy = strdup(clean);
	if (!copy)
		return -ENOMEM;
	problems->texts[problems->count++] = copy;
	return 0;
}

int config_problem_add(
	struct config_problems *problems, const char *file, unsigned line, const char *format, ...)
{
	char sentence[SENTENCE_BYTES];
	va_list arguments;
	int used;

	problems->all++;
	if (problems->count == CONFIG_PROBLEMS_MAX)
		return 0;
	if (line > 0)
		used = snprintf(sentence, sizeof(sentence), "%.400s:%u: ", file, line);
	else
		used = snprintf(sentence, sizeof(sentence), "%.400s: ", file);
	va_start(arguments, format);
	(void)vsnprintf(sentence + used, sizeof(sentence) - (size_t)used, format, arguments);
	va_end(arguments);
	return keep(problems, sentence);
}

void config_problems_done(struct config_problems *problems)
{
	for (size_t i = 0; i < problems->count; i++)
		free(problems->texts[i]);
	free(problems->texts);
	*problems = (struct config_problems){ 0 };
}
