/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/demangle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The input is the name, up to its first NUL. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *symbol = malloc(size + 1), *demangled;

	if (!symbol)
		return 0;
	memcpy(symbol, bytes, size);
	symbol[size] = '\0';
	demangled = demangle(symbol);
	if (demangled && strlen(demangled) >= DEMANGLE_OUTPUT_BYTES_MAX)
		abort();
	free(demangled);
	free(symbol);
	return 0;
}
