/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of history.
 *
 *	store generate FOLDER HOURS CPUS RUN RECORDED...	appends windows of ten seconds made
 *from the recorded ones, with processes that start and end, and prints the time taken and the size
 *of the history store maintain FOLDER HOURS	does what is due so many hours after the first
 *window store month FOLDER DAYS		copies the existing day to the days before store
 *read FOLDER [UNIT]	reads all of it, or one unit, into one profile
 *
 * The recorded windows come from `pilotlight record -d 10 -o FILE.pb.gz`. CPUS is the number of
 * CPUs whose samples at 99 Hz they represent. With RUN above 0 the history keeps the times of
 * samples, which recorded windows do not tell: each CPU is busy all the time, with one thread for
 *RUN samples on average and then with another one; 1 is the worst case. But at STALL_S, for 50 ms,
 * "culprit" runs alone, and the other CPUs are idle.
 */
#include "store/store.h"
#include "base/clock.h"
#include "store/day_file.h"
#include "tests/bench/recorded_window.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	WINDOW_S = 10,
	LASTING_MIN = 3, /* a process in so many windows counts as long-lived */
	PROFILE_BYTES = 24 << 20,
	READ_BYTES = 512 << 20,
	STALL_S = 43000, /* 11:56:40.500 */
	STALL_NS = 50000000,
};

static const uint64_t first_day_ns = 20700 * DAY_NS; /* 2026-09-04 */

struct process {
	uint64_t pid;
	uint64_t windows; /* a bit for each window with the process */
};

struct generator {
	struct recorded_window *recorded;
	size_t count;
	struct process *processes; /* by pid */
	size_t process_count;
	uint64_t random, next_pid;
	unsigned int cpus, run;
};

static void require(int r, const struct fault *fault, const char *what)
{
	if (r < 0)
		errx(1, "%s: %s (%s)", what, strerror(-r), fault ? fault->text : "");
}

static uint64_t draw(struct generator *generator, uint64_t below)
{
	generator->random ^= generator->random << 13;
	generator->random ^= generator->random >> 7;
	generator->random ^= generator->random << 17;
	return (generator->random >> 11) % below;
}

static int compare_processes(const void *a, const void *b)
{
	const struct process *first = a, *second = b;

	return (first->pid > second->pid) - (first->pid < second->pid);
}

static const struct process *find_process(const struct generator *generator, uint64_t pid)
{
	struct process key = { .pid = pid };

	return bsearch(&key, generator->processes, generator->process_count,
		sizeof(*generator->processes), compare_processes);
}

static void list_processes(struct generator *generator)
{
	struct process *processes;
	size_t total = 0, n = 0;

	for (size_t i = 0; i < generator->count; i++)
		total += generator->recorded[i].sample_count;
	processes = calloc(total + 1, sizeof(*processes));
	if (!processes)
		err(1, "processes");
	for (size_t i = 0; i < generator->count; i++)
		for (size_t j = 0; j < generator->recorded[i].sample_count; j++)
			processes[n++] = (struct process){
				.pid = generator->recorded[i].samples[j].pid,
				.windows = 1ULL << i,
			};
	qsort(processes, n, sizeof(*processes), compare_processes);
	for (size_t i = 0; i < n; i++) {
		struct process *last = &processes[generator->process_count - 1];

		if (generator->process_count > 0 && last->pid == processes[i].pid)
			last->windows |= processes[i].windows;
		else
			processes[generator->process_count++] = processes[i];
	}
	generator->processes = processes;
}

/* --- repeating a window --- */

struct remaking {
	struct generator *generator;
	const struct recorded_window *window;
	struct profile *profile;
	uint32_t *binaries, *locations; /* by recorded id; 0: not yet added */
	uint64_t monotonic_ns;
};

/* A count of a recorded sample, and its place. */
struct unit {
	uint64_t key;
	uint32_t sample;
};

static uint32_t add_string(struct profile *profile, const char *string)
{
	uint32_t id;

	require(profile_add_string(profile, string, &id), NULL, "a string");
	return id;
}

static void parse_build_id(struct build_id *id, const char *hex)
{
	uint8_t bytes[BUILD_ID_BYTES];
	size_t size = 0;

	while (size < sizeof(bytes) && sscanf(hex + 2 * size, "%2hhx", &bytes[size]) == 1)
		size++;
	(void)build_id_set(id, bytes, size);
}

static uint32_t make_binary(struct remaking *remaking, uint64_t mapping)
{
	const struct recorded_window *window = remaking->window;
	const struct recorded_mapping *recorded = &window->mappings[mapping];
	const char *path = window->strings[recorded->path];
	struct profile_binary binary = {
		.kind = strncmp(path, "[kernel", 7) == 0 ? BINARY_KERNEL : BINARY_LIBRARY,
		.path = add_string(remaking->profile, path),
		.text_vaddr = recorded->text_vaddr,
		.text_bytes = recorded->text_bytes,
		.text_offset = recorded->text_offset,
	};

	if (remaking->binaries[mapping] == 0) {
		parse_build_id(&binary.build_id, window->strings[recorded->build_id]);
		require(profile_add_binary(
				remaking->profile, &binary, &remaking->binaries[mapping]),
			NULL, "a binary");
		remaking->binaries[mapping]++;
	}
	return remaking->binaries[mapping] - 1;
}

static uint32_t make_location(struct remaking *remaking, uint64_t id)
{
	const struct recorded_window *window = remaking->window;
	const struct recorded_location *recorded = &window->locations[id];
	const char *name = window->strings[window->function_names[recorded->function]];
	struct profile *profile = remaking->profile;
	uint32_t location, binary;

	if (remaking->locations[id] > 0)
		return remaking->locations[id] - 1;
	if (recorded->mapping == 0) {
		require(profile_add_synthetic(profile, name, &location), NULL, "a frame");
	} else {
		binary = make_binary(remaking, recorded->mapping);
		require(profile_add_location(profile, binary, recorded->address, &location), NULL,
			"a location");
		if (profile->binaries.items[binary].kind == BINARY_KERNEL &&
			profile->locations.items[location].frame_count == 0) {
			struct profile_frame frame = { .function = add_string(profile, name) };

			require(profile_name_location(profile, location, &frame, 1), NULL,
				"a name");
		}
	}
	remaking->locations[id] = location + 1;
	return location;
}

/* Long-lived processes keep their pid; others get a new one each time. */
static uint32_t make_thread(struct remaking *remaking, const struct recorded_sample *sample)
{
	struct generator *generator = remaking->generator;
	const struct process *process = find_process(generator, sample->pid);
	const char *comm = remaking->window->strings[sample->comm];
	uint32_t pid = (uint32_t)sample->pid, id;
	uint64_t start_ns = sample->pid * 1000003;
	struct profile_thread thread;
	char path[160];

	if (__builtin_popcountll(process->windows) < LASTING_MIN) {
		size_t number = (size_t)(process - generator->processes);

		pid = (uint32_t)(1000 + (generator->next_pid + number) % 4000000);
		start_ns = remaking->monotonic_ns + number * 7919 % 10000 * 1000003;
	}
	thread = (struct profile_thread){
		.process_start_ns = start_ns,
		.tgid = pid,
		.tid = (uint32_t)(pid + (sample->tid - sample->pid)),
		.comm = add_string(remaking->profile, comm),
		/* A quarter of the processes belong to three users, the others to root. */
		.owner = 1 + (uint32_t)(sample->pid % 4 == 0 ? 1000 + sample->pid % 3 : 0),
	};
	(void)snprintf(path, sizeof(path), "/usr/bin/%s", comm);
	thread.exe = add_string(remaking->profile, path);
	(void)snprintf(path, sizeof(path), "/system.slice/%s.service", comm);
	thread.cgroup = add_string(remaking->profile, path);
	require(profile_add_thread(remaking->profile, &thread, &id), NULL, "a thread");
	return id;
}

/* At a time, or with all its counts at none: 0. */
static void make_sample(
	struct remaking *remaking, const struct recorded_sample *recorded, uint64_t time_ns)
{
	const struct recorded_window *window = remaking->window;
	struct profile_sample sample = {
		.count = time_ns > 0 ? 1 : recorded->count,
		.first_ns = time_ns,
		.last_ns = time_ns,
		.thread = make_thread(remaking, recorded),
	};

	for (uint32_t i = recorded->depth; i-- > 0;) {
		uint64_t id = window->stacks[recorded->first_location + i];

		require(profile_add_node(remaking->profile, sample.node,
				make_location(remaking, id), &sample.node),
			NULL, "a node");
	}
	require(profile_add_sample(remaking->profile, &sample), NULL, "a sample");
	remaking->profile->accounts.fired += sample.count;
	remaking->profile->accounts.stored[PILOTLIGHT_PATH_MAP] += sample.count;
}

static int compare_units(const void *a, const void *b)
{
	const struct unit *first = a, *second = b;

	return (first->key > second->key) - (first->key < second->key);
}

/* The counts of the window in the order in which they are sampled. The sampler's map has none. */
static struct unit *order_units(
	struct generator *generator, const struct recorded_window *window, size_t *ret_count)
{
	const unsigned int run = generator->run;
	struct unit *units;
	size_t count = 0;
	uint64_t key = 0;

	for (size_t i = 0; i < window->sample_count; i++)
		count += run > 0 ? window->samples[i].count : 1;
	units = calloc(count + 1, sizeof(*units));
	if (!units)
		err(1, "a window");
	*ret_count = count;
	for (size_t i = 0, n = 0; i < window->sample_count; i++)
		for (uint64_t j = 0; j < (run > 0 ? window->samples[i].count : 1); j++)
			units[n++] = (struct unit){
				.key = (run > 0 ? window->samples[i].tid << 32 : 0) |
				       draw(generator, UINT32_MAX),
				.sample = (uint32_t)i,
			};
	qsort(units, count, sizeof(*units), compare_units);
	for (size_t i = 0; run > 0 && i < count; i++) {
		const uint64_t tid = window->samples[units[i].sample].tid;

		if (i == 0 || tid != window->samples[units[i - 1].sample].tid ||
			draw(generator, run) == 0)
			key = draw(generator, 1ULL << 40) << 16;
		units[i].key = key++;
	}
	qsort(units, run > 0 ? count : 0, sizeof(*units), compare_units);
	return units;
}

static void make_culprit(struct remaking *remaking, uint64_t time_ns)
{
	struct profile *profile = remaking->profile;
	struct profile_sample sample = { .count = 1, .first_ns = time_ns, .last_ns = time_ns };
	struct profile_thread thread = {
		.process_start_ns = 1,
		.tgid = 1000,
		.tid = 1000,
		.comm = add_string(profile, "culprit"),
		.exe = add_string(profile, "/usr/bin/culprit"),
		.cgroup = add_string(profile, "/system.slice/culprit.service"),
		.owner = 1,
	};
	uint32_t location;

	require(profile_add_thread(profile, &thread, &sample.thread), NULL, "a thread");
	require(profile_add_synthetic(profile, "[stalls]", &location), NULL, "a frame");
	require(profile_add_node(profile, PROFILE_ROOT, location, &sample.node), NULL, "a node");
	require(profile_add_sample(profile, &sample), NULL, "a sample");
	profile->accounts.fired++;
	profile->accounts.stored[PILOTLIGHT_PATH_MAP]++;
}

static void make_samples(struct remaking *remaking)
{
	struct generator *generator = remaking->generator;
	const struct recorded_window *window = remaking->window;
	const uint64_t stall_ns = (1000ULL + STALL_S) * NSEC_PER_SEC + NSEC_PER_SEC / 2;
	size_t count, of_cpu;
	struct unit *units = order_units(generator, window, &count);

	of_cpu = (count + generator->cpus - 1) / generator->cpus;
	for (size_t i = 0; i < count; i++) {
		const struct recorded_sample *sample = &window->samples[units[i].sample];
		const uint64_t time_ns =
			remaking->monotonic_ns + i % of_cpu * WINDOW_S * NSEC_PER_SEC / of_cpu;

		if (generator->run == 0)
			make_sample(remaking, sample, 0);
		else if (time_ns < stall_ns || time_ns >= stall_ns + STALL_NS)
			make_sample(remaking, sample, time_ns);
		else if (i < of_cpu)
			make_culprit(remaking, time_ns);
	}
	free(units);
}

static struct profile *remake(struct generator *generator, uint64_t start_ns, uint64_t monotonic_ns)
{
	const struct recorded_window *window =
		&generator->recorded[draw(generator, generator->count)];
	struct remaking remaking = {
		.generator = generator,
		.window = window,
		.binaries = calloc(window->mapping_count + 1, sizeof(uint32_t)),
		.locations = calloc(window->location_count + 1, sizeof(uint32_t)),
		.monotonic_ns = monotonic_ns,
	};

	require(profile_new(PROFILE_BYTES, &remaking.profile), NULL, "a profile");
	if (!remaking.binaries || !remaking.locations)
		err(1, "a window");
	remaking.profile->start_ns = start_ns;
	remaking.profile->end_ns = start_ns + WINDOW_S * (uint64_t)NSEC_PER_SEC;
	remaking.profile->period_ns = NSEC_PER_SEC / 99;
	remaking.profile->cpu_count = generator->cpus;
	remaking.profile->event = add_string(remaking.profile, "cpu-clock");
	if (generator->run > 0)
		profile_keep_times(remaking.profile, monotonic_ns);
	make_samples(&remaking);
	generator->next_pid += generator->process_count;
	free(remaking.binaries);
	free(remaking.locations);
	return remaking.profile;
}

static uint64_t folder_bytes(const char *folder)
{
	struct day_files files;
	uint64_t bytes;
	struct fault fault = { 0 };

	require(day_files_read(&files, folder, &fault), &fault, folder);
	bytes = files.bytes;
	day_files_done(&files);
	return bytes;
}

static void maintain(struct store *store, uint64_t now_ns)
{
	struct fault fault = { 0 };
	int r;

	do {
		r = store_maintain(store, now_ns, UINT64_MAX, &fault);
		require(r, &fault, "maintain");
	} while (r == 1);
}

static void generate(struct generator *generator, const char *folder, unsigned int hours)
{
	struct store_window window = { .boot_id = "the bench's boot" };
	uint64_t append_ns = 0, maintain_ns = 0, samples = 0, worst_ns = 0, rows = 0;
	struct fault fault = { 0 };
	struct rusage usage;
	struct store *store;

	require(store_open(folder, &store_default_limits, &store, &fault), &fault, folder);
	for (uint64_t s = 0; s < hours * 3600ULL; s += WINDOW_S) {
		uint64_t start_ns = first_day_ns + s * NSEC_PER_SEC, before, took;
		struct profile *profile;

		window.monotonic_ns = (1000 + s) * NSEC_PER_SEC;
		profile = remake(generator, start_ns, window.monotonic_ns);
		samples += profile->accounts.fired;
		rows += profile->samples.count;
		before = clock_process_cpu_ns();
		require(store_append(store, &window, profile, &fault), &fault, "append");
		took = clock_process_cpu_ns() - before;
		append_ns += took;
		worst_ns = took > worst_ns ? took : worst_ns;
		before = clock_process_cpu_ns();
		maintain(store, profile->end_ns);
		maintain_ns += clock_process_cpu_ns() - before;
		profile_free(profile);
	}
	store_close(store);
	(void)getrusage(RUSAGE_SELF, &usage);
	printf("%u h: %" PRIu64 " samples in %" PRIu64 " rows, %.1f MB; append %.2f ms a window "
	       "(%.1f ms at most), maintain %.2f ms, CPU time; peak %.1f MiB with the generator\n",
		hours, samples, rows, (double)folder_bytes(folder) / 1e6,
		(double)append_ns / 1e6 / (hours * 360), (double)worst_ns / 1e6,
		(double)maintain_ns / 1e6 / (hours * 360), (double)usage.ru_maxrss / 1024);
}

static void run_generate(int argc, char **argv)
{
	struct generator generator = { .random = 0x9e3779b97f4a7c15U };

	generator.cpus = (unsigned int)strtoul(argv[4], NULL, 10);
	generator.run = (unsigned int)strtoul(argv[5], NULL, 10);
	generator.count = (size_t)argc - 6;
	if (generator.count > 64)
		errx(2, "64 recorded windows at most");
	generator.recorded = calloc(generator.count, sizeof(*generator.recorded));
	if (!generator.recorded)
		err(1, "generate");
	for (size_t i = 0; i < generator.count; i++)
		recorded_read(&generator.recorded[i], argv[6 + i]);
	list_processes(&generator);
	generate(&generator, argv[2], (unsigned int)strtoul(argv[3], NULL, 10));
	for (size_t i = 0; i < generator.count; i++)
		recorded_done(&generator.recorded[i]);
	free(generator.recorded);
	free(generator.processes);
}

static void run_maintain(const char *folder, uint64_t hours)
{
	struct fault fault = { 0 };
	uint64_t before = clock_process_cpu_ns();
	struct store *store;

	require(store_open(folder, &store_default_limits, &store, &fault), &fault, folder);
	maintain(store, first_day_ns + hours * 3600 * NSEC_PER_SEC);
	store_close(store);
	printf("after %" PRIu64 " h: %.1f MB; %.2f s CPU\n", hours,
		(double)folder_bytes(folder) / 1e6,
		(double)(clock_process_cpu_ns() - before) / 1e9);
}

static void copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC),
	    out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
	ssize_t n;

	if (in < 0 || out < 0)
		err(1, "%s", to);
	while ((n = copy_file_range(in, NULL, out, NULL, 1 << 20, 0)) > 0)
		;
	if (n < 0 || close(in) < 0 || close(out) < 0)
		err(1, "%s", to);
}

static void run_month(const char *folder, uint32_t days)
{
	uint32_t first = day_of(first_day_ns);
	char from[DAY_PATH_BYTES], to[DAY_PATH_BYTES], sql[256];

	require(day_file_path(from, folder, first), NULL, folder);
	for (uint32_t i = 1; i < days; i++) {
		sqlite3 *database;

		require(day_file_path(to, folder, first - i), NULL, folder);
		copy_file(from, to);
		(void)snprintf(sql, sizeof(sql),
			"UPDATE windows SET start_ns = start_ns - %" PRIu64
			", end_ns = end_ns - %" PRIu64,
			(uint64_t)(i * DAY_NS), (uint64_t)(i * DAY_NS));
		if (sqlite3_open(to, &database) != SQLITE_OK ||
			sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
			errx(1, "%s: %s", to, sqlite3_errmsg(database));
		(void)sqlite3_close(database);
	}
	printf("%u days: %.1f MB\n", days, (double)folder_bytes(folder) / 1e6);
}

static bool is_of_unit(void *context, const struct store_thread *thread)
{
	return strcmp(thread->cgroup, context) == 0;
}

static void run_read(const char *folder, char *unit)
{
	struct store_selection selection = {
		.end_ns = UINT64_MAX,
		.merges_threads = true,
		.wants_thread = unit ? is_of_unit : NULL,
		.context = unit,
	};
	uint64_t wall = clock_monotonic_ns(), cpu = clock_process_cpu_ns(), samples = 0;
	struct store_found found;
	struct profile *profile;
	struct fault fault = { 0 };
	struct rusage usage;

	require(store_reader_read(folder, &selection, READ_BYTES, &profile, &found, &fault), &fault,
		"read");
	if (found.days_damaged > 0)
		errx(1, "%" PRIu64 " days are damaged", found.days_damaged);
	wall = clock_monotonic_ns() - wall;
	cpu = clock_process_cpu_ns() - cpu;
	for (size_t i = 0; i < profile->samples.count; i++)
		samples += profile->samples.items[i].count;
	(void)getrusage(RUSAGE_SELF, &usage);
	printf("read %s: %.3f s (%.3f s CPU), %" PRIu64 " windows, %" PRIu64
	       " samples in %zu rows, "
	       "%zu nodes; peak %.1f MiB, of which %.1f the profile\n",
		unit ? unit : "all", (double)wall / 1e9, (double)cpu / 1e9, found.windows, samples,
		profile->samples.count, profile->nodes.count, (double)usage.ru_maxrss / 1024,
		(double)profile_bytes(profile) / 1048576);
	profile_free(profile);
}

int main(int argc, char **argv)
{
	if (argc > 6 && strcmp(argv[1], "generate") == 0)
		run_generate(argc, argv);
	else if (argc == 4 && strcmp(argv[1], "maintain") == 0)
		run_maintain(argv[2], strtoull(argv[3], NULL, 10));
	else if (argc == 4 && strcmp(argv[1], "month") == 0)
		run_month(argv[2], (uint32_t)strtoul(argv[3], NULL, 10));
	else if (argc >= 3 && strcmp(argv[1], "read") == 0)
		run_read(argv[2], argc > 3 ? argv[3] : NULL);
	else
		errx(2, "store generate|maintain|month|read FOLDER ...");
	return 0;
}
