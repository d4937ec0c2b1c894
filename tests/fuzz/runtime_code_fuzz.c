/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses a hostile record of a code object. Its texts must be safe to show. */
#include "symbol/runtime_code.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(const char *text)
{
	for (size_t size = strlen(text), bytes; size > 0; text += bytes, size -= bytes) {
		bytes = utf8_shown(text, size);
		if (bytes == 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct pilotlight_runtime_code record; /* aligned */
	static struct runtime_code code;

	if (size > sizeof(record))
		size = sizeof(record);
	memcpy(&record, bytes, size);
	if (runtime_code_parse(&record, size, &code) < 0)
		return 0;
	check(code.name);
	check(code.file);
	(void)runtime_code_line(&code, 1000);
	return 0;
}
