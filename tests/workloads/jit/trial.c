/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trial.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CODE_BYTES = 200 };

const char *trial_name(const struct trial *trial, const char *word, unsigned number)
{
	char *name = NULL;
	int size = number > 0 ? asprintf(&name, "%s%s_%u", trial->prefix, word, number)
			      : asprintf(&name, "%s%s", trial->prefix, word);

	if (size < 0) {
		perror("asprintf");
		exit(1);
	}
	return name;
}

void trial_put(
	const struct trial *trial, unsigned place, const char *name, struct function *function)
{
	*function = (struct function){ .name = name };
	code_put(&trial->memory, place, trial->style, CODE_BYTES, function);
}

void trial_tell_only(struct trial *trial, unsigned place, const char *name)
{
	struct function function = {
		.name = name,
		.code = trial->memory.run + (size_t)place * PLACE_BYTES,
		.size = CODE_BYTES,
	};

	writer_load(&trial->writer, &function);
	truth_add(&trial->truth, name, 0);
}

void trial_load(struct trial *trial, unsigned place, const char *name, struct function *function)
{
	trial_put(trial, place, name, function);
	writer_load(&trial->writer, function);
}

void trial_run(struct trial *trial, const struct function *function, unsigned weight)
{
	truth_add(&trial->truth, function->name, code_run(function, weight * trial->run_ns));
}

bool trial_goes_on(struct trial *trial)
{
	writer_tick(&trial->writer);
	return monotonic_ns() < trial->end_ns;
}

unsigned trial_draw(struct trial *trial, unsigned bound)
{
	trial->random = trial->random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(trial->random >> 33) % bound;
}

void trial_shuffle(struct trial *trial, unsigned *turns, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned j = trial_draw(trial, i + 1);

		turns[i] = turns[j];
		turns[j] = i;
	}
}

void trial_inherit(struct trial *trial, const char *comm)
{
	/* No other process would kill the child or reap it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, comm);
	trial->truth.count = 0;
	trial->random += (uint64_t)getpid();
	writer_inherit(&trial->writer);
}

void trial_end(struct trial *trial)
{
	writer_close(&trial->writer);
	truth_write(&trial->truth);
}
