/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks up instructions in a hostile table of lines. The input: the first line, 4 bytes; the table.
 */
#include "symbol/runtime_lines.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_END = 1 << 24 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const int32_t units[] = { -2, -1, 0, 1, 7, 100, 10000, INT32_MAX };
	int32_t first_line;

	if (size < sizeof(first_line))
		return 0;
	memcpy(&first_line, bytes, sizeof(first_line));
	for (int kind = 0; kind <= PILOTLIGHT_RUNTIME_LINE_TABLES; kind++)
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
			if (runtime_lines_find((enum pilotlight_runtime_lines)kind,
				    bytes + sizeof(first_line), size - sizeof(first_line),
				    first_line, units[i]) >= LINE_END)
				abort();
	return 0;
}
