/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers one query from the history: selects windows, merges them, symbolizes them from the symbol
 * cache and writes a profile in the requested format. It runs in its own process
 * (answer_request.h): the kernel frees all its memory, and a crash costs one answer.
 *
 * The history records a binary's build-id, but not the owner of its file. Only trusted files with
 * that build-id supply names (symbol/symbol_identity.h). A binary that ran only from an untrusted
 * owner's file stays unsymbolized, and so does one without a build-id. The history itself holds the
 * names of kernel and JIT code.
 */
#pragma once

#include "answer/answer_request.h"

/*
 * Writes the answer to `output_fd` (borrowed) from its current position on. Always fills
 * `ret_reply`, on failure too; discard the output unless the status is 200. `request` may hold any
 * bytes.
 */
void answer_make(
	const struct answer_request *request, int output_fd, struct answer_reply *ret_reply);

/*
 * The main function of the process. It drops its privileges but keeps its user, which must be able
 * to read the history. Then it receives the request, enters its sandbox and answers.
 *
 * It reads the history up to the last commit while the engine writes, and never writes to the
 * folder. On timeout the reply says so. On kernels without Landlock it can still open every file
 * that its user may read. Returns an exit status.
 */
int answer_main(int argc, char **argv);
