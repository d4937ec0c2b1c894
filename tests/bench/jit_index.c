/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_index [--symbols N] [--lookups N] [--rounds N]: the speed and size of an index of JIT code on
 * one core. Functions of 200 bytes with names of 40 bytes are loaded in order and shuffled, with
 * and without ten source lines each, once and four times at each address. Then random addresses and
 * times are looked up. Loads with lines include their packing. The printed sum of the answers keeps
 * the compiler from removing the look-ups.
 */
#include "base/array.h"
#include "base/clock.h"
#include "jit/code_index.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

enum {
	SYMBOLS_DEFAULT = 100000,
	LOOKUPS_DEFAULT = 2000000,
	ROUNDS_DEFAULT = 5,
	ROUNDS_MAX = 99,
	CODE_BYTES = 200,
	STEP_BYTES = 256,
	LINES = 10,
	NAME_BYTES = 40,
};

static const struct scenario {
	const char *name;
	bool is_shuffled, has_lines;
	size_t times; /* each address is used */
} scenarios[] = {
	{ "in order", false, false, 1 },
	{ "in no order", true, false, 1 },
	{ "in no order, lines", true, true, 1 },
	{ "used four times", true, false, 4 },
};

struct bench {
	size_t symbols, lookups, rounds;
	uint32_t *order; /* owned */
};

struct result {
	uint64_t load_ns, find_ns;
	uint64_t found, sum;
	size_t bytes;
};

static const uint64_t base_address = 0x7f0000000000;

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 11;
}

static void shuffle(struct bench *bench, bool is_shuffled)
{
	uint64_t state = 0x9e3779b97f4a7c15U;

	for (size_t i = 0; i < bench->symbols; i++)
		bench->order[i] = (uint32_t)i;
	for (size_t i = bench->symbols; is_shuffled && i-- > 1;) {
		size_t other = draw(&state) % (i + 1);
		uint32_t swapped = bench->order[i];

		bench->order[i] = bench->order[other];
		bench->order[other] = swapped;
	}
}

static size_t make_lines(struct code_index *index, uint64_t *state, uint8_t *packed)
{
	struct line_entry lines[LINES];
	char name[32];
	uint32_t file;

	(void)snprintf(name, sizeof(name), "/srv/app/file%03u.js", (unsigned)(draw(state) % 500));
	if (code_index_file(index, name, strlen(name), &file) < 0)
		return 0;
	for (size_t i = 0; i < LINES; i++)
		lines[i] = (struct line_entry){
			.offset = (uint32_t)(i * CODE_BYTES / LINES),
			.line = (uint32_t)(100 + draw(state) % 200),
			.column = (uint32_t)(1 + draw(state) % 80),
			.file = file,
		};
	return line_list_pack(lines, LINES, packed);
}

/* Names are made beforehand for each round of loads, and are not part of what is measured. */
static int load_all(const struct bench *bench, const struct scenario *scenario,
	struct code_index *index, size_t use, uint64_t *ns)
{
	_cleanup_free_ char *names = malloc(bench->symbols * (NAME_BYTES + 1));
	uint8_t packed[LINES * LINE_ENTRY_BYTES_MAX];
	uint64_t state = 88172645463325252U, before;
	int r = 0;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < bench->symbols; i++)
		(void)snprintf(names + i * (NAME_BYTES + 1), NAME_BYTES + 1,
			"JS:~handler%07x /srv/app/f.js:%07x", (unsigned)i & 0xfffffff,
			(unsigned)use & 0xfffffff);
	before = clock_process_cpu_ns();
	for (size_t i = 0; r == 0 && i < bench->symbols; i++) {
		struct code_load load = {
			.time_ns = 1000 + use * bench->symbols + i,
			.address = base_address + (uint64_t)bench->order[i] * STEP_BYTES,
			.size = CODE_BYTES,
			.name = names + i * (NAME_BYTES + 1),
			.name_size = NAME_BYTES,
			.lines = scenario->has_lines ? packed : NULL,
		};

		if (scenario->has_lines)
			load.lines_size = make_lines(index, &state, packed);
		r = code_index_load(index, &load);
	}
	*ns += clock_process_cpu_ns() - before;
	return r;
}

static void find_all(const struct bench *bench, const struct scenario *scenario,
	const struct code_index *index, struct result *result)
{
	uint64_t state = 0x2545f4914f6cdd1dU, before = clock_process_cpu_ns();
	uint64_t span = (uint64_t)bench->symbols * STEP_BYTES;
	uint64_t times = bench->symbols * scenario->times;

	for (size_t i = 0; i < bench->lookups; i++) {
		uint64_t address = base_address + draw(&state) % span;
		struct code_found found;

		if (!code_index_find(index, address, 1000 + draw(&state) % times, NULL, &found))
			continue;
		result->found++;
		result->sum += found.address + found.line + (uintptr_t)found.name % 4096;
	}
	result->find_ns = clock_process_cpu_ns() - before;
}

static int run_once(struct bench *bench, const struct scenario *scenario, struct result *result)
{
	_cleanup_(code_index_freep) struct code_index *index = NULL;
	int r = code_index_new((size_t)1 << 30, &index);

	*result = (struct result){ 0 };
	if (r < 0)
		return r;
	for (size_t use = 0; use < scenario->times; use++) {
		r = load_all(bench, scenario, index, use, &result->load_ns);
		if (r < 0)
			return r;
	}
	result->bytes = code_index_bytes(index);
	find_all(bench, scenario, index, result);
	return 0;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static int measure(struct bench *bench, const struct scenario *scenario)
{
	uint64_t load_ns[ROUNDS_MAX], find_ns[ROUNDS_MAX];
	size_t loads = bench->symbols * scenario->times;
	struct result result = { 0 };

	shuffle(bench, scenario->is_shuffled);
	for (size_t round = 0; round < bench->rounds; round++) {
		int r = run_once(bench, scenario, &result);

		if (r < 0)
			return r;
		load_ns[round] = result.load_ns;
		find_ns[round] = result.find_ns;
	}
	qsort(load_ns, bench->rounds, sizeof(load_ns[0]), compare_u64);
	qsort(find_ns, bench->rounds, sizeof(find_ns[0]), compare_u64);
	printf("%-20s %9.2f %9.2f %9.1f %9.1f %8.1f   (%" PRIx64 ")\n", scenario->name,
		(double)loads * 1e3 / (double)load_ns[bench->rounds / 2],
		(double)bench->lookups * 1e3 / (double)find_ns[bench->rounds / 2],
		(double)result.bytes / 1e6, (double)result.bytes / (double)loads,
		100.0 * (double)result.found / (double)bench->lookups, result.sum);
	return 0;
}

static int run(struct bench *bench)
{
	_cleanup_free_ uint32_t *order = calloc(bench->symbols, sizeof(*order));

	if (!order)
		return -ENOMEM;
	bench->order = order;
	printf("%zu symbols\n%-20s %9s %9s %9s %9s %8s\n", bench->symbols, "", "M loads/s",
		"M finds/s", "MB", "B/load", "% found");
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
		int r = measure(bench, &scenarios[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "symbols", required_argument, NULL, 's' },
		{ "lookups", required_argument, NULL, 'n' },
		{ "rounds", required_argument, NULL, 'r' },
		{ 0 },
	};
	struct bench bench = { SYMBOLS_DEFAULT, LOOKUPS_DEFAULT, ROUNDS_DEFAULT, NULL };
	int option, r;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			bench.symbols = strtoul(optarg, NULL, 10);
		else if (option == 'n')
			bench.lookups = strtoul(optarg, NULL, 10);
		else if (option == 'r')
			bench.rounds = strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (optind != argc || bench.symbols == 0 || bench.symbols > UINT32_MAX ||
		bench.lookups == 0 || bench.rounds == 0 || bench.rounds > ROUNDS_MAX) {
		(void)fprintf(
			stderr, "usage: jit_index [--symbols N] [--lookups N] [--rounds N]\n");
		return 2;
	}
	r = run(&bench);
	if (r < 0) {
		(void)fprintf(stderr, "jit_index: %s\n", strerror(-r));
		return 1;
	}
	return 0;
}
