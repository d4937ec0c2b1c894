/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/name_column.h"

/* The columns of a name, estimated as its number of code points. */
static size_t name_columns(const char *name)
{
	size_t columns = 0;

	for (; *name; name++)
		columns += ((unsigned char)*name & 0xc0) != 0x80;
	return columns;
}

size_t name_column_widen(size_t width, const char *name)
{
	size_t columns = name_columns(name);

	if (columns > NAME_COLUMN_MAX)
		columns = NAME_COLUMN_MAX;
	return columns > width ? columns : width;
}

void name_column_write(struct output *output, const char *name, size_t width, const char *path)
{
	output_string(output, name);
	if (!*path)
		return;
	for (size_t i = name_columns(name); i < width; i++)
		output_char(output, ' ');
	output_string(output, "  ");
	output_string(output, path);
}
