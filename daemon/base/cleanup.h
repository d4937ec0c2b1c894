/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ownership that can be checked by reading one function: every owning local carries one of these
 * attributes and starts as NULL or -1; ownership leaves through TAKE_PTR or TAKE_FD.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))

/* Defines `functionp`, to be named in _cleanup_(), for a destructor that takes `type *`. */
#define DEFINE_CLEANUP(type, function)                \
	static inline void function##p(type **object) \
	{                                             \
		if (*object)                          \
			function(*object);            \
	}                                             \
	struct cleanup_needs_a_semicolon

#define TAKE_PTR(pointer)                               \
	({                                              \
		__typeof__(pointer) taken_ = (pointer); \
		(pointer) = NULL;                       \
		taken_;                                 \
	})

#define TAKE_FD(fd)                \
	({                         \
		int taken_ = (fd); \
		(fd) = -1;         \
		taken_;            \
	})

static inline void freep(void *object)
{
	free(*(void **)object);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static inline void fclosep(FILE **file)
{
	if (*file)
		(void)fclose(*file);
}

#define _cleanup_free_	 _cleanup_(freep)
#define _cleanup_close_	 _cleanup_(closep)
#define _cleanup_fclose_ _cleanup_(fclosep)
