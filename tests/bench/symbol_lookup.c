/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol_lookup FILE.sym [--addresses FILE] [--count N] [--rounds N]: the speed of lookups in a
 * symbol file on one core. Addresses are hexadecimal vaddrs, one a line, or by default N made-up
 * ones, spread evenly over the code in the file. Each figure is the median of the rounds. The
 * printed sum of the answers keeps the compiler from removing the lookups.
 */
#include "base/array.h"
#include "base/clock.h"
#include "symbol/symbol_file.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

enum {
	ADDRESSES_DEFAULT = 1000000,
	ADDRESSES_MAX = 1 << 28,
	ROUNDS_DEFAULT = 5,
	ROUNDS_MAX = 99,
	BATCH = 256,
	CHAIN_MAX = 256,
};

struct bench {
	const struct symbol_file *file;
	uint64_t *vaddrs; /* owned */
	size_t count, capacity;
};

/* The results of one pass over the addresses. */
struct tally {
	uint64_t named; /* addresses with an answer */
	uint64_t lines; /* of all chains */
	uint64_t sum;	/* of all that was read */
};

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 11;
}

static int make_addresses(struct bench *bench)
{
	const struct pilotlight_symbol_boundary *boundaries =
		symbol_file_entries(bench->file, PILOTLIGHT_SYMBOL_BOUNDARIES);
	uint64_t base = symbol_file_header(bench->file)->base_vaddr;
	uint64_t boundary_count = symbol_file_count(bench->file, PILOTLIGHT_SYMBOL_BOUNDARIES);
	uint64_t state = 0x9e3779b97f4a7c15U;
	uint32_t first, last;

	if (boundary_count < 2)
		return -ENODATA;
	first = boundaries[0].offset;
	last = boundaries[boundary_count - 1].offset;
	for (size_t i = 0; i < bench->count; i++)
		bench->vaddrs[i] = base + first + draw(&state) % (last - first);
	return 0;
}

static int read_addresses(struct bench *bench, const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	uint64_t vaddr;
	int r;

	if (!file)
		return -errno;
	bench->count = 0;
	while (fscanf(file, "%" SCNx64, &vaddr) == 1) {
		r = ARRAY_RESERVE(bench->vaddrs, &bench->capacity, bench->count + 1, ADDRESSES_MAX);
		if (r < 0)
			return r;
		bench->vaddrs[bench->count++] = vaddr;
	}
	return bench->count > 0 ? 0 : -ENODATA;
}

static size_t batch_at(const struct bench *bench, size_t done)
{
	return bench->count - done < BATCH ? bench->count - done : BATCH;
}

/* Looks up only the pointer to the innermost function's name. */
static void find_names(const struct bench *bench, struct tally *tally)
{
	uint32_t frames[BATCH];

	for (size_t done = 0; done < bench->count; done += BATCH) {
		size_t count = batch_at(bench, done);

		symbol_file_find(bench->file, bench->vaddrs + done, count, frames, NULL);
		for (size_t i = 0; i < count; i++) {
			tally->sum += (uintptr_t)symbol_file_frame_name(bench->file, frames[i]);
			tally->named += frames[i] > 0;
		}
	}
	tally->lines = tally->named;
}

static void touch(struct tally *tally, const char *function, const struct symbol_place *place)
{
	tally->sum += (uint8_t)function[0] + (uint8_t)place->file[0] + place->line + place->column;
	tally->lines++;
}

static void find_chains(const struct bench *bench, struct tally *tally)
{
	uint32_t frames[BATCH];
	uint64_t places[BATCH];

	for (size_t done = 0; done < bench->count; done += BATCH) {
		size_t count = batch_at(bench, done);

		symbol_file_find(bench->file, bench->vaddrs + done, count, frames, places);
		for (size_t i = 0; i < count; i++) {
			uint32_t frame = frames[i];
			uint64_t call = places[i];

			tally->named += frame > 0 || call > 0;
			for (; frame > 0 || call > 0;
				frame = symbol_file_frame_parent(bench->file, frame, &call)) {
				struct symbol_place place = symbol_file_place(bench->file, call);

				touch(tally, symbol_file_frame_name(bench->file, frame), &place);
			}
		}
	}
}

static void find_chains_singly(const struct bench *bench, struct tally *tally)
{
	struct symbol_line lines[CHAIN_MAX];

	for (size_t i = 0; i < bench->count; i++) {
		size_t count =
			symbol_file_find_chain(bench->file, bench->vaddrs[i], lines, CHAIN_MAX);

		tally->named += count > 0;
		for (size_t j = 0; j < count; j++)
			touch(tally, lines[j].function, &lines[j].place);
	}
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static const struct {
	const char *name;
	void (*run)(const struct bench *bench, struct tally *tally);
} measurements[] = {
	{ "names", find_names },
	{ "chains with lines", find_chains },
	{ "the same, one by one", find_chains_singly },
};

static void measure(const struct bench *bench, const char *order, size_t rounds)
{
	uint64_t times[ROUNDS_MAX];

	for (size_t m = 0; m < ARRAY_SIZE(measurements); m++) {
		struct tally tally;

		for (size_t round = 0; round < rounds; round++) {
			uint64_t before = clock_process_cpu_ns();

			tally = (struct tally){ 0 };
			measurements[m].run(bench, &tally);
			times[round] = clock_process_cpu_ns() - before;
		}
		qsort(times, rounds, sizeof(times[0]), compare_u64);
		printf("%-8s %-22s %9.2f M/s %7.1f ns %6.2f frames %6.2f %% known   (%" PRIx64
		       ")\n",
			order, measurements[m].name,
			(double)bench->count * 1e3 / (double)times[rounds / 2],
			(double)times[rounds / 2] / (double)bench->count,
			(double)tally.lines / (double)bench->count,
			100.0 * (double)tally.named / (double)bench->count, tally.sum);
	}
}

static int open_file(const char *path, struct symbol_file **ret_file)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t before;
	int r;

	if (fd < 0)
		return -errno;
	before = clock_process_cpu_ns();
	r = symbol_file_open(fd, ret_file);
	if (r < 0)
		return r;
	printf("%s: %.1f MB, opened in %.1f ms CPU; %" PRIu64 " boundaries, %" PRIu64
	       " frames, %" PRIu64 " rows\n",
		path, (double)symbol_file_header(*ret_file)->file_bytes / 1e6,
		(double)(clock_process_cpu_ns() - before) / 1e6,
		symbol_file_count(*ret_file, PILOTLIGHT_SYMBOL_BOUNDARIES),
		symbol_file_count(*ret_file, PILOTLIGHT_SYMBOL_FRAMES),
		symbol_file_count(*ret_file, PILOTLIGHT_SYMBOL_ROWS));
	return 0;
}

static int run(const char *path, const char *addresses, size_t count, size_t rounds)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	_cleanup_free_ uint64_t *vaddrs = NULL;
	struct bench bench = { 0 };
	int r;

	r = open_file(path, &file);
	if (r < 0)
		return r;
	bench.file = file;
	bench.count = count;
	r = ARRAY_RESERVE(bench.vaddrs, &bench.capacity, count, ADDRESSES_MAX);
	if (r == 0)
		r = addresses ? read_addresses(&bench, addresses) : make_addresses(&bench);
	vaddrs = bench.vaddrs;
	if (r < 0)
		return r;
	measure(&bench, "random", rounds);
	qsort(bench.vaddrs, bench.count, sizeof(bench.vaddrs[0]), compare_u64);
	measure(&bench, "sorted", rounds);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "addresses", required_argument, NULL, 'a' },
		{ "count", required_argument, NULL, 'n' },
		{ "rounds", required_argument, NULL, 'r' },
		{ 0 },
	};
	size_t count = ADDRESSES_DEFAULT, rounds = ROUNDS_DEFAULT;
	const char *addresses = NULL;
	int option, r;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'a')
			addresses = optarg;
		else if (option == 'n')
			count = strtoul(optarg, NULL, 10);
		else if (option == 'r')
			rounds = strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (optind + 1 != argc || count == 0 || rounds == 0 || rounds > ROUNDS_MAX) {
		(void)fprintf(stderr, "usage: symbol_lookup FILE.sym [--addresses FILE] "
				      "[--count N] [--rounds N]\n");
		return 2;
	}
	r = run(argv[optind], addresses, count, rounds);
	if (r < 0) {
		(void)fprintf(stderr, "symbol_lookup: %s\n", strerror(-r));
		return 1;
	}
	return 0;
}
