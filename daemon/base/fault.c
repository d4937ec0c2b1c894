/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/fault.h"

#include <stdarg.h>
#include <stdio.h>

int fault_set(struct fault *fault, int error, const char *format, ...)
{
	va_list arguments;

	if (!fault || fault->text[0])
		return error;
	va_start(arguments, format);
	(void)vsnprintf(fault->text, sizeof(fault->text), format, arguments);
	va_end(arguments);
	return error;
}
