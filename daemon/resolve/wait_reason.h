/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a blocked thread waited for, by the functions of its kernel stack: the first from the leaf
 * that the table has. Their names differ between kernels, and the compiler may inline some, so a
 * reason has several functions, and some stacks have none. A name decides nothing else.
 */
#pragma once

#include "drain/drain.h"
#include "resolve/resolver.h"

#include <stddef.h>

/*
 * The last frame of a stack whose thread did not run: "[blocked: futex]", or without a reason that
 * of event_source_wait(). NULL for CPU time. `frames` are root first. The text is static.
 */
const char *wait_reason_frame(
	const struct raw_sample *sample, const struct resolved_frame *frames, size_t count);
