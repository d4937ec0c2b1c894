/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile out of the history, as somebody wants to see it: selected, merged, named from the
 * symbol cache, and written in a format. It runs in a process of its own (answer_request.h), so
 * that whatever it takes is given back, and what defeats it costs one answer.
 *
 * Of a binary the history knows its build-id, and not whose file it was. Names are those of trusted
 * files with that build-id (symbol/symbol_identity.h): what was only ever run from an untrusted
 * owner's file has none, nor has what has no build-id. Names of kernel and JIT code are the
 * history's own.
 */
#pragma once

#include "answer/answer_request.h"

/*
 * Makes the answer, and writes it to `output_fd` (borrowed) from its position on. Whatever comes of
 * it is in `ret_reply`, which is complete: an answer that cannot be made is one, too. What was
 * written of it until then is nothing to be shown. `request` may be anything of its length.
 */
void answer_make(
	const struct answer_request *request, int output_fd, struct answer_reply *ret_reply);

/*
 * The main function of the process: gives up its privileges but stays the user that it was started
 * as, who must be able to read the history; takes the request, gives up all else that it does not
 * need, answers. The history is read without writing to its folder, while it is written to, up to
 * what was committed last. When the time is up the reply says so. Where the kernel has no Landlock,
 * files that its user may read stay within reach. Returns an exit status.
 */
int answer_main(int argc, char **argv);
