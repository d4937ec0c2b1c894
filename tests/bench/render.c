/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render STACKS svg|folded|table FILE [ENTROPY]: builds a profile of STACKS distinct stacks,
 * writes it to FILE and prints the cost. The stacks are walks over a made-up call graph of 20,000
 * call sites in 8,000 functions, 34 frames deep on average. At each call, ENTROPY per cent (18)
 * take another callee than the usual one, out of five, so stacks share their beginnings as in real
 * programs.
 */
#include "aggregate/profile.h"
#include "base/clock.h"
#include "base/output.h"
#include "render/flamegraph_svg.h"
#include "render/folded.h"
#include "render/table.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

enum {
	FUNCTIONS = 8000,
	SITES = 20000,
	BINARIES = 60,
	COMMS = 40,
	CALLEES = 5,
	DEPTH_MIN = 24,
	DEPTH_SPREAD = 21,
	ENTROPY = 2,
	WALKS_PER_STACK = 100,
};

struct generator {
	uint64_t state;
	struct profile *profile;
	uint32_t sites[SITES];
	uint32_t threads[COMMS];
	unsigned entropy;
};

static uint64_t draw(struct generator *generator, uint64_t below)
{
	generator->state ^= generator->state << 13;
	generator->state ^= generator->state >> 7;
	generator->state ^= generator->state << 17;
	return (generator->state >> 11) % below;
}

/* One name in four is long, like those of C++. */
static void write_name(char *text, size_t room, uint32_t function)
{
	if (function % 4 == 0)
		(void)snprintf(text, room,
			"example::module%u::class%u::method_%u(int, char const*)", function % 97,
			function % 631, function);
	else
		(void)snprintf(text, room, "module%u_do_%u", function % 97, function);
}

static int add_sites(struct generator *generator)
{
	struct profile *profile = generator->profile;
	struct profile_frame frame = { 0 };
	uint32_t binaries[BINARIES];
	char text[128];
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < BINARIES; i++) {
		struct profile_binary binary = { .kind = i == 0	 ? BINARY_KERNEL
							 : i < 8 ? BINARY_EXECUTABLE
								 : BINARY_LIBRARY };

		(void)snprintf(text, sizeof(text), "/usr/lib/x86_64-linux-gnu/libexample%u.so.%u",
			i, i % 7);
		build_id_set_padded(&binary.build_id, (const uint8_t *)text + 2);
		r = profile_add_string(profile, text, &binary.path);
		if (r == 0)
			r = profile_add_binary(profile, &binary, &binaries[i]);
	}
	for (uint32_t i = 0; r == 0 && i < SITES; i++) {
		uint32_t function = i % FUNCTIONS;

		write_name(text, sizeof(text), function);
		r = profile_add_string(profile, text, &frame.function);
		if (r == 0)
			r = profile_add_location(profile, binaries[function % BINARIES],
				0x1000 + i * 16U, &generator->sites[i]);
		if (r == 0)
			r = profile_name_location(profile, generator->sites[i], &frame, 1);
	}
	for (uint32_t i = 0; r == 0 && i < COMMS; i++) {
		struct profile_thread thread = { .tgid = 100 + i, .tid = 100 + i };

		(void)snprintf(text, sizeof(text), "process-%u", i);
		r = profile_add_string(profile, text, &thread.comm);
		if (r == 0)
			r = profile_add_thread(profile, &thread, &generator->threads[i]);
	}
	return r;
}

/* The call site above `site`: a pure function of the arguments, so that stacks share frames. */
static uint32_t callee(struct generator *generator, uint32_t site)
{
	uint64_t choice = 0;

	if (draw(generator, 100) < generator->entropy)
		choice = 1 + draw(generator, CALLEES - 1);
	return (uint32_t)(hash_pair(site, choice) % SITES);
}

static int walk(struct generator *generator)
{
	/* Some commands are busier than others. */
	uint64_t comm = draw(generator, 1 + draw(generator, COMMS));
	unsigned depth = DEPTH_MIN + (unsigned)draw(generator, DEPTH_SPREAD);
	struct profile_sample sample = { .count = 1, .thread = generator->threads[comm] };
	uint32_t site = (uint32_t)comm;
	int r;

	for (unsigned i = 0; i < depth; i++) {
		r = profile_add_node(
			generator->profile, sample.node, generator->sites[site], &sample.node);
		if (r < 0)
			return r;
		site = callee(generator, site);
	}
	return profile_add_sample(generator->profile, &sample);
}

static int generate(struct profile *profile, size_t stacks, unsigned entropy)
{
	struct generator generator = {
		.state = 0x9e3779b97f4a7c15U, .profile = profile, .entropy = entropy
	};
	uint64_t walks = 0;
	int r;

	profile->start_ns = 1795143600000000000;
	profile->end_ns = profile->start_ns + 60 * (uint64_t)NSEC_PER_SEC;
	profile->period_ns = NSEC_PER_SEC / 99;
	profile->cpu_count = 64;
	r = profile_add_string(profile, "cpu-clock", &profile->event);
	if (r == 0)
		r = add_sites(&generator);
	while (r == 0 && profile->samples.count < stacks && walks < stacks * WALKS_PER_STACK) {
		r = walk(&generator);
		walks++;
	}
	profile->accounts.fired = profile->accounts.stored[PILOTLIGHT_PATH_MAP] = walks;
	return r;
}

static int render(const struct profile *profile, const char *format, struct output *output)
{
	if (strcmp(format, "svg") == 0)
		return flamegraph_svg_write(profile, NULL, FRAME_BY_FUNCTION, output);
	if (strcmp(format, "folded") == 0)
		return folded_write(profile, FRAME_BY_FUNCTION, output);
	return table_write(profile, FRAME_BY_FUNCTION, 0, output);
}

int main(int argc, char **argv)
{
	static struct output output;
	_cleanup_(profile_freep) struct profile *profile = NULL;
	_cleanup_close_ int fd = -1;
	struct rusage usage, usage_before;
	uint64_t before, cpu;
	int r, finished;

	if (argc < 4) {
		(void)fprintf(stderr, "usage: render STACKS svg|folded|table FILE [ENTROPY]\n");
		return 2;
	}
	fd = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || profile_new(SIZE_MAX / 2, &profile) < 0 ||
		generate(profile, strtoul(argv[1], NULL, 10),
			argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : ENTROPY) < 0) {
		perror("render");
		return 1;
	}
	output_init_fd(&output, fd);
	(void)getrusage(RUSAGE_SELF, &usage_before);
	before = clock_process_cpu_ns();
	r = render(profile, argv[2], &output);
	finished = output_finish(&output);
	cpu = clock_process_cpu_ns() - before;
	(void)getrusage(RUSAGE_SELF, &usage);
	if (r < 0 || finished < 0) {
		(void)fprintf(stderr, "render: %s\n", strerror(r < 0 ? -r : -finished));
		return 1;
	}
	printf("%-6s %8zu stacks %9zu nodes %7.3f s CPU %7.1f MiB peak (%.1f before) %7.1f MiB "
	       "written\n",
		argv[2], profile->samples.count, profile->nodes.count, (double)cpu / 1e9,
		(double)usage.ru_maxrss / 1024, (double)usage_before.ru_maxrss / 1024,
		(double)output.written_bytes / (1 << 20));
	return 0;
}
