/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/libbpf_log.h"

#include "base/log.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The verifier's log is one message of up to 16 MiB. Its last lines say why it refuses. */
enum { LINES_MAX = 200 };

/* The last `count` lines of the text. */
static char *last_lines(char *text, int count)
{
	char *begin = text + strlen(text);

	while (begin > text && (begin[-1] != '\n' || !begin[0] || --count > 0))
		begin--;
	return begin;
}

static void log_lines(char *text)
{
	char *rest, *first = strtok_r(text, "\n", &rest);

	if (!first)
		return;
	log_debug("%s", first);
	for (char *line = strtok_r(last_lines(rest, LINES_MAX), "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest))
		log_debug("%s", line);
}

__attribute__((format(printf, 2, 0))) static int log_libbpf(
	enum libbpf_print_level level, const char *format, va_list arguments)
{
	char *text;
	int n;

	if (level == LIBBPF_DEBUG)
		return 0;
	n = vasprintf(&text, format, arguments);
	if (n < 0)
		return n;
	log_lines(text);
	free(text);
	return n;
}

void libbpf_log_set_up(void)
{
	(void)libbpf_set_print(log_libbpf);
}
