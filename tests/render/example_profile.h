/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles for tests, written as text: "comm|count|frame|…|frame", root first. A frame is
 * "kind:name" with the kind k (kernel), x (the comm's executable), l (libc), m (another library), j
 * (JIT), s (synthetic) or u (no path). "outer^inner" is one location with inner inlined into outer,
 * "+1f" a nameless location at that address, and "name@2" another address of the same function.
 * "name#/src/file.c:12" is at a line of the source.
 */
#pragma once

#include "aggregate/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { EXAMPLE_LIMIT_BYTES = 64 << 20, EXAMPLE_NAME_BYTES = 2048 };

static inline uint32_t example_string(struct profile *profile, const char *text)
{
	uint32_t string;

	assert_int_equal(profile_add_string(profile, text, &string), 0);
	return string;
}

/* FNV-1a: the same in every process. */
static inline uint64_t example_hash(const char *text)
{
	uint64_t hash = 14695981039346656037ULL;

	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 1099511628211ULL;
	return hash;
}

static inline uint32_t example_binary(
	struct profile *profile, enum binary_kind kind, const char *path)
{
	struct profile_binary binary = { .kind = kind, .path = example_string(profile, path) };
	uint64_t hash = example_hash(path);
	uint32_t id;

	for (uint32_t i = 0; i < profile->binaries.count; i++)
		if (profile->binaries.items[i].path == binary.path &&
			profile->binaries.items[i].kind == kind)
			return i;
	if (*path)
		assert_int_equal(build_id_set(&binary.build_id, &hash, sizeof(hash)), 0);
	assert_int_equal(profile_add_binary(profile, &binary, &id), 0);
	return id;
}

static inline uint32_t example_binary_of(struct profile *profile, char kind, const char *comm)
{
	char path[EXAMPLE_NAME_BYTES];

	switch (kind) {
	case 'k':
		return example_binary(profile, BINARY_KERNEL, "[kernel.kallsyms]");
	case 'x':
		(void)snprintf(path, sizeof(path), "/usr/bin/%s", comm);
		return example_binary(profile, BINARY_EXECUTABLE, path);
	case 'l':
		return example_binary(
			profile, BINARY_LIBRARY, "/usr/lib/x86_64-linux-gnu/libc.so.6");
	case 'm':
		return example_binary(profile, BINARY_LIBRARY, "/opt/lib/libother.so");
	case 'j':
		return example_binary(profile, BINARY_JIT, "");
	case 'p':
		return example_binary(profile, BINARY_PYTHON, "");
	case 'e':
		return example_binary(profile, BINARY_PERL, "");
	default:
		assert_int_equal(kind, 'u');
		return example_binary(profile, BINARY_LIBRARY, "");
	}
}

static inline struct profile_frame example_frame(struct profile *profile, char *text)
{
	struct profile_frame frame = { 0 };
	char *file = text, *line;

	frame.function = example_string(profile, strsep(&file, "#"));
	if (!file)
		return frame;
	line = strrchr(file, ':');
	assert_non_null(line);
	*line++ = '\0';
	frame.file = example_string(profile, file);
	frame.line = (uint32_t)strtoul(line, NULL, 10);
	return frame;
}

static inline uint32_t example_location(
	struct profile *profile, const char *frame, const char *comm)
{
	char names[EXAMPLE_NAME_BYTES];
	struct profile_frame chain[8] = { 0 };
	uint64_t address = example_hash(frame) >> 32;
	uint32_t location, count = 0;
	char *rest = names;

	assert_true(strlen(frame) < sizeof(names) && frame[1] == ':');
	strcpy(names, frame + 2);
	if (frame[0] == 's') {
		assert_int_equal(profile_add_synthetic(profile, names, &location), 0);
		return location;
	}
	if (names[0] == '+')
		address = strtoull(names + 1, NULL, 16);
	assert_int_equal(profile_add_location(profile, example_binary_of(profile, frame[0], comm),
				 address, &location),
		0);
	if (names[0] == '+' || profile->locations.items[location].frame_count > 0)
		return location;
	names[strcspn(names, "@")] = '\0';
	for (char *next = names; (next = strchr(next, '^')); next++)
		count++;
	count++;
	assert_in_range(count, 1, 8);
	for (uint32_t i = count; i-- > 0;)
		chain[i] = example_frame(profile, strsep(&rest, "^"));
	assert_int_equal(profile_name_location(profile, location, chain, count), 0);
	return location;
}

static inline void example_add(struct profile *profile, const char *stack)
{
	char text[4 * EXAMPLE_NAME_BYTES];
	struct profile_thread thread = { 0 };
	struct profile_sample sample = { 0 };
	char *rest = text, *comm, *frame;

	assert_true(strlen(stack) < sizeof(text));
	strcpy(text, stack);
	comm = strsep(&rest, "|");
	thread.comm = example_string(profile, comm);
	thread.tgid = thread.tid = (uint32_t)strlen(comm);
	assert_int_equal(profile_add_thread(profile, &thread, &sample.thread), 0);
	sample.count = strtoull(strsep(&rest, "|"), NULL, 10);
	while ((frame = strsep(&rest, "|")))
		assert_int_equal(profile_add_node(profile, sample.node,
					 example_location(profile, frame, comm), &sample.node),
			0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	profile->accounts.fired += sample.count;
	profile->accounts.stored[PILOTLIGHT_PATH_MAP] += sample.count;
}

static inline struct profile *example_empty(void)
{
	struct profile *profile = NULL;

	/* The files that are compared have times. */
	assert_int_equal(setenv("TZ", "UTC", 1), 0);
	assert_int_equal(profile_new(EXAMPLE_LIMIT_BYTES, &profile), 0);
	return profile;
}

static inline struct profile *example_of(const char *const *stacks, size_t count, bool backwards)
{
	struct profile *profile = example_empty();

	for (size_t i = 0; i < count; i++)
		example_add(profile, stacks[backwards ? count - 1 - i : i]);
	return profile;
}

static inline void example_lose(
	struct profile *profile, enum pilotlight_drop reason, uint64_t count)
{
	profile->accounts.fired += count;
	profile->accounts.dropped[reason] += count;
}

#define EXAMPLE_START	"x:_start|l:__libc_start_main|l:__libc_start_call_main|x:main"
#define EXAMPLE_SYSCALL "k:entry_SYSCALL_64_after_hwframe|k:do_syscall_64"

/* A machine that compiles, compresses and serves, as one sees it on a busy day. */
static inline struct profile *example_machine(bool backwards)
{
	static const char *const stacks[] = {
		"xz|310|" EXAMPLE_START "|x:lzma_code|x:lzma_encode#/src/xz/lzma_encoder.c:214"
		"^rc_encode#/src/xz/range_encoder.h:158",
		"xz|95|" EXAMPLE_START "|x:lzma_code|x:lzma_encode#/src/xz/lzma_encoder.c:214"
		"^rc_encode#/src/xz/range_encoder.h:171^rc_shift_low#/src/xz/range_encoder.h:112",
		"xz|140|" EXAMPLE_START
		"|x:lzma_code|x:lzma_mf_bt4_find#/src/xz/lz_encoder_mf.c:646",
		"xz|44|" EXAMPLE_START
		"|x:lzma_code|x:lzma_mf_bt4_find#/src/xz/lz_encoder_mf.c:688@2"
		"|l:__memcpy_avx_unaligned_erms#/src/glibc/memmove-vec-unaligned-erms.S:0",
		"xz|21|" EXAMPLE_START "|l:write|" EXAMPLE_SYSCALL
		"|k:vfs_write|k:ext4_file_write_iter",
		"xz|6|" EXAMPLE_START "|l:write|" EXAMPLE_SYSCALL
		"|k:vfs_write|k:generic_perform_write",
		"cc1|120|" EXAMPLE_START
		"|x:toplev::main(int, char**)|x:compile_file|x:c_parse_file"
		"|x:finish_function|x:cgraph_node::finalize_function(tree_node*, bool)",
		"cc1|60|" EXAMPLE_START "|x:toplev::main(int, char**)|x:compile_file"
		"|x:symbol_table::compile()|x:execute_pass_list(function*, opt_pass*)"
		"|x:execute_one_pass(opt_pass*)|x:rest_of_handle_sched2",
		"cc1|37|" EXAMPLE_START "|x:toplev::main(int, char**)|x:compile_file"
		"|x:symbol_table::compile()|x:execute_pass_list(function*, opt_pass*)"
		"|x:execute_one_pass(opt_pass*)|x:df_analyze()",
		"cc1|19|" EXAMPLE_START
		"|x:toplev::main(int, char**)|x:compile_file|l:malloc|l:_int_malloc",
		"cc1|16|" EXAMPLE_START "|x:toplev::main(int, char**)|x:compile_file|l:malloc"
		"|k:asm_exc_page_fault|k:exc_page_fault|k:handle_mm_fault|k:clear_page_erms",
		"node|52|" EXAMPLE_START "|m:node::Start(int, char**)|m:uv_run|m:uv__io_poll"
		"|j:LazyCompile:~handleRequest server.js:18|j:LazyCompile:*parse json.js:4",
		"node|33|" EXAMPLE_START "|m:node::Start(int, char**)|m:uv_run|m:uv__io_poll"
		"|j:LazyCompile:~handleRequest server.js:18|j:LazyCompile:*render view.js:71",
		"node|12|" EXAMPLE_START "|m:node::Start(int, char**)|m:uv_run|m:uv__io_poll"
		"|l:epoll_wait|" EXAMPLE_SYSCALL "|k:do_epoll_wait|k:schedule",
		"sshd|9|x:+1a40|x:+52b0|l:read|" EXAMPLE_SYSCALL "|k:vfs_read|k:sock_read_iter",
		"sshd|4|s:[truncated]|u:+7f|l:read",
		"kworker/0:1|15|k:kthread|k:worker_thread|k:process_one_work|k:wb_workfn",
	};
	struct profile *profile = example_of(stacks, sizeof(stacks) / sizeof(stacks[0]), backwards);

	profile->start_ns = 1795143600123456789;
	profile->end_ns = profile->start_ns + 10000000000;
	profile->period_ns = 1000000000 / 99;
	profile->cpu_count = 4;
	profile->event = example_string(profile, "cpu-clock");
	example_lose(profile, PILOTLIGHT_DROP_RING_FULL, 12);
	example_lose(profile, PILOTLIGHT_DROP_PROFILE_FULL, 3);
	example_lose(profile, PILOTLIGHT_DROP_IDLE, 2954);
	return profile;
}

/*
 * A load whose memcpy is 7.63 % of 100,000 samples, 2.07 points of it in 207 stacks too narrow to
 * draw; 24 samples recurse 60 frames deep.
 */
static inline struct profile *example_narrow(void)
{
	struct profile *profile = example_empty();
	char stack[EXAMPLE_NAME_BYTES] = "c|24|x:main";

	for (int i = 0; i < 60; i++)
		strcat(stack, "|x:recurse");
	example_add(profile, stack);
	example_add(profile, "c|92346|x:main|x:wide");
	example_add(profile, "c|5560|x:main|x:copy|l:memcpy");
	for (int i = 0; i < 207; i++) {
		(void)snprintf(
			stack, sizeof(stack), "c|10|x:main|x:narrow_%d#/src/n.c:%d|l:memcpy", i, i);
		example_add(profile, stack);
	}
	return profile;
}

/* Names that try to break out of whatever they are written into. */
static inline struct profile *example_hostile(void)
{
	struct profile *profile = example_empty();
	char stack[EXAMPLE_NAME_BYTES];
	size_t size;

	example_add(profile, "</title><script>alert(1)</script>|50|x:]]>&lt;\"'|l:a;b;c^<rect/>");
	example_add(profile, "evil\" onload=\"alert(1)|20|x:\xff\xfe\x01\x7f|j:&amp;\n--><!--");
	example_add(profile, "|7|x:|u:+0|l:back\\slash\"quote#</metadata>\"\\;\xff:1");
	example_add(profile, "x|1");
	size = (size_t)snprintf(stack, sizeof(stack), "long|30|x:");
	memset(stack + size, 'n', 1500);
	stack[size + 1500] = '\0';
	example_add(profile, stack);
	(void)snprintf(
		stack, sizeof(stack), "wide|9|x:\xe4\xb8\xad\xe6\x96\x87\xf0\x9f\x94\xa5 name");
	example_add(profile, stack);
	profile->event = example_string(profile, "<&event>");
	return profile;
}
