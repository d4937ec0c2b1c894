/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "writer.h"

#include "pilotlight/jitdump.h"

#include <byteswap.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

enum { UNWINDING_BYTES = 20 };

uint64_t monotonic_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

int map_form_from_name(const char *name)
{
	static const char *const forms[] = {
		[MAP_PLAIN] = "plain",
		[MAP_BOTH_PREFIXED] = "both",
		[MAP_START_PREFIXED] = "start",
		[MAP_PADDED] = "padded",
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (strcmp(forms[i], name) == 0)
			return (int)i;
	return -1;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t timestamp(const struct writer *writer)
{
#ifdef __x86_64__
	if (writer->options.has_cpu_clock)
		return __rdtsc();
#endif
	return monotonic_ns();
}

/* --- buffered bytes --------------------------------------------------------------------------
 */

static void put(struct writer *writer, const void *bytes, size_t size)
{
	if (writer->size + size > writer->capacity) {
		writer->capacity = 2 * (writer->size + size);
		writer->bytes = realloc(writer->bytes, writer->capacity);
		if (!writer->bytes)
			die("realloc");
	}
	memcpy(writer->bytes + writer->size, bytes, size);
	writer->size += size;
}

static void put_u32(struct writer *writer, uint32_t value)
{
	value = writer->options.is_swapped ? bswap_32(value) : value;
	put(writer, &value, sizeof(value));
}

static void put_u64(struct writer *writer, uint64_t value)
{
	value = writer->options.is_swapped ? bswap_64(value) : value;
	put(writer, &value, sizeof(value));
}

static void put_string(struct writer *writer, const char *string)
{
	put(writer, string, strlen(string) + 1);
}

static void write_all(const struct writer *writer, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		ssize_t written = write(writer->fd, bytes, size);

		if (written < 0 && errno != EINTR)
			die("write");
		if (written > 0) {
			bytes += written;
			size -= (size_t)written;
		}
	}
}

static void flush(struct writer *writer)
{
	size_t first = writer->options.is_in_pieces && writer->size > 56 ? 20 : 0;
	size_t second = first ? 36 : 0;

	write_all(writer, writer->bytes, first);
	write_all(writer, writer->bytes + first, second);
	write_all(writer, writer->bytes + first + second, writer->size - first - second);
	writer->size = 0;
	writer->flushed_ns = monotonic_ns();
}

void writer_tick(struct writer *writer)
{
	uint64_t wait = writer->options.flush_ns;

	if (writer->size > 0 && wait != FLUSH_AT_EXIT &&
		monotonic_ns() - writer->flushed_ns >= wait)
		flush(writer);
}

/* --- records -----------------------------------------------------------------------------------
 */

static void begin_record(struct writer *writer, enum pilotlight_jitdump_id id)
{
	writer->record_start = writer->size;
	put_u32(writer, id);
	put_u32(writer, 0);
	put_u64(writer, timestamp(writer));
}

static void end_record(struct writer *writer)
{
	uint32_t size = (uint32_t)(writer->size - writer->record_start);

	size = writer->options.is_swapped ? bswap_32(size) : size;
	memcpy(writer->bytes + writer->record_start + 4, &size, sizeof(size));
	writer_tick(writer);
}

static void put_header(struct writer *writer)
{
	put_u32(writer, PILOTLIGHT_JITDUMP_MAGIC);
	put_u32(writer, writer->options.version);
	put_u32(writer, sizeof(struct pilotlight_jitdump_header));
	put_u32(writer, EM_X86_64);
	put_u32(writer, 0);
	put_u32(writer, (uint32_t)writer->pid);
	put_u64(writer, timestamp(writer));
	put_u64(writer, writer->options.has_cpu_clock ? PILOTLIGHT_JITDUMP_ARCH_TIMESTAMP : 0);
}

/* One address for every 8 bytes of code, with lines from 100 on. */
static void put_lines(struct writer *writer, const struct function *function)
{
	uint64_t count = (function->size + 7) / 8;

	begin_record(writer, PILOTLIGHT_JITDUMP_DEBUG_INFO);
	put_u64(writer, (uint64_t)(uintptr_t)function->code);
	put_u64(writer, count);
	for (uint64_t i = 0; i < count; i++) {
		put_u64(writer, (uint64_t)(uintptr_t)function->code + 8 * i);
		put_u32(writer, (uint32_t)(100 + i));
		put_u32(writer, 1);
		put_string(writer, i == 0 ? "/srv/generated.code" : "\xff");
	}
	end_record(writer);
}

/* An empty table header, as V8 writes before each LOAD. */
static void put_unwinding(struct writer *writer)
{
	static const uint8_t table[UNWINDING_BYTES + 4] = { 0x01, 0x1b, 0x03, 0x3b };

	begin_record(writer, PILOTLIGHT_JITDUMP_UNWINDING_INFO);
	put_u64(writer, UNWINDING_BYTES);
	put_u64(writer, UNWINDING_BYTES);
	put_u64(writer, 0);
	put(writer, table, sizeof(table));
	end_record(writer);
}

static void put_load(struct writer *writer, const struct function *function)
{
	begin_record(writer, PILOTLIGHT_JITDUMP_LOAD);
	put_u32(writer, (uint32_t)writer->pid);
	put_u32(writer, (uint32_t)gettid());
	put_u64(writer, (uint64_t)(uintptr_t)function->code);
	put_u64(writer, (uint64_t)(uintptr_t)function->code);
	put_u64(writer, function->size);
	put_u64(writer, function->index);
	put_string(writer, function->name);
	put(writer, function->code, function->size);
}

static void put_line(struct writer *writer, const struct function *function)
{
	static const char *const formats[] = {
		[MAP_PLAIN] = "%" PRIx64 " %zx %s\n",
		[MAP_BOTH_PREFIXED] = "0x%" PRIx64 " 0x%zx %s\n",
		[MAP_START_PREFIXED] = "0x%" PRIx64 " %zx $%s\n",
		[MAP_PADDED] = "0x%016" PRIx64 " 0x%016zx %s\n",
	};
	char line[512];
	int size;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	size = snprintf(line, sizeof(line), formats[writer->options.map_form],
		(uint64_t)(uintptr_t)function->code, function->size, function->name);
#pragma GCC diagnostic pop
	put(writer, line, (size_t)size);
	writer_tick(writer);
}

/* --- a file ------------------------------------------------------------------------------------
 */

static void open_file(struct writer *writer, const char *path)
{
	int flags = writer->options.is_appending ? O_APPEND : O_TRUNC;

	if (!writer->options.is_appending)
		(void)unlink(path);
	writer->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND | flags, 0644);
	if (writer->fd < 0)
		die(path);
}

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void map_marker(struct writer *writer)
{
	writer->marker =
		mmap(NULL, page_bytes(), PROT_READ | PROT_EXEC, MAP_PRIVATE, writer->fd, 0);
	if (writer->marker == MAP_FAILED)
		die("marker");
}

void writer_open(struct writer *writer, const struct writer_options *options)
{
	bool is_map = options->kind == WRITER_PERF_MAP;
	const char *directory = options->directory ? options->directory : is_map ? "/tmp" : ".";
	char path[PATH_MAX];

	*writer = (struct writer){ .options = *options, .fd = -1, .pid = getpid() };
	writer->next_index = 1;
	if (options->kind == WRITER_NONE)
		return;
	(void)snprintf(path, sizeof(path), is_map ? "%s/perf-%d.map" : "%s/jit-%d.dump", directory,
		(int)writer->pid);
	open_file(writer, path);
	if (!is_map) {
		put_header(writer);
		flush(writer);
		map_marker(writer);
	}
	writer->flushed_ns = monotonic_ns();
}

void writer_inherit(struct writer *writer)
{
	writer->pid = getpid();
	writer->size = 0;
}

void writer_disown(struct writer *writer)
{
	if (writer->marker)
		(void)munmap(writer->marker, page_bytes());
	if (writer->fd >= 0)
		(void)close(writer->fd);
	writer->marker = NULL;
	writer->fd = -1;
}

void writer_load(struct writer *writer, struct function *function)
{
	if (function->index == 0)
		function->index = writer->next_index++;
	if (writer->options.kind == WRITER_PERF_MAP)
		put_line(writer, function);
	if (writer->options.kind != WRITER_JITDUMP)
		return;
	if (writer->options.has_lines)
		put_lines(writer, function);
	if (writer->options.has_lines && writer->options.version >= 2)
		put_unwinding(writer);
	put_load(writer, function);
	end_record(writer);
}

void writer_move(struct writer *writer, const struct function *function, const void *from)
{
	if (writer->options.kind == WRITER_PERF_MAP)
		put_line(writer, function);
	if (writer->options.kind != WRITER_JITDUMP)
		return;
	begin_record(writer, PILOTLIGHT_JITDUMP_MOVE);
	put_u32(writer, (uint32_t)writer->pid);
	put_u32(writer, (uint32_t)gettid());
	put_u64(writer, (uint64_t)(uintptr_t)function->code);
	put_u64(writer, (uint64_t)(uintptr_t)from);
	put_u64(writer, (uint64_t)(uintptr_t)function->code);
	put_u64(writer, function->size);
	put_u64(writer, function->index);
	end_record(writer);
}

void writer_tear(struct writer *writer, struct function *function)
{
	size_t start = writer->size;

	put_load(writer, function);
	writer->options.flush_ns = FLUSH_AT_EXIT;
	end_record(writer);
	writer->size = start + (writer->size - start) / 2;
	flush(writer);
}

void writer_close(struct writer *writer)
{
	if (writer->fd < 0)
		return;
	if (writer->options.kind == WRITER_JITDUMP) {
		begin_record(writer, PILOTLIGHT_JITDUMP_CLOSE);
		end_record(writer);
	}
	flush(writer);
	(void)close(writer->fd);
	free(writer->bytes);
	writer->fd = -1;
	writer->bytes = NULL;
}
