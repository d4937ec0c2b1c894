/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_fixture FILE.pb.gz|FILE.folded: writes a small profile of known contents, with one of
 * everything that a profile may have, for readers of other projects.
 * tests/end_to_end/pprof_readers.sh has the expected results.
 */
#include "aggregate/profile.h"
#include "base/output.h"
#include "export/pprof.h"
#include "render/folded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* Any failure ends the program. */
static void require(int r, const char *what)
{
	if (r >= 0)
		return;
	(void)fprintf(stderr, "pprof_fixture: %s: %s\n", what, strerror(-r));
	exit(1);
}

static uint32_t string(struct profile *profile, const char *text)
{
	uint32_t id;

	require(profile_add_string(profile, text, &id), "string");
	return id;
}

static uint32_t add_binary(
	struct profile *profile, enum binary_kind kind, const char *path, uint8_t build_id)
{
	struct profile_binary binary = { .kind = kind, .path = string(profile, path) };
	uint8_t bytes[BUILD_ID_BYTES];
	uint32_t id;

	if (build_id > 0) {
		memset(bytes, build_id, sizeof(bytes));
		require(build_id_set(&binary.build_id, bytes, sizeof(bytes)), "build-id");
		binary.text_vaddr = 0x401000;
		binary.text_bytes = 0x10000;
		binary.text_offset = 0x1000;
	}
	require(profile_add_binary(profile, &binary, &id), "binary");
	return id;
}

struct named {
	const char *function, *file;
	uint32_t line;
};

/* `count` functions at one address, innermost first; 0: no name. */
static uint32_t add_location(struct profile *profile, uint32_t binary, uint64_t address,
	const struct named *named, uint32_t count)
{
	struct profile_frame frames[4];
	uint32_t id;

	for (uint32_t i = 0; i < count; i++)
		frames[i] = (struct profile_frame){
			.function = string(profile, named[i].function),
			.file = string(profile, named[i].file),
			.line = named[i].line,
		};
	require(profile_add_location(profile, binary, address, &id), "location");
	require(profile_name_location(profile, id, frames, count), "name");
	return id;
}

static void add_sample(struct profile *profile, const uint32_t *locations, size_t depth,
	const char *comm, uint32_t tgid, uint32_t tid, uint64_t count)
{
	struct profile_thread thread = {
		.tgid = tgid,
		.tid = tid,
		.comm = string(profile, comm),
	};
	struct profile_sample sample = { .count = count, .node = PROFILE_ROOT };

	for (size_t i = 0; i < depth; i++)
		require(profile_add_node(profile, sample.node, locations[i], &sample.node), "node");
	require(profile_add_thread(profile, &thread, &sample.thread), "thread");
	require(profile_add_sample(profile, &sample), "sample");
	profile->accounts.fired += count;
	profile->accounts.stored[PILOTLIGHT_PATH_MAP] += count;
}

static void fill(struct profile *profile)
{
	static const struct named main_name = { "main", "xz.c", 30 };
	static const struct named encode[] = {
		{ "find_match", "match.h", 12 },
		{ "lzma_encode", "encoder.c", 200 },
	};
	static const struct named entry = { "entry_SYSCALL_64", "", 0 };
	static const struct named writes = { "ksys_write", "", 0 };
	static const struct named compiled = { "js:render \xc3\xa9l\xc3\xa9ment", "app.js", 7 };
	uint32_t kernel = add_binary(profile, BINARY_KERNEL, "[kernel.kallsyms]", 0);
	uint32_t program = add_binary(profile, BINARY_EXECUTABLE, "/usr/bin/xz", 0xab);
	uint32_t library = add_binary(profile, BINARY_LIBRARY, "/usr/lib/libc.so.6", 0xcd);
	uint32_t jit = add_binary(profile, BINARY_JIT, "[jit]", 0);
	uint32_t start = add_location(profile, program, 0x401010, &main_name, 1);
	uint32_t inlined = add_location(profile, program, 0x402020, encode, 2);
	uint32_t nameless = add_location(profile, library, 0x403030, NULL, 0);
	uint32_t syscall = add_location(profile, kernel, 0x100, &entry, 1);
	uint32_t leaf = add_location(profile, kernel, 0x200, &writes, 1);
	uint32_t script = add_location(profile, jit, 0x7f0000001000, &compiled, 1);
	uint32_t cut;

	require(profile_add_synthetic(profile, "[truncated: depth]", &cut), "synthetic");
	add_sample(profile, (uint32_t[]){ start, inlined }, 2, "xz", 4242, 4243, 60);
	add_sample(
		profile, (uint32_t[]){ start, nameless, syscall, leaf }, 4, "xz", 4242, 4242, 25);
	add_sample(profile, (uint32_t[]){ cut, script }, 2, "node", 77, 78, 10);
	profile->accounts.fired += 105;
	profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL] = 5;
	profile->accounts.dropped[PILOTLIGHT_DROP_IDLE] = 100;
}

static int write_profile(const struct profile *profile, const char *path, struct output *output)
{
	if (strstr(path, ".folded"))
		return folded_write(profile, FRAME_BY_FUNCTION, output);
	return pprof_write(profile, PPROF_LABELS_ALL, output);
}

int main(int argc, char **argv)
{
	_cleanup_(profile_freep) struct profile *profile = NULL;
	static struct output output;
	_cleanup_close_ int fd = -1;

	if (argc != 2) {
		(void)fprintf(stderr, "Usage: pprof_fixture FILE.pb.gz|FILE.folded\n");
		return 2;
	}
	require(profile_new(1 << 20, &profile), "profile");
	profile->start_ns = 1790000000000000000;
	profile->end_ns = profile->start_ns + 1000000000;
	profile->period_ns = 10000000;
	profile->cpu_count = 2;
	profile->event = string(profile, "cpu-clock");
	fill(profile);

	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	require(fd < 0 ? -errno : 0, argv[1]);
	output_init_fd(&output, fd);
	require(write_profile(profile, argv[1], &output), "write");
	require(output_finish(&output), argv[1]);
	return 0;
}
