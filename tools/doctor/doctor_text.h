/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsers of the kernel's small text files. Pure functions. */
#pragma once

#include <stdint.h>

/*
 * The effective capabilities in the text of /proc/PID/status. Returns 0, or -EINVAL if that line is
 * missing or not a hexadecimal number of 64 bits.
 */
int doctor_text_capabilities(const char *status, uint64_t *ret_capabilities);

/* "6.1.0-13-amd64" is 6 and 1. Returns 0 or -EINVAL. */
int doctor_text_version(const char *release, unsigned *ret_major, unsigned *ret_minor);

/* A whole decimal number with its sign and nothing after it. Returns 0, -EINVAL or -ERANGE. */
int doctor_text_integer(const char *text, long *ret_value);

/*
 * How many CPUs "0-3,8" names, and the lowest. Returns 0, or -EINVAL for an empty list, a range
 * that runs backwards, or other text.
 */
int doctor_text_cpu_list(const char *list, uint32_t *ret_first, uint32_t *ret_count);
