/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile out of the history, as somebody wants to see it: selected, merged, named from the
 * symbol cache, and written in a format. It runs in a process of its own (answer_request.h), so
 * that whatever it takes is given back, and what defeats it costs one answer.
 */
#pragma once

#include "answer/answer_request.h"

/*
 * Makes the answer, and writes it to `output_fd` (borrowed) from its position on. Whatever comes of
 * it is in `ret_reply`, which is complete: an answer that cannot be made is one, too.
 */
void answer_make(
	const struct answer_request *request, int output_fd, struct answer_reply *ret_reply);

/* The main function of the process: takes the request, gives up all it does not need, answers.
 * Returns an exit status. */
int answer_main(int argc, char **argv);
