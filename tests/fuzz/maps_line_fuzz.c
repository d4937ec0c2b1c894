/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/maps_line.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char path[MAPS_LINE_BYTES_MAX], small[8];
	struct maps_line line;

	if (maps_line_parse((const char *)bytes, size, &line) < 0)
		return 0;
	assert(line.start < line.end);
	assert(line.path_size <= size);
	if (maps_line_path(&line, path, sizeof(path)) == 0)
		assert(strlen(path) <= line.path_size);
	else
		assert(line.path_size >= sizeof(path));
	(void)maps_line_path(&line, small, sizeof(small));
	return 0;
}
