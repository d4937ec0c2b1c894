/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The modes of a single process. */
#include "trial.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { FUNCTIONS_MAX = 16 };

static const char *numbered_name(const struct trial *trial, const char *word, unsigned i)
{
	return trial_name(trial, word, i + 1);
}

static unsigned function_count(const struct trial *trial)
{
	return trial->functions < FUNCTIONS_MAX ? trial->functions : FUNCTIONS_MAX;
}

static void run_all(struct trial *trial, const struct function *functions)
{
	unsigned turns[FUNCTIONS_MAX], count = function_count(trial);

	while (trial_goes_on(trial)) {
		trial_shuffle(trial, turns, count);
		for (unsigned i = 0; i < count; i++)
			trial_run(trial, &functions[turns[i]], turns[i] + 1);
	}
}

/* Each function has its own place; the places are adjacent. */
void run_steady(struct trial *trial)
{
	struct function functions[FUNCTIONS_MAX];

	for (unsigned i = 0; i < function_count(trial); i++)
		trial_load(trial, i, numbered_name(trial, "steady", i), &functions[i]);
	run_all(trial, functions);
	trial_end(trial);
}

/* The same, after reports of other code: one function at each place, and one over all places. */
void run_stale(struct trial *trial)
{
	struct function functions[FUNCTIONS_MAX];
	struct function all = {
		.name = trial_name(trial, "stale", 0),
		.code = trial->memory.run,
		.size = (size_t)PLACES * PLACE_BYTES,
	};

	writer_load(&trial->writer, &all);
	truth_add(&trial->truth, all.name, 0);
	for (unsigned i = 0; i < function_count(trial); i++)
		trial_tell_only(trial, i, numbered_name(trial, "stale", i));
	for (unsigned i = 0; i < function_count(trial); i++)
		trial_load(trial, i, numbered_name(trial, "fresh", i), &functions[i]);
	run_all(trial, functions);
	trial_end(trial);
}

/* All functions take turns at two places, with code that never runs in between. */
void run_reuse(struct trial *trial)
{
	const char *names[FUNCTIONS_MAX];
	const char *unused[] = { trial_name(trial, "never_ran", 1),
		trial_name(trial, "never_ran", 2) };
	unsigned turns[FUNCTIONS_MAX], count = function_count(trial);
	struct function function;

	for (unsigned i = 0; i < count; i++)
		names[i] = numbered_name(trial, "reuse", i);
	while (trial_goes_on(trial)) {
		trial_shuffle(trial, turns, count);
		for (unsigned i = 0; i < count; i++) {
			unsigned place = trial_draw(trial, 2);

			trial_tell_only(trial, place, unused[place]);
			trial_load(trial, place, names[turns[i]], &function);
			trial_run(trial, &function, turns[i] + 1);
		}
	}
	trial_tell_only(trial, 0, trial_name(trial, "too_late", 1));
	trial_tell_only(trial, 1, trial_name(trial, "too_late", 2));
	trial_end(trial);
}

/* There is one more place than functions: each turn one moves there, and another takes its old
 * place. */
void run_move(struct trial *trial)
{
	struct function functions[FUNCTIONS_MAX], filler;
	unsigned count = function_count(trial), places[FUNCTIONS_MAX], free_place = count;
	const char *fillers[] = { trial_name(trial, "filler", 1), trial_name(trial, "filler", 2) };

	for (unsigned i = 0; i < count; i++) {
		trial_load(trial, i, numbered_name(trial, "moved", i), &functions[i]);
		places[i] = i;
	}
	for (unsigned turn = 0; trial_goes_on(trial); turn++) {
		unsigned i = trial_draw(trial, count), old_place = places[i];
		const void *from = functions[i].code;

		code_move(&trial->memory, free_place, &functions[i]);
		writer_move(&trial->writer, &functions[i], from);
		places[i] = free_place;
		free_place = old_place;
		trial_run(trial, &functions[i], i + 1);
		trial_load(trial, old_place, fillers[turn % 2], &filler);
		trial_run(trial, &filler, 1);
	}
	trial_end(trial);
}

/* `outer` ends where `neighbour` begins, and its call is the last thing in it. */
void run_nested(struct trial *trial)
{
	struct function outer = { .name = trial_name(trial, "outer", 0) };
	struct function inner = { .name = trial_name(trial, "inner", 0) };
	struct function neighbour = { .name = trial_name(trial, "neighbour", 0), .size = 64 };

	code_put_nested(&trial->memory, 0, &outer, &inner);
	neighbour.code = outer.code + outer.size;
	writer_load(&trial->writer, &outer);
	writer_load(&trial->writer, &neighbour);
	writer_load(&trial->writer, &inner);
	truth_add(&trial->truth, neighbour.name, 0);
	while (trial_goes_on(trial))
		truth_add(&trial->truth, inner.name, code_run(&outer, trial->run_ns));
	trial_end(trial);
}

/* Ends like a process that is killed while it writes. */
void run_torn(struct trial *trial)
{
	struct function functions[FUNCTIONS_MAX], torn;

	for (unsigned i = 0; i < function_count(trial); i++)
		trial_load(trial, i, numbered_name(trial, "torn", i), &functions[i]);
	run_all(trial, functions);
	truth_write(&trial->truth);
	trial_put(trial, FUNCTIONS_MAX, trial_name(trial, "half_written", 0), &torn);
	writer_tear(&trial->writer, &torn);
	(void)kill(getpid(), SIGKILL);
}
