/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/libbpf_log.h"

#include "base/log.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 0))) static int log_libbpf(
	enum libbpf_print_level level, const char *format, va_list arguments)
{
	char text[1024];
	int n;

	if (level == LIBBPF_DEBUG)
		return 0;
	n = vsnprintf(text, sizeof(text), format, arguments);
	if (n > 0 && text[strcspn(text, "\n")])
		text[strcspn(text, "\n")] = '\0';
	log_debug("%s", text);
	return n;
}

void libbpf_log_set_up(void)
{
	(void)libbpf_set_print(log_libbpf);
}
