/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes jitdump records into memory, in either byte order, for tests: byte by byte and without the
 * reader's own structures, so that the two cannot agree on a mistake. What is asked for is written,
 * sensible or not. Runs out of memory by abort().
 *
 *	struct jitdump_fixture dump = { .is_swapped = false };
 *
 *	jitdump_fixture_header(&dump, 1234);
 *	jitdump_fixture_load(&dump, 1000, 1234, 0x7f0000001000, 64, 1, "hot");
 *	fd = jitdump_fixture_file(&dump);
 *	jitdump_fixture_done(&dump);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct jitdump_fixture {
	uint8_t *bytes;
	size_t size, capacity;
	bool is_swapped; /* written by a machine of the other byte order */
	size_t record;	 /* where the last record begins */
};

static inline void jitdump_fixture_done(struct jitdump_fixture *dump)
{
	free(dump->bytes);
	*dump = (struct jitdump_fixture){ .is_swapped = dump->is_swapped };
}

static inline void jitdump_fixture_bytes(
	struct jitdump_fixture *dump, const void *bytes, size_t size)
{
	if (dump->size + size > dump->capacity) {
		dump->capacity = 2 * (dump->size + size);
		dump->bytes = realloc(dump->bytes, dump->capacity);
		if (!dump->bytes)
			abort();
	}
	if (size > 0)
		memcpy(dump->bytes + dump->size, bytes, size);
	dump->size += size;
}

static inline void jitdump_fixture_fill(struct jitdump_fixture *dump, uint8_t byte, size_t count)
{
	for (size_t i = 0; i < count; i++)
		jitdump_fixture_bytes(dump, &byte, 1);
}

static inline void jitdump_fixture_u32(struct jitdump_fixture *dump, uint32_t value)
{
	if (dump->is_swapped)
		value = __builtin_bswap32(value);
	jitdump_fixture_bytes(dump, &value, sizeof(value));
}

static inline void jitdump_fixture_u64(struct jitdump_fixture *dump, uint64_t value)
{
	if (dump->is_swapped)
		value = __builtin_bswap64(value);
	jitdump_fixture_bytes(dump, &value, sizeof(value));
}

/* Overwrites what stands at `offset`: to damage something. */
static inline void jitdump_fixture_set_u32(
	struct jitdump_fixture *dump, size_t offset, uint32_t value)
{
	if (offset + sizeof(value) > dump->size)
		abort();
	if (dump->is_swapped)
		value = __builtin_bswap32(value);
	memcpy(dump->bytes + offset, &value, sizeof(value));
}

static inline void jitdump_fixture_set_u64(
	struct jitdump_fixture *dump, size_t offset, uint64_t value)
{
	if (offset + sizeof(value) > dump->size)
		abort();
	if (dump->is_swapped)
		value = __builtin_bswap64(value);
	memcpy(dump->bytes + offset, &value, sizeof(value));
}

/* Of any kind: `padding` 0xdeadbeef for V8, `flags` 1 for time stamps of the CPU. */
static inline void jitdump_fixture_header_of(
	struct jitdump_fixture *dump, uint32_t pid, uint32_t padding, uint64_t flags)
{
	jitdump_fixture_u32(dump, 0x4a695444);
	jitdump_fixture_u32(dump, 1);
	jitdump_fixture_u32(dump, 40);
	jitdump_fixture_u32(dump, 62);
	jitdump_fixture_u32(dump, padding);
	jitdump_fixture_u32(dump, pid);
	jitdump_fixture_u64(dump, 1);
	jitdump_fixture_u64(dump, flags);
}

static inline void jitdump_fixture_header(struct jitdump_fixture *dump, uint32_t pid)
{
	jitdump_fixture_header_of(dump, pid, 0, 0);
}

/* Every record is begun, filled by the functions above, and ended, which gives it its size. */
static inline void jitdump_fixture_begin(
	struct jitdump_fixture *dump, uint32_t id, uint64_t time_ns)
{
	dump->record = dump->size;
	jitdump_fixture_u32(dump, id);
	jitdump_fixture_u32(dump, 0);
	jitdump_fixture_u64(dump, time_ns);
}

static inline void jitdump_fixture_end(struct jitdump_fixture *dump)
{
	jitdump_fixture_set_u32(dump, dump->record + 4, (uint32_t)(dump->size - dump->record));
}

/* A LOAD but for its code, which may follow before jitdump_fixture_end(). */
static inline void jitdump_fixture_begin_load(struct jitdump_fixture *dump, uint64_t time_ns,
	uint32_t pid, uint64_t vma, uint64_t address, uint64_t size, uint64_t index,
	const char *name)
{
	jitdump_fixture_begin(dump, 0, time_ns);
	jitdump_fixture_u32(dump, pid);
	jitdump_fixture_u32(dump, pid);
	jitdump_fixture_u64(dump, vma);
	jitdump_fixture_u64(dump, address);
	jitdump_fixture_u64(dump, size);
	jitdump_fixture_u64(dump, index);
	jitdump_fixture_bytes(dump, name, strlen(name) + 1);
}

/* With its code, all of it 0x90. */
static inline void jitdump_fixture_load(struct jitdump_fixture *dump, uint64_t time_ns,
	uint32_t pid, uint64_t address, uint64_t size, uint64_t index, const char *name)
{
	jitdump_fixture_begin_load(dump, time_ns, pid, address, address, size, index, name);
	jitdump_fixture_fill(dump, 0x90, size);
	jitdump_fixture_end(dump);
}

/* As jvmti does for code that it cannot see: the size is told, the code is left out. */
static inline void jitdump_fixture_load_without_code(struct jitdump_fixture *dump, uint64_t time_ns,
	uint32_t pid, uint64_t address, uint64_t size, uint64_t index, const char *name)
{
	jitdump_fixture_begin_load(dump, time_ns, pid, address, address, size, index, name);
	jitdump_fixture_end(dump);
}

static inline void jitdump_fixture_move(struct jitdump_fixture *dump, uint64_t time_ns,
	uint32_t pid, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	jitdump_fixture_begin(dump, 1, time_ns);
	jitdump_fixture_u32(dump, pid);
	jitdump_fixture_u32(dump, pid);
	jitdump_fixture_u64(dump, to);
	jitdump_fixture_u64(dump, from);
	jitdump_fixture_u64(dump, to);
	jitdump_fixture_u64(dump, size);
	jitdump_fixture_u64(dump, index);
	jitdump_fixture_end(dump);
}

/* `count` jitdump_fixture_debug_entry() follow, and jitdump_fixture_end(). */
static inline void jitdump_fixture_begin_debug(
	struct jitdump_fixture *dump, uint64_t time_ns, uint64_t address, uint64_t count)
{
	jitdump_fixture_begin(dump, 2, time_ns);
	jitdump_fixture_u64(dump, address);
	jitdump_fixture_u64(dump, count);
}

/* `file` "\xff": that of the entry before. */
static inline void jitdump_fixture_debug_entry(struct jitdump_fixture *dump, uint64_t address,
	int32_t line, int32_t discriminator, const char *file)
{
	jitdump_fixture_u64(dump, address);
	jitdump_fixture_u32(dump, (uint32_t)line);
	jitdump_fixture_u32(dump, (uint32_t)discriminator);
	jitdump_fixture_bytes(dump, file, strlen(file) + 1);
}

static inline void jitdump_fixture_close(struct jitdump_fixture *dump, uint64_t time_ns)
{
	jitdump_fixture_begin(dump, 3, time_ns);
	jitdump_fixture_end(dump);
}

static inline void jitdump_fixture_unwinding(
	struct jitdump_fixture *dump, uint64_t time_ns, uint64_t size, uint64_t header_size)
{
	jitdump_fixture_begin(dump, 4, time_ns);
	jitdump_fixture_u64(dump, size);
	jitdump_fixture_u64(dump, header_size);
	jitdump_fixture_u64(dump, 0);
	jitdump_fixture_fill(dump, 0, size);
	jitdump_fixture_end(dump);
}

/* Appends the bytes from `from` to a file. Returns false where that failed. */
static inline bool jitdump_fixture_append(const struct jitdump_fixture *dump, int fd, size_t from)
{
	if (lseek(fd, 0, SEEK_END) < 0)
		return false;
	return write(fd, dump->bytes + from, dump->size - from) == (ssize_t)(dump->size - from);
}

/* A file in memory with these bytes, which the caller closes; -1 where there can be none. */
static inline int jitdump_fixture_file(const struct jitdump_fixture *dump)
{
	int fd = memfd_create("jitdump", MFD_CLOEXEC);

	if (fd >= 0 && dump->size > 0 && !jitdump_fixture_append(dump, fd, 0)) {
		(void)close(fd);
		return -1;
	}
	return fd;
}
