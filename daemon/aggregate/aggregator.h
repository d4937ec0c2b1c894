/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds resolved stacks to a profile. Each distinct stack is one node of its tree, however many
 * processes and address spaces share it. One owner, one thread.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/user_share.h"
#include "resolve/resolver.h"

#include <stddef.h>

struct aggregator;

/*
 * What users may hold of a budget in bytes (base/user_share.h): of strings, of elements that surely
 * fit into it, and of spans, which are elements, too. A quota may be a part of another: what it
 * grants, the other must have, too.
 */
struct aggregator_quota {
	struct user_share strings, elements, spans;
	struct aggregator_quota *within; /* borrowed; NULL: none */
};
void aggregator_quota_init(
	struct aggregator_quota *quota, size_t limit_bytes, struct aggregator_quota *within);

/*
 * All are borrowed and must outlive the aggregator. It adds the samples that exceed their user's
 * share of the profile to `excess`.
 */
int aggregator_new(struct profile *profile, const struct binary_table *binaries,
	struct user_excess *excess, struct aggregator **ret_aggregator);
/* Shares a quota with other aggregators, in place of one of its own profile's budget. Borrowed;
 * call it before the first sample. */
void aggregator_set_quota(struct aggregator *aggregator, struct aggregator_quota *quota);
void aggregator_free(struct aggregator *aggregator);
DEFINE_CLEANUP(struct aggregator, aggregator_free);

/* Facts about a sample's thread that the kernel does not report with the sample. */
struct aggregator_labels {
	const char *exe, *cgroup; /* borrowed for the call; paths, "" if unknown */
	const char *claims;	  /* as in labels/process_claims.h */
};

/*
 * Adds a sample with its frames, root first; `labels` may be NULL. A sample of a thread that did
 * not run gets a last frame that says so (wait_reason_frame()). Once the share of its user
 * (base/user_share.h) is used up, a new stack becomes "[names over quota]", and so does the name of
 * a new thread, which loses its labels. Returns 0, -ENOMEM or -E2BIG (the profile's budget is used
 * up). On failure the sample is not in the profile and the caller counts it.
 */
int aggregator_add(struct aggregator *aggregator, const struct raw_sample *sample,
	const struct aggregator_labels *labels, const struct resolved_frame *frames, size_t count);

/* The id in the binary table of a binary of the profile; UINT32_MAX for synthetic ones. */
uint32_t aggregator_table_binary(const struct aggregator *aggregator, uint32_t profile_binary);

/* Adds the bytes that users hold of its quota (USER_WINDOW). */
void aggregator_holdings(const struct aggregator *aggregator, struct user_holdings *holdings);
