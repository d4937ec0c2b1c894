/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_writer MODE [OPTION VALUE]... [-- PROGRAM...]: generates machine code as it runs, reports it
 * as runtimes do, and logs the CPU time of each function. Then executes PROGRAM.
 *
 *   --seconds N         how long (5)
 *   --run MS            the shortest run of a function (5)
 *   --functions N       how many; the Nth runs N times as long as the first (4)
 *   --prefix TEXT       of their names
 *   --comm NAME         of the process
 *   --truth FILE        gets lines of COMM, NAME and nanoseconds
 *   --code frame|leaf
 *   --memory anonymous|shared|memfd|named|sysv|huge
 *   --address HEX       of that memory
 *   --output jitdump|map|none
 *   --directory FOLDER  of the output (the current one; of a map: /tmp)
 *   --marker FILE       is mapped in place of the jitdump file
 *   --version N         of the jitdump (1)
 *   --clock monotonic|cpu
 *   --order native|swapped
 *   --flush MS|exit     how long records wait in memory (0)
 *   --pieces yes|no     a record is written in three parts
 *   --lines yes|no      also write source lines and unwinding tables
 *   --append yes|no     write to an existing file
 *   --form plain|both|start|padded   which numbers of a map have a 0x
 *
 * Exits with 77 if the machine lacks something.
 */
#include "trial.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static const struct {
	const char *name;
	void (*run)(struct trial *trial);
} modes[] = {
	{ "steady", run_steady },
	{ "stale", run_stale },
	{ "reuse", run_reuse },
	{ "move", run_move },
	{ "nested", run_nested },
	{ "torn", run_torn },
	{ "fork-private", run_fork_private },
	{ "fork-shared", run_fork_shared },
	{ "hostile-tiny", run_hostile_tiny },
	{ "hostile-same", run_hostile_same },
	{ "hostile-names", run_hostile_names },
	{ "hostile-huge", run_hostile_huge },
	{ "hostile-rewrite", run_hostile_rewrite },
	{ "hostile-many", run_hostile_many },
};

enum option_key {
	SECONDS = 256,
	RUN,
	FUNCTIONS,
	PREFIX,
	COMM,
	TRUTH,
	CODE,
	MEMORY,
	ADDRESS,
	OUTPUT,
	DIRECTORY,
	MARKER,
	VERSION,
	CLOCK,
	ORDER,
	FLUSH,
	PIECES,
	LINES,
	APPEND,
	FORM,
};

static const struct option long_options[] = {
	{ "seconds", required_argument, NULL, SECONDS },
	{ "run", required_argument, NULL, RUN },
	{ "functions", required_argument, NULL, FUNCTIONS },
	{ "prefix", required_argument, NULL, PREFIX },
	{ "comm", required_argument, NULL, COMM },
	{ "truth", required_argument, NULL, TRUTH },
	{ "code", required_argument, NULL, CODE },
	{ "memory", required_argument, NULL, MEMORY },
	{ "address", required_argument, NULL, ADDRESS },
	{ "output", required_argument, NULL, OUTPUT },
	{ "directory", required_argument, NULL, DIRECTORY },
	{ "marker", required_argument, NULL, MARKER },
	{ "version", required_argument, NULL, VERSION },
	{ "clock", required_argument, NULL, CLOCK },
	{ "order", required_argument, NULL, ORDER },
	{ "flush", required_argument, NULL, FLUSH },
	{ "pieces", required_argument, NULL, PIECES },
	{ "lines", required_argument, NULL, LINES },
	{ "append", required_argument, NULL, APPEND },
	{ "form", required_argument, NULL, FORM },
	{ 0 },
};

struct settings {
	struct writer_options writer;
	int memory;
	uint64_t address;
	const char *marker, *comm;
};

static void refuse(const char *what)
{
	(void)fprintf(stderr, "jit_writer: not understood: %s\n", what);
	exit(2);
}

static double to_number(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0) || value > 1e9)
		refuse(text);
	return value;
}

/* Returns the index of the word. */
static int to_choice(const char *text, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], text) == 0)
			return i;
	refuse(text);
	return -1;
}

static int to_known(const char *text, int choice)
{
	if (choice < 0)
		refuse(text);
	return choice;
}

#define CHOICE(text, ...) to_choice(text, (const char *const[]){ __VA_ARGS__, NULL })

/* Returns whether the option was one of the writer's. */
static bool set_writer_option(struct writer_options *writer, int key, const char *value)
{
	if (key == OUTPUT)
		writer->kind = (enum writer_kind)CHOICE(value, "jitdump", "map", "none");
	else if (key == DIRECTORY)
		writer->directory = value;
	else if (key == VERSION)
		writer->version = (uint32_t)to_number(value);
	else if (key == CLOCK)
		writer->has_cpu_clock = CHOICE(value, "monotonic", "cpu") == 1;
	else if (key == ORDER)
		writer->is_swapped = CHOICE(value, "native", "swapped") == 1;
	else if (key == FLUSH)
		writer->flush_ns = strcmp(value, "exit") == 0 ? FLUSH_AT_EXIT
							      : (uint64_t)(to_number(value) * 1e6);
	else if (key == PIECES)
		writer->is_in_pieces = CHOICE(value, "no", "yes") == 1;
	else if (key == LINES)
		writer->has_lines = CHOICE(value, "no", "yes") == 1;
	else if (key == APPEND)
		writer->is_appending = CHOICE(value, "no", "yes") == 1;
	else if (key == FORM)
		writer->map_form = (enum map_form)to_known(value, map_form_from_name(value));
	else
		return false;
	return true;
}

static void set_option(struct trial *trial, struct settings *settings, int key, const char *value)
{
	if (set_writer_option(&settings->writer, key, value))
		return;
	if (key == SECONDS)
		trial->seconds = to_number(value);
	else if (key == RUN)
		trial->run_ns = (uint64_t)(to_number(value) * 1e6);
	else if (key == FUNCTIONS)
		trial->functions = (unsigned)to_number(value);
	else if (key == PREFIX)
		trial->prefix = value;
	else if (key == COMM)
		settings->comm = value;
	else if (key == TRUTH)
		trial->truth.path = value;
	else if (key == CODE)
		trial->style = (enum code_style)CHOICE(value, "frame", "leaf");
	else if (key == MEMORY)
		settings->memory = to_known(value, memory_kind_from_name(value));
	else if (key == ADDRESS)
		settings->address = strtoull(value, NULL, 16);
	else if (key == MARKER)
		settings->marker = value;
}

static void parse(int argc, char **argv, void (*mode)(struct trial *trial), struct trial *trial,
	struct settings *settings)
{
	int key;

	while ((key = getopt_long(argc, argv, "+", long_options, NULL)) != -1) {
		if (key < SECONDS)
			exit(2);
		set_option(trial, settings, key, optarg);
	}
	if (mode == run_fork_shared && !memory_kind_is_shared((enum memory_kind)settings->memory))
		refuse("fork-shared without --memory shared, memfd or sysv");
	if (trial->functions == 0 || (optind < argc && strcmp(argv[optind - 1], "--") != 0))
		refuse(optind < argc ? argv[optind] : "--functions 0");
}

static void map_marker(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE,
			      fd, 0) == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	(void)close(fd);
}

static void run(
	struct trial *trial, const struct settings *settings, void (*mode)(struct trial *trial))
{
	(void)prctl(PR_SET_NAME, settings->comm);
	trial->random = (uint64_t)getpid();
	code_memory_map(&trial->memory, (enum memory_kind)settings->memory, settings->address);
	writer_open(&trial->writer, &settings->writer);
	if (settings->marker)
		map_marker(settings->marker);
	trial->end_ns = monotonic_ns() + (uint64_t)(trial->seconds * 1e9);
	mode(trial);
}

int main(int argc, char **argv)
{
	struct settings settings = { .writer.version = 1, .comm = "jit_writer" };
	static struct trial trial = {
		.seconds = 5, .run_ns = 5000000, .functions = 4, .prefix = ""
	};
	void (*mode)(struct trial * trial) = NULL;

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i].name, argv[1]) == 0)
			mode = modes[i].run;
	if (!mode)
		refuse(argc > 1 ? argv[1] : "no mode");
	parse(argc - 1, argv + 1, mode, &trial, &settings);
	run(&trial, &settings, mode);
	if (optind + 1 < argc) {
		(void)execvp(argv[optind + 1], argv + optind + 1);
		perror(argv[optind + 1]);
		return 1;
	}
	return 0;
}
