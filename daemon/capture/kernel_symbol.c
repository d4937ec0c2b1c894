/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/kernel_symbol.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Is it the function or a whole variant of it? ".cold" is a part of one. */
static bool is_named(const char *symbol, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(symbol, name, length) != 0)
		return false;
	return symbol[length] == '\0' || (symbol[length] == '.' && !strstr(symbol, ".cold"));
}

int kernel_symbol_find(const char *path, const char *name, struct kernel_symbol *ret_symbol)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	struct kernel_symbol symbol;
	char line[512];

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		unsigned long long address;
		char type;

		/* A module's symbols have its name behind theirs. */
		if (strchr(line, '[') ||
			sscanf(line, "%llx %c %127s", &address, &type, symbol.name) != 3 ||
			(type != 't' && type != 'T') || !is_named(symbol.name, name))
			continue;
		symbol.address = address;
		*ret_symbol = symbol;
		return 0;
	}
	return ferror(file) ? -EIO : -ENOENT;
}
