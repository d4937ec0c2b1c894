/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/jit/jit_command.h"
#include "tools/jit/jit_input.h"
#include "tools/jit/jit_verification.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <unistd.h>

static const char help[] =
	"usage: pilotlight jit verify [--all] [--json] FILE\n"
	"\n"
	"Compares a jitdump file with the specification: what deviates from it, at which\n"
	"offset, and what that means for profiles. The exit status is 1 if anything does.\n"
	"\n"
	"  --all       each of them, not only the first eight of a kind\n"
	"  --json      an object a line, for each\n"
	"  -h, --help  this\n";

enum { OPTION_ALL = 256 };

struct verifying {
	bool is_json, is_all;
	struct jit_deviations deviations;
	struct jit_verification verification;
};

static void verifying_free(struct verifying *verifying)
{
	jit_verification_done(&verifying->verification);
	free(verifying);
}
DEFINE_CLEANUP(struct verifying, verifying_free);

static int verify(struct verifying *verifying, const char *path, struct fault *fault)
{
	struct jit_verification *verification = &verifying->verification;
	struct jit_deviations *deviations = &verifying->deviations;
	struct jitdump_reader_state state;
	struct jit_input input;
	int r, finished;

	jit_deviations_init(deviations, STDOUT_FILENO, verifying->is_json, verifying->is_all);
	r = jit_input_open(path, &input, fault);
	if (r == 0)
		r = jit_verification_init(verification, deviations, input.changed_ns);
	if (r == 0)
		r = jit_input_read(&input, verification->index, jit_verification_visit,
			verification, &state, fault);
	jit_input_done(&input);
	if (r == 0) {
		jit_verification_finish(verification, &state);
		jit_deviations_sum_up(deviations, state.counters.records);
	}
	finished = command_finish_output(&deviations->output, fault);
	return finished < 0 ? finished : r;
}

static enum command_parse parse(
	const struct command *command, int argc, char **argv, struct verifying *verifying)
{
	static const struct option long_options[] = {
		COMMAND_OPTIONS,
		{ "all", no_argument, NULL, OPTION_ALL },
		{ 0 },
	};
	enum command_parse r = COMMAND_PARSE_RUN;
	int option;

	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) >= 0) {
		if (option == OPTION_ALL)
			verifying->is_all = true;
		else
			r = command_take_option(command, option, &verifying->is_json);
		if (r != COMMAND_PARSE_RUN)
			return r;
	}
	return command_check_arguments(command, argc, argv, 1, 1, "a jitdump file");
}

static int run(const struct command *command, int argc, char **argv)
{
	_cleanup_(verifying_freep) struct verifying *verifying = calloc(1, sizeof(*verifying));
	struct fault fault = { 0 };
	enum command_parse parsed;
	int r;

	if (!verifying)
		return command_fail(&fault, -ENOMEM);
	parsed = parse(command, argc, argv, verifying);
	if (parsed != COMMAND_PARSE_RUN)
		return command_parse_status(parsed);
	r = verify(verifying, argv[optind], &fault);
	if (r < 0)
		return command_fail(&fault, r);
	return jit_deviations_has_any(&verifying->deviations) ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct command jit_verify = {
	"jit",
	"verify",
	"what deviates from the specification in a jitdump file",
	help,
	run,
};
