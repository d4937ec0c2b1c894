/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether it is certain which calls of Perl's loop run which groups of frames. Compiles for the
 * host, too.
 */
#pragma once

#include "runtime_place.bpf.h"
#include "runtime_walk.bpf.h"

/* Is the operation on the stack of the native frames, where functions of C make those that call? */
static __always_inline int perl_is_made(const struct walk *walk, __u64 operation)
{
	__u32 last = number_below(WALK_DEPTHS, walk->record.count - 1);

	return operation - walk->leaf_sp < walk->depths[last];
}

/* May the innermost call of Perl's loop, native frame `first`, have no group? It returns, or it has
 * begun with an operation that its caller has made. */
static __always_inline int perl_lacks_group(const struct walk *walk, __u64 operation, __u32 first)
{
	if (!operation)
		return first == 0;
	return perl_is_made(walk, operation) &&
	       operation - walk->leaf_sp >= walk->depths[number_below(WALK_DEPTHS, first + 1)];
}

/*
 * Is it certain which calls of Perl's loop run which groups, if there are `more` calls? The
 * innermost call may have no group. A group has no call before its first operation, and one of
 * callbacks between its calls, in which C may call others: perl->callback_at tells which.
 */
static __always_inline int perl_is_certain(
	const struct walk *walk, struct runtime_walk *perl, __u32 more, __u32 first)
{
	int lacks_group = perl_lacks_group(walk, perl->running, first);

	if (more == 1)
		return lacks_group;
	if (more == 0)
		return !lacks_group || perl->callbacks == perl->calls_back;
	if (perl->callbacks == 1 && perl->callback_at)
		return !perl->is_entered && !perl_is_made(walk, perl->running);
	perl->callback_at = 0;
	return first && (perl->callbacks <= 1 || (perl->calls_back && !perl->running));
}
