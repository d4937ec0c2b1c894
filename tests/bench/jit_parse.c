/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_parse FILE [--rounds N] [--lookups N] [--megabytes N]: the speed of reading a jitdump file on
 * one core, from the page cache: only its records, then into an index of at most N megabytes (256);
 * then the speed of lookups in that index. Each figure is the median of the rounds.
 *
 * jit_parse --make FILE --records N [--code-bytes N] [--reuse N] [--pid N]: makes a jitdump of
 * N LOADs with names of about 40 bytes and code of CODE-BYTES (500). Each address is used REUSE (1)
 * times.
 *
 * jit_parse --latency [--records N]: the time from the start of a record's write to a followed file
 * until a lookup finds its name.
 */
#include "base/array.h"
#include "base/clock.h"
#include "jit/jitdump_reader.h"
#include "pilotlight/jitdump.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

enum {
	ROUNDS_DEFAULT = 5,
	ROUNDS_MAX = 99,
	LOOKUPS_DEFAULT = 1000000,
	CODE_BYTES_MAX = 1 << 16,
	NAME_BYTES_MAX = 64,
	ALIGNMENT = 32,
};
#define FIRST_ADDRESS UINT64_C(0x7f0000000000)

struct options {
	const char *path, *make;
	bool is_latency;
	size_t rounds, lookups, records, code_bytes, reuse, limit_bytes;
	uint32_t pid;
};

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 11;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* --- making a file -----------------------------------------------------------------------------
 */

static int put_header(FILE *file, uint32_t pid)
{
	struct pilotlight_jitdump_header header = {
		.magic = PILOTLIGHT_JITDUMP_MAGIC,
		.version = 1,
		.total_size = sizeof(header),
		.machine = EM_X86_64,
		.pid = pid,
		.timestamp = clock_monotonic_ns(),
	};

	return fwrite(&header, sizeof(header), 1, file) == 1 ? 0 : -EIO;
}

static int put_load(FILE *file, const struct options *options, uint64_t number, const uint8_t *code)
{
	size_t places = (options->records + options->reuse - 1) / options->reuse;
	size_t spacing = (options->code_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	uint64_t address = FIRST_ADDRESS + number % places * spacing;
	struct pilotlight_jitdump_prefix prefix = { .timestamp = clock_monotonic_ns() };
	struct pilotlight_jitdump_load load = {
		.pid = options->pid,
		.tid = options->pid,
		.vma = address,
		.code_addr = address,
		.code_size = options->code_bytes,
		.code_index = number + 1,
	};
	char name[NAME_BYTES_MAX];
	size_t name_size = (size_t)snprintf(name, sizeof(name),
		"JS:*function%" PRIu64 " /srv/module%" PRIu64 ".js:%" PRIu64 ":5", number,
		number % 97, number % 1999 + 1);

	prefix.id = PILOTLIGHT_JITDUMP_LOAD;
	prefix.total_size =
		(uint32_t)(sizeof(prefix) + sizeof(load) + name_size + 1 + options->code_bytes);
	if (fwrite(&prefix, sizeof(prefix), 1, file) != 1 ||
		fwrite(&load, sizeof(load), 1, file) != 1 ||
		fwrite(name, name_size + 1, 1, file) != 1 ||
		(options->code_bytes > 0 && fwrite(code, options->code_bytes, 1, file) != 1))
		return -EIO;
	return 0;
}

/* perf copies the code into an ELF file, so its bytes do not matter. */
static int make_file(const struct options *options)
{
	static const uint8_t code[CODE_BYTES_MAX];
	_cleanup_fclose_ FILE *file = fopen(options->make, "we");
	int r;

	if (!file)
		return -errno;
	r = put_header(file, options->pid);
	for (uint64_t i = 0; r == 0 && i < options->records; i++)
		r = put_load(file, options, i, code);
	if (r == 0 && fflush(file) != 0)
		r = -errno;
	return r;
}

/* --- reading -----------------------------------------------------------------------------------
 */

static int read_all(
	const char *path, struct code_index *index, struct jitdump_reader_state *ret_state)
{
	_cleanup_(jitdump_reader_freep) struct jitdump_reader *reader = NULL;
	const struct jitdump_reader_options options = { .path = path };
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	int64_t left;
	int r;

	if (fd < 0)
		return -errno;
	r = jitdump_reader_new(TAKE_FD(fd), &options, &reader);
	if (r < 0)
		return r;
	left = jitdump_reader_run(reader, index, INT64_MAX);
	if (left < 0)
		return (int)left;
	jitdump_reader_state(reader, ret_state);
	return ret_state->fault == JITDUMP_FAULT_NONE ? 0 : -EBADMSG;
}

static void print_rate(
	const char *what, uint64_t *times, size_t rounds, const struct jitdump_reader_state *state)
{
	uint64_t median;

	qsort(times, rounds, sizeof(times[0]), compare_u64);
	median = times[rounds / 2];
	printf("%-22s %8.1f ms CPU %8.2f GB/s %8.2f M records/s\n", what, (double)median / 1e6,
		(double)state->counters.bytes / (double)median,
		(double)state->counters.records * 1e3 / (double)median);
}

static int measure_records(const struct options *options, struct jitdump_reader_state *ret_state)
{
	uint64_t times[ROUNDS_MAX];
	int r = 0;

	for (size_t round = 0; r == 0 && round < options->rounds; round++) {
		uint64_t before = clock_process_cpu_ns();

		r = read_all(options->path, NULL, ret_state);
		times[round] = clock_process_cpu_ns() - before;
	}
	if (r == 0)
		print_rate("records alone", times, options->rounds, ret_state);
	return r;
}

/* Leaves the index of the last round. */
static int measure_index(const struct options *options, struct code_index **ret_index)
{
	_cleanup_(code_index_freep) struct code_index *index = NULL;
	uint64_t times[ROUNDS_MAX];
	struct jitdump_reader_state state;
	int r = 0;

	for (size_t round = 0; r == 0 && round < options->rounds; round++) {
		uint64_t before;

		code_index_free(TAKE_PTR(index));
		before = clock_process_cpu_ns();
		r = code_index_new(options->limit_bytes, &index);
		if (r == 0)
			r = read_all(options->path, index, &state);
		times[round] = clock_process_cpu_ns() - before;
	}
	if (r < 0)
		return r;
	print_rate("into an index", times, options->rounds, &state);
	*ret_index = TAKE_PTR(index);
	return 0;
}

/* --- lookups -----------------------------------------------------------------------------------
 */

struct span {
	uint64_t first_address, last_address;
	uint64_t first_ns, last_ns;
};

static int widen(void *context, const struct code_found *found)
{
	struct span *span = context;

	if (span->first_address == 0)
		span->first_address = found->address;
	span->last_address = found->address + found->size - 1;
	if (found->time_ns < span->first_ns)
		span->first_ns = found->time_ns;
	if (found->time_ns > span->last_ns)
		span->last_ns = found->time_ns;
	return 0;
}

/* Looks up random addresses in the code, at random times since the first record. */
static int measure_lookups(const struct options *options, const struct code_index *index)
{
	struct span span = { .first_ns = UINT64_MAX };
	uint64_t times[ROUNDS_MAX], state = 0x9e3779b97f4a7c15U, named = 0, sum = 0;

	(void)code_index_each(index, UINT64_MAX, NULL, widen, &span);
	if (span.first_address == 0)
		return -ENODATA;
	for (size_t round = 0; round < options->rounds; round++) {
		uint64_t before = clock_process_cpu_ns();

		for (size_t i = 0; i < options->lookups; i++) {
			uint64_t address =
				span.first_address +
				draw(&state) % (span.last_address - span.first_address + 1);
			uint64_t time_ns =
				span.first_ns + draw(&state) % (span.last_ns - span.first_ns + 1);
			struct code_found found;

			if (code_index_find(index, address, time_ns, NULL, &found)) {
				named++;
				sum += (uint8_t)found.name[0] + found.size;
			}
		}
		times[round] = clock_process_cpu_ns() - before;
	}
	qsort(times, options->rounds, sizeof(times[0]), compare_u64);
	printf("%-22s %8.2f M/s %8.1f ns, %.1f %% known   (%" PRIx64 ")\n", "lookups",
		(double)options->lookups * 1e3 / (double)times[options->rounds / 2],
		(double)times[options->rounds / 2] / (double)options->lookups,
		100.0 * (double)named / (double)(options->rounds * options->lookups), sum);
	return 0;
}

static int measure_file(const struct options *options)
{
	_cleanup_(code_index_freep) struct code_index *index = NULL;
	struct jitdump_reader_state state;
	struct code_index_counters counters;
	uint64_t kept;
	int r;

	r = measure_records(options, &state);
	if (r == 0)
		r = measure_index(options, &index);
	if (r < 0)
		return r;
	code_index_counters(index, &counters);
	kept = counters.loads - counters.history_dropped - counters.code_dropped;
	printf("%s: %.1f MB, %" PRIu64 " records; %zu symbols at the end, %" PRIu64
	       " in all in %.1f MB: %.1f MB for 100000\n",
		options->path, (double)state.counters.bytes / 1e6, state.counters.records,
		code_index_count(index), kept, (double)code_index_bytes(index) / 1e6,
		(double)code_index_bytes(index) / 10.0 / (double)(kept + 1));
	return measure_lookups(options, index);
}

/* --- latency -----------------------------------------------------------------------------------
 */

static int measure_one(FILE *file, const struct options *options, uint64_t number,
	struct jitdump_reader *reader, struct code_index *index, uint64_t *ret_ns)
{
	static const uint8_t code[CODE_BYTES_MAX];
	struct code_found found;
	uint64_t before = clock_monotonic_ns();
	int64_t left;
	int r;

	r = put_load(file, options, number, code);
	if (r == 0 && fflush(file) != 0)
		r = -errno;
	if (r < 0)
		return r;
	left = jitdump_reader_run(reader, index, 1000);
	if (left < 0)
		return (int)left;
	if (!code_index_find(index, FIRST_ADDRESS, UINT64_MAX, NULL, &found) ||
		found.time_ns < before)
		return -ENODATA;
	*ret_ns = clock_monotonic_ns() - before;
	return 0;
}

static int measure_latency(struct options *options)
{
	_cleanup_(jitdump_reader_freep) struct jitdump_reader *reader = NULL;
	_cleanup_(code_index_freep) struct code_index *index = NULL;
	_cleanup_fclose_ FILE *file = tmpfile();
	_cleanup_free_ uint64_t *times = calloc(options->records, sizeof(*times));
	_cleanup_close_ int fd = file ? dup(fileno(file)) : -1;
	const struct jitdump_reader_options reader_options = { 0 };
	int r;

	if (!times)
		return -ENOMEM;
	if (fd < 0)
		return -errno;
	/* All records use one address, so a lookup finds the record just written. */
	options->reuse = options->records;
	r = put_header(file, options->pid);
	if (r == 0)
		r = jitdump_reader_new(TAKE_FD(fd), &reader_options, &reader);
	if (r == 0)
		r = code_index_new(options->limit_bytes, &index);
	for (size_t i = 0; r == 0 && i < options->records; i++)
		r = measure_one(file, options, i, reader, index, &times[i]);
	if (r < 0)
		return r;
	qsort(times, options->records, sizeof(times[0]), compare_u64);
	printf("%-22s %8.1f us median %8.1f us at 99 %%\n", "written to known",
		(double)times[options->records / 2] / 1e3,
		(double)times[options->records * 99 / 100] / 1e3);
	return 0;
}

/* --- options -----------------------------------------------------------------------------------
 */

static int parse(int argc, char **argv, struct options *options)
{
	static const struct option long_options[] = {
		{ "rounds", required_argument, NULL, 'r' },
		{ "lookups", required_argument, NULL, 'l' },
		{ "megabytes", required_argument, NULL, 'm' },
		{ "make", required_argument, NULL, 'M' },
		{ "records", required_argument, NULL, 'n' },
		{ "code-bytes", required_argument, NULL, 'c' },
		{ "reuse", required_argument, NULL, 'u' },
		{ "pid", required_argument, NULL, 'p' },
		{ "latency", no_argument, NULL, 'L' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		size_t value = optarg ? strtoul(optarg, NULL, 10) : 0;

		if (option == 'r')
			options->rounds = value;
		else if (option == 'l')
			options->lookups = value;
		else if (option == 'm')
			options->limit_bytes = value << 20;
		else if (option == 'M')
			options->make = optarg;
		else if (option == 'n')
			options->records = value;
		else if (option == 'c')
			options->code_bytes = value;
		else if (option == 'u')
			options->reuse = value;
		else if (option == 'p')
			options->pid = (uint32_t)value;
		else if (option == 'L')
			options->is_latency = true;
		else
			return -EINVAL;
	}
	options->path = argv[optind];
	return options->rounds > 0 && options->rounds <= ROUNDS_MAX && options->lookups > 0 &&
			       options->records > 0 && options->reuse > 0 &&
			       options->code_bytes > 0 && options->code_bytes <= CODE_BYTES_MAX &&
			       (options->path || options->make || options->is_latency)
		       ? 0
		       : -EINVAL;
}

int main(int argc, char **argv)
{
	struct options options = {
		.rounds = ROUNDS_DEFAULT,
		.lookups = LOOKUPS_DEFAULT,
		.records = 10000,
		.code_bytes = 500,
		.reuse = 1,
		.limit_bytes = (size_t)256 << 20,
		.pid = 1,
	};
	int r = parse(argc, argv, &options);

	if (r < 0) {
		(void)fprintf(stderr, "usage: jit_parse FILE [--rounds N] [--lookups N] "
				      "[--megabytes N]\n"
				      "       jit_parse --make FILE --records N [--code-bytes N] "
				      "[--reuse N] [--pid N]\n"
				      "       jit_parse --latency [--records N]\n");
		return 2;
	}
	r = options.make	 ? make_file(&options)
	    : options.is_latency ? measure_latency(&options)
				 : measure_file(&options);
	if (r < 0) {
		(void)fprintf(stderr, "jit_parse: %s\n", strerror(-r));
		return 1;
	}
	return 0;
}
