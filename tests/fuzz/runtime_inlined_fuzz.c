/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions at an instruction of optimized code: 4 bytes say which, the rest is the table. */
#include "symbol/runtime_inlined.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct runtime_inlined_frame frames[RUNTIME_INLINED_MAX];
	int32_t unit;
	size_t count;

	if (size < sizeof(unit))
		return 0;
	memcpy(&unit, bytes, sizeof(unit));
	count = runtime_inlined_find(bytes + sizeof(unit), size - sizeof(unit), unit, frames);
	if (count > RUNTIME_INLINED_MAX)
		abort();
	return 0;
}
