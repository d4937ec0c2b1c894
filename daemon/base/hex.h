/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hexadecimal digits. */
#pragma once

/* The value of a lower-case digit, or -1. */
static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* The same; upper case, too. */
static inline int hex_digit_of_any_case(char c)
{
	return hex_digit(c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c);
}
