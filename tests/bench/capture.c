/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a sample costs in BPF: the sampler as capture_open() sets it up, beside a plain build-id
 * stackmap and a plain raw-ip stackmap, on the same load in the same run. The three take turns, a
 * second each, and in another order every round; each is emptied as often as the pipeline would.
 * Times are the kernel's BPF statistics. How to run it: capture.sh.
 */
#include "capture/capture.h"
#include "base/array.h"
#include "base/clock.h"
#include "bench_capture.skel.h"
#include "capture/cpu_events.h"
#include "capture/cpu_list.h"
#include "drain/drain.h"
#include "tests/bench/stack_load.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum {
	ROUNDS_MAX = 1000,
	SLOT_MS_MAX = 1000,
	MAP_BUDGET_BYTES = 20 << 20,
	CHILDREN_MAX = 4096,
};

enum contender { OURS, BUILD_ID, RAW, CONTENDER_COUNT };

static const char *const names[] = { "ours", "build-id", "raw-ip" };

/* What has happened so far, by the kernel's statistics. */
struct totals {
	uint64_t runs, run_ns, idle;
};

struct bench {
	uint32_t rate_hz, rounds, paths;
	uint32_t slot_ms; /* of one contender; not longer than a window, as in a recording */
	struct capture *capture;
	struct drain *drain;
	struct accounts accounts; /* of ours */
	struct bench_capture *plain;
	struct cpu_events *events[CONTENDER_COUNT]; /* of the plain ones */
	uint32_t *cpus;
	size_t cpu_count;
	uint32_t unemptied_ms[CONTENDER_COUNT];
	double ns[CONTENDER_COUNT][ROUNDS_MAX]; /* a sample, by round */
};

static void fail(const char *what, int error)
{
	(void)fprintf(stderr, "capture bench: %s: %s\n", what, strerror(-error));
	exit(1);
}

static void wait_ms(uint32_t ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &time) == EINTR)
		;
}

static const struct bpf_program *plain_program(const struct bench *bench, enum contender contender)
{
	return contender == BUILD_ID ? bench->plain->progs.count_build_id_stack
				     : bench->plain->progs.count_raw_stack;
}

static void open_plain(struct bench *bench)
{
	const struct map_sizes *sizes = &capture_maps(bench->capture)->sizes;
	int r;

	bench->plain = bench_capture__open();
	if (!bench->plain)
		fail("open", -errno);
	(void)bpf_map__set_max_entries(bench->plain->maps.build_id_user_stacks, sizes->stack_slots);
	(void)bpf_map__set_max_entries(
		bench->plain->maps.build_id_kernel_stacks, sizes->stack_slots);
	(void)bpf_map__set_max_entries(bench->plain->maps.raw_stacks, sizes->stack_slots);
	(void)bpf_map__set_max_entries(bench->plain->maps.build_id_counts, sizes->count_slots);
	(void)bpf_map__set_max_entries(bench->plain->maps.raw_counts, sizes->count_slots);
	r = bench_capture__load(bench->plain);
	if (r < 0)
		fail("load", r);
	for (enum contender i = BUILD_ID; i < CONTENDER_COUNT; i++) {
		r = cpu_events_new(plain_program(bench, i), bench->rate_hz, &bench->events[i]);
		if (r < 0)
			fail("events", r);
	}
}

static void open_all(struct bench *bench)
{
	const struct capture_settings settings = {
		.rate_hz = bench->rate_hz,
		.wants_kernel = true,
		.map_budget_bytes = MAP_BUDGET_BYTES,
	};
	struct fault fault = { 0 };
	int r = capture_open(&settings, &bench->capture, &fault);

	if (r < 0)
		fail(fault.text, r);
	r = drain_new(capture_maps(bench->capture), &bench->drain);
	if (r < 0)
		fail("drain", r);
	r = cpu_list_read_online(&bench->cpus);
	if (r < 0)
		fail("CPUs", r);
	bench->cpu_count = (size_t)r;
	open_plain(bench);
}

static void close_all(struct bench *bench)
{
	for (enum contender i = BUILD_ID; i < CONTENDER_COUNT; i++)
		cpu_events_free(bench->events[i]);
	bench_capture__destroy(bench->plain);
	drain_free(bench->drain);
	capture_free(bench->capture);
	free(bench->cpus);
}

static void attach(struct bench *bench, enum contender contender)
{
	struct fault fault = { 0 };
	int r;

	if (contender == OURS)
		r = capture_start(bench->capture, &fault);
	else
		r = cpu_events_set_cpus(bench->events[contender], bench->cpus, bench->cpu_count);
	if (r < 0)
		fail("attach", r);
}

static void detach(struct bench *bench, enum contender contender)
{
	if (contender == OURS)
		capture_stop(bench->capture);
	else
		cpu_events_stop(bench->events[contender]);
}

static int ignore_sample(void *context, const struct raw_sample *sample)
{
	(void)context, (void)sample;
	return 0;
}

static void clear_map(const struct bpf_map *map)
{
	uint8_t key[64];
	int fd = bpf_map__fd(map);

	while (bpf_map_get_next_key(fd, NULL, key) == 0)
		(void)bpf_map_delete_elem(fd, key);
}

static void empty(struct bench *bench, enum contender contender)
{
	struct accounts window = { 0 };
	int r;

	if (contender == BUILD_ID) {
		clear_map(bench->plain->maps.build_id_user_stacks);
		clear_map(bench->plain->maps.build_id_kernel_stacks);
		clear_map(bench->plain->maps.build_id_counts);
		return;
	}
	if (contender == RAW) {
		clear_map(bench->plain->maps.raw_stacks);
		clear_map(bench->plain->maps.raw_counts);
		return;
	}
	r = drain_flip(bench->drain);
	if (r == 0)
		r = drain_window(bench->drain, ignore_sample, NULL, &window);
	if (r < 0)
		fail("drain", r);
	accounts_add(&bench->accounts, &window);
}

/* Both sets, or the one entry of a plain contender, over all CPUs. */
static uint64_t read_idle(const struct bench *bench, enum contender contender)
{
	int fd = contender == OURS ? capture_maps(bench->capture)->counters_fd
				   : bpf_map__fd(bench->plain->maps.idle_samples);
	size_t value_bytes =
		contender == OURS ? sizeof(struct pilotlight_counters) : sizeof(uint64_t);
	uint32_t first = contender == OURS ? 0 : contender - BUILD_ID;
	uint32_t last = contender == OURS ? PILOTLIGHT_SET_COUNT - 1 : first;
	size_t possible = (size_t)libbpf_num_possible_cpus();
	_cleanup_free_ uint8_t *values = calloc(possible, value_bytes);
	uint64_t sum = 0;

	if (!values)
		fail("memory", -ENOMEM);
	for (uint32_t key = first; key <= last; key++) {
		if (bpf_map_lookup_elem(fd, &key, values))
			fail("counters", -errno);
		for (size_t i = 0; i < possible; i++) {
			const uint8_t *value = values + i * value_bytes;

			sum += contender == OURS ? ((const struct pilotlight_counters *)value)
							   ->dropped[PILOTLIGHT_DROP_IDLE]
						 : *(const uint64_t *)value;
		}
	}
	return sum;
}

static struct totals read_totals(const struct bench *bench, enum contender contender)
{
	struct totals totals = { .idle = read_idle(bench, contender) };
	struct bpf_prog_info info = { 0 };
	struct capture_cost cost;
	uint32_t size = sizeof(info);

	if (contender == OURS) {
		capture_read_cost(bench->capture, &cost);
		totals.runs = cost.program_runs;
		totals.run_ns = cost.program_ns;
		return totals;
	}
	if (bpf_obj_get_info_by_fd(bpf_program__fd(plain_program(bench, contender)), &info, &size))
		fail("program info", -errno);
	totals.runs = info.run_cnt;
	totals.run_ns = info.run_time_ns;
	return totals;
}

/* A slot of one contender. Returns nanoseconds a sample that was not idle. */
static double run_slot(struct bench *bench, enum contender contender)
{
	struct totals before = read_totals(bench, contender), after;
	uint64_t runs;

	attach(bench, contender);
	wait_ms(bench->slot_ms);
	detach(bench, contender);
	after = read_totals(bench, contender);
	bench->unemptied_ms[contender] += bench->slot_ms;
	if (bench->unemptied_ms[contender] >= capture_maps(bench->capture)->sizes.drain_period_ms) {
		empty(bench, contender);
		bench->unemptied_ms[contender] = 0;
	}
	runs = (after.runs - before.runs) - (after.idle - before.idle);
	if (runs == 0)
		fail("no sample but idle ones fired", -ENODATA);
	return (double)(after.run_ns - before.run_ns) / (double)runs;
}

static int compare_doubles(const void *a, const void *b)
{
	const double *first = a, *second = b;

	return (*first > *second) - (*first < *second);
}

static double median(const double *values, size_t count)
{
	double sorted[ROUNDS_MAX];

	memcpy(sorted, values, count * sizeof(*values));
	qsort(sorted, count, sizeof(*sorted), compare_doubles);
	return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static double median_ratio(const struct bench *bench, enum contender other)
{
	double ratios[ROUNDS_MAX];

	for (uint32_t i = 0; i < bench->rounds; i++)
		ratios[i] = bench->ns[OURS][i] / bench->ns[other][i];
	return median(ratios, bench->rounds);
}

static void report(const struct bench *bench, const char *event_name)
{
	const struct map_sizes *sizes = &capture_maps(bench->capture)->sizes;
	uint64_t stored = accounts_stored(&bench->accounts);

	(void)printf(
		"%u Hz by %s, %zu CPUs, %u rounds, %u paths, %u stack slots, emptied every %u ms\n",
		bench->rate_hz, event_name, bench->cpu_count, bench->rounds, bench->paths,
		sizes->stack_slots, sizes->drain_period_ms);
	for (enum contender i = OURS; i < CONTENDER_COUNT; i++) {
		struct totals totals = read_totals(bench, i);

		(void)printf("  %-9s median %6.2f us a sample, %" PRIu64 " samples\n", names[i],
			median(bench->ns[i], bench->rounds) / 1e3, totals.runs);
	}
	(void)printf("  ours      %.1f %% of samples asked for build-ids, %.1f %% went through the "
		     "ring, "
		     "%" PRIu64 " lost\n",
		100.0 * (double)bench->accounts.events[PILOTLIGHT_EVENT_BUILD_ID_CALL] /
			(double)stored,
		100.0 * (double)bench->accounts.stored[PILOTLIGHT_PATH_RING] / (double)stored,
		accounts_lost(&bench->accounts));
	(void)printf(
		"  ours / build-id  %.3f  (target: at most 0.45)\n", median_ratio(bench, BUILD_ID));
	(void)printf("  ours / raw-ip    %.3f  (target: at most 1.2)\n", median_ratio(bench, RAW));
	(void)fflush(stdout);
}

static void run(struct bench *bench)
{
	char event_name[32] = "";

	open_all(bench);
	bench->slot_ms = capture_maps(bench->capture)->sizes.drain_period_ms;
	if (bench->slot_ms > SLOT_MS_MAX)
		bench->slot_ms = SLOT_MS_MAX;
	/* The first round warms up and is not counted. */
	for (uint32_t round = 0; round <= bench->rounds; round++)
		for (uint32_t i = 0; i < CONTENDER_COUNT; i++) {
			enum contender contender = (round + i) % CONTENDER_COUNT;
			double ns = run_slot(bench, contender);

			if (round)
				bench->ns[contender][round - 1] = ns;
		}
	(void)snprintf(event_name, sizeof(event_name), "%s", capture_event_name(bench->capture));
	empty(bench, OURS);
	report(bench, event_name);
	close_all(bench);
}

static uint32_t argument(int argc, char **argv, int index, uint32_t fallback, uint32_t most)
{
	unsigned long value;
	char *end;

	if (index >= argc)
		return fallback;
	value = strtoul(argv[index], &end, 10);
	if (end == argv[index] || *end || value < 1 || value > most) {
		(void)fprintf(stderr, "usage: capture [HZ [ROUNDS [PATHS]]]\n");
		exit(2);
	}
	return (uint32_t)value;
}

int main(int argc, char **argv)
{
	static struct bench bench;
	long cpu_count = sysconf(_SC_NPROCESSORS_ONLN);
	pid_t children[CHILDREN_MAX];

	bench.rate_hz = argument(argc, argv, 1, 99, 20000);
	bench.rounds = argument(argc, argv, 2, 20, ROUNDS_MAX);
	bench.paths = argument(argc, argv, 3, 64, 65536);
	if (cpu_count > CHILDREN_MAX)
		cpu_count = CHILDREN_MAX;
	for (long i = 0; i < cpu_count; i++) {
		children[i] = fork();
		if (children[i] < 0)
			fail("fork", -errno);
		if (children[i] == 0)
			stack_load_run((unsigned)i, bench.paths);
	}
	run(&bench);
	for (long i = 0; i < cpu_count; i++) {
		(void)kill(children[i], SIGKILL);
		(void)waitpid(children[i], NULL, 0);
	}
	return 0;
}
