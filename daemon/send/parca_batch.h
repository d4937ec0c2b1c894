/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a batch for Parca (pilotlight/parca_batch.h), and uploads the names in it: as the debug
 * information of a build-id, unless the server has some, by the four requests of its
 * DebuginfoService. Of a file that is damaged nothing is read beyond the damage (I8).
 *
 * Format: https://github.com/parca-dev/parca/blob/main/proto/parca/debuginfo/v1alpha1
 */
#pragma once

#include "pilotlight/parca_batch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct parca_batch {
	int fd; /* borrowed */
	uint64_t bytes;
	uint64_t at; /* of the next file; behind the last one: of the request */
	uint32_t binaries, next;
};

/* Begins with a batch of `bytes`. Returns 0, -EBADMSG it is none, or -errno. */
int parca_batch_open(struct parca_batch *batch, int fd, uint64_t bytes);

/* Finds the next binary whose names came late, and where its file is. Returns 0; -ENOENT there are
 * no more; -EBADMSG it is damaged; or -errno. */
int parca_batch_next(
	struct parca_batch *batch, struct pilotlight_parca_binary *ret_binary, uint64_t *ret_at);

/* Posts a body to a path of the server. Returns the answer to a request that succeeded, with a NUL
 * at its end, borrowed until the next one; else NULL. */
typedef const char *(*parca_post)(void *context, const char *path, const char *body, size_t size);

/* Returns whether the server has the names now, or does not want them. */
bool parca_batch_upload(const struct parca_batch *batch,
	const struct pilotlight_parca_binary *binary, uint64_t at, parca_post post, void *context);
