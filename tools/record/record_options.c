/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/record_options.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
	RATE_HZ_DEFAULT = 99, /* not 100, so as not to march in step with what runs by the tick */
	RATE_HZ_MAX = 20000,
	DURATION_SECONDS_MAX = 7 * 24 * 3600,
	STACK_SLOTS_MAX = 1 << 16,
	OPTION_NO_KERNEL = 256,
	OPTION_UNWIND,
	OPTION_STACK_SLOTS,
	OPTION_LINES,
};

static const char help[] =
	"usage: pilotlight record [OPTION...] [--] [COMMAND [ARGUMENT...]]\n"
	"\n"
	"Samples every CPU and leaves a flame graph: until Ctrl-C, for -d seconds, or\n"
	"until COMMAND or every PID has ended. With COMMAND or -p, only those processes\n"
	"and what they start are sampled. A COMMAND that outlives -d or Ctrl-C is ended.\n"
	"\n"
	"  -F HZ              samples a second on each CPU (99); not above the sysctl\n"
	"                     kernel.perf_event_max_sample_rate\n"
	"  -d SECONDS         how long; or a number with a unit: ms, s, min, h\n"
	"  -p PID             this process and what it forks; may be given more than once\n"
	"  -a                 every process, although there is a COMMAND\n"
	"  -o FILE            where to (flamegraph.svg); `-` is standard output\n"
	"  -f FORMAT          svg, folded, pprof or txt; else by FILE's ending\n"
	"                     (.svg, .folded, .pb.gz, .txt)\n"
	"  --lines            tell the lines of a function apart: `name (file.c:123)`\n"
	"  --unwind=HOW       how user stacks are walked: auto (unwind tables where code keeps\n"
	"                     no frame pointers) or fp (frame pointers alone)\n"
	"  --no-kernel        leave out what happens in the kernel\n"
	"  --stack-slots N    force the size of the stack maps, for tests\n"
	"  -q                 say nothing but errors\n"
	"  -v                 say more\n"
	"  -h, --help         this\n"
	"\n"
	"Fewer samples fired than expected are normal where idle CPUs stop their timers.\n";

/* Prints what is wrong and with what. */
static enum record_parse wrong(const char *sentence, const char *what)
{
	(void)fprintf(
		stderr, "pilotlight: %s '%s'; see `pilotlight record --help`\n", sentence, what);
	return RECORD_PARSE_WRONG;
}

/* A whole number from `low` to `high`. */
static bool parse_number(
	const char *text, unsigned long low, unsigned long high, uint32_t *ret_number)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || number < low || number > high)
		return false;
	*ret_number = (uint32_t)number;
	return true;
}

/* Seconds, with a fraction if need be, and perf's and systemd's ease about a unit: "10", "0.5",
 * "10s". */
static bool parse_duration(const char *text, uint64_t *ret_ns)
{
	double seconds;
	char *end;

	errno = 0;
	seconds = strtod(text, &end);
	if (errno || end == text || !isfinite(seconds))
		return false;
	if (strcmp(end, "min") == 0)
		seconds *= 60;
	else if (strcmp(end, "h") == 0)
		seconds *= 3600;
	else if (strcmp(end, "ms") == 0)
		seconds /= 1000;
	else if (*end && strcmp(end, "s") != 0)
		return false;
	if (seconds < 0.001 || seconds > DURATION_SECONDS_MAX)
		return false;
	*ret_ns = (uint64_t)(seconds * NSEC_PER_SEC);
	return true;
}

static enum record_parse take_option(int option, struct record_options *options)
{
	uint32_t pid;

	switch (option) {
	case 'F':
		if (!parse_number(optarg, 1, RATE_HZ_MAX, &options->rate_hz))
			return wrong("-F takes samples a second, from 1 to 20000, not", optarg);
		return RECORD_PARSE_RUN;
	case 'd':
		if (!parse_duration(optarg, &options->duration_ns))
			return wrong("-d takes seconds, from 0.001 to 604800, not", optarg);
		return RECORD_PARSE_RUN;
	case 'p':
		if (!parse_number(optarg, 1, INT32_MAX, &pid))
			return wrong("-p takes the PID of a process, not", optarg);
		if (options->pid_count == RECORD_PIDS_MAX)
			return wrong("-p was given more than 1024 times, the last with", optarg);
		options->pids[options->pid_count++] = (pid_t)pid;
		return RECORD_PARSE_RUN;
	case 'a':
		options->wants_all = true;
		return RECORD_PARSE_RUN;
	case 'o':
		options->path = optarg;
		return RECORD_PARSE_RUN;
	case 'f':
		options->format = profile_format_find(optarg);
		return options->format ? RECORD_PARSE_RUN
				       : wrong("-f takes svg, folded, pprof or txt, not", optarg);
	case 'q':
		options->is_quiet = true;
		return RECORD_PARSE_RUN;
	case 'v':
		options->is_verbose = true;
		return RECORD_PARSE_RUN;
	case OPTION_LINES:
		options->wants_lines = true;
		return RECORD_PARSE_RUN;
	case OPTION_UNWIND:
		if (strcmp(optarg, "auto") != 0 && strcmp(optarg, "fp") != 0)
			return wrong("--unwind takes auto or fp, not", optarg);
		options->wants_tables = strcmp(optarg, "auto") == 0;
		return RECORD_PARSE_RUN;
	case OPTION_NO_KERNEL:
		options->wants_kernel = false;
		return RECORD_PARSE_RUN;
	case OPTION_STACK_SLOTS:
		if (!parse_number(optarg, 1, STACK_SLOTS_MAX, &options->stack_slots))
			return wrong("--stack-slots takes a number from 1 to 65536, not", optarg);
		return RECORD_PARSE_RUN;
	case 'h':
		(void)fputs(help, stdout);
		return RECORD_PARSE_HELP;
	default:
		(void)fputs("pilotlight: see `pilotlight record --help`\n", stderr);
		return RECORD_PARSE_WRONG;
	}
}

/* What the options have to say about each other. */
static enum record_parse check(struct record_options *options)
{
	if (options->path[0] == '\0')
		return wrong("-o takes a file's name, not", "");
	if (!options->format)
		options->format = profile_format_of_path(options->path);
	if (!options->format && strcmp(options->path, "-") == 0)
		options->format = &profile_formats[0];
	if (!options->format)
		return wrong("the ending names no format, so -f must (svg, folded, pprof, txt):",
			options->path);
	if (options->wants_all && options->pid_count > 0)
		return wrong("-p contradicts", "-a");
	if (options->command && options->pid_count > 0)
		return wrong("-p contradicts a command:", options->command[0]);
	return RECORD_PARSE_RUN;
}

enum record_parse record_options_parse(int argc, char **argv, struct record_options *ret_options)
{
	static const struct option long_options[] = {
		{ "frequency", required_argument, NULL, 'F' },
		{ "duration", required_argument, NULL, 'd' },
		{ "pid", required_argument, NULL, 'p' },
		{ "all-cpus", no_argument, NULL, 'a' },
		{ "output", required_argument, NULL, 'o' },
		{ "format", required_argument, NULL, 'f' },
		{ "lines", no_argument, NULL, OPTION_LINES },
		{ "unwind", required_argument, NULL, OPTION_UNWIND },
		{ "no-kernel", no_argument, NULL, OPTION_NO_KERNEL },
		{ "stack-slots", required_argument, NULL, OPTION_STACK_SLOTS },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct record_options options = {
		.rate_hz = RATE_HZ_DEFAULT,
		.path = "flamegraph.svg",
		.wants_kernel = true,
		.wants_tables = true,
	};
	enum record_parse r;
	int option;

	/* "+": a command's options are its own. */
	while ((option = getopt_long(argc, argv, "+F:d:p:ao:f:qvh", long_options, NULL)) >= 0) {
		r = take_option(option, &options);
		if (r != RECORD_PARSE_RUN)
			return r;
	}
	if (optind < argc)
		options.command = argv + optind;
	r = check(&options);
	if (r == RECORD_PARSE_RUN)
		*ret_options = options;
	return r;
}

int record_options_check_rate(uint32_t rate_hz, const char *limit_path, struct fault *fault)
{
	_cleanup_fclose_ FILE *file = fopen(limit_path, "re");
	uint32_t limit_hz;

	if (!file || fscanf(file, "%" SCNu32, &limit_hz) != 1 || rate_hz <= limit_hz)
		return 0;
	return fault_set(fault, -EINVAL,
		"cannot sample %" PRIu32 " times a second, since the kernel allows %" PRIu32
		"; use -F %" PRIu32
		" or less, or `sysctl kernel.perf_event_max_sample_rate=%" PRIu32 "`",
		rate_hz, limit_hz, limit_hz, rate_hz);
}
