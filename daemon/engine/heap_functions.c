/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/heap_functions.h"

#include "base/array.h"
#include "dwarf/usdt_probe.h"
#include "symbol/elf_functions.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	enum pilotlight_heap_function function;
} known[] = {
	{ "_ZdaPv", PILOTLIGHT_HEAP_FREE },
	{ "_ZdaPvRKSt9nothrow_t", PILOTLIGHT_HEAP_FREE },
	{ "_ZdaPvSt11align_val_t", PILOTLIGHT_HEAP_FREE },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", PILOTLIGHT_HEAP_FREE },
	{ "_ZdaPvm", PILOTLIGHT_HEAP_FREE },
	{ "_ZdaPvmSt11align_val_t", PILOTLIGHT_HEAP_FREE },
	{ "_ZdlPv", PILOTLIGHT_HEAP_FREE },
	{ "_ZdlPvRKSt9nothrow_t", PILOTLIGHT_HEAP_FREE },
	{ "_ZdlPvSt11align_val_t", PILOTLIGHT_HEAP_FREE },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", PILOTLIGHT_HEAP_FREE },
	{ "_ZdlPvm", PILOTLIGHT_HEAP_FREE },
	{ "_ZdlPvmSt11align_val_t", PILOTLIGHT_HEAP_FREE },
	{ "_Znam", PILOTLIGHT_HEAP_NEW },
	{ "_ZnamRKSt9nothrow_t", PILOTLIGHT_HEAP_NEW },
	{ "_ZnamSt11align_val_t", PILOTLIGHT_HEAP_NEW },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", PILOTLIGHT_HEAP_NEW },
	{ "_Znwm", PILOTLIGHT_HEAP_NEW },
	{ "_ZnwmRKSt9nothrow_t", PILOTLIGHT_HEAP_NEW },
	{ "_ZnwmSt11align_val_t", PILOTLIGHT_HEAP_NEW },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", PILOTLIGHT_HEAP_NEW },
	{ "_rjem_aligned_alloc", PILOTLIGHT_HEAP_ALIGNED_ALLOC },
	{ "_rjem_calloc", PILOTLIGHT_HEAP_CALLOC },
	{ "_rjem_dallocx", PILOTLIGHT_HEAP_FREE },
	{ "_rjem_free", PILOTLIGHT_HEAP_FREE },
	{ "_rjem_malloc", PILOTLIGHT_HEAP_MALLOC },
	{ "_rjem_mallocx", PILOTLIGHT_HEAP_NEW },
	{ "_rjem_memalign", PILOTLIGHT_HEAP_ALIGNED_ALLOC },
	{ "_rjem_posix_memalign", PILOTLIGHT_HEAP_POSIX_MEMALIGN },
	{ "_rjem_pvalloc", PILOTLIGHT_HEAP_NEW },
	{ "_rjem_rallocx", PILOTLIGHT_HEAP_REALLOC },
	{ "_rjem_realloc", PILOTLIGHT_HEAP_REALLOC },
	{ "_rjem_sdallocx", PILOTLIGHT_HEAP_FREE },
	{ "_rjem_valloc", PILOTLIGHT_HEAP_NEW },
	{ "aligned_alloc", PILOTLIGHT_HEAP_ALIGNED_ALLOC },
	{ "calloc", PILOTLIGHT_HEAP_CALLOC },
	{ "cfree", PILOTLIGHT_HEAP_FREE },
	{ "dallocx", PILOTLIGHT_HEAP_FREE },
	{ "free", PILOTLIGHT_HEAP_FREE },
	{ "free_aligned_sized", PILOTLIGHT_HEAP_FREE },
	{ "free_sized", PILOTLIGHT_HEAP_FREE },
	{ "je_aligned_alloc", PILOTLIGHT_HEAP_ALIGNED_ALLOC },
	{ "je_calloc", PILOTLIGHT_HEAP_CALLOC },
	{ "je_dallocx", PILOTLIGHT_HEAP_FREE },
	{ "je_free", PILOTLIGHT_HEAP_FREE },
	{ "je_malloc", PILOTLIGHT_HEAP_MALLOC },
	{ "je_mallocx", PILOTLIGHT_HEAP_NEW },
	{ "je_memalign", PILOTLIGHT_HEAP_ALIGNED_ALLOC },
	{ "je_posix_memalign", PILOTLIGHT_HEAP_POSIX_MEMALIGN },
	{ "je_pvalloc", PILOTLIGHT_HEAP_NEW },
	{ "je_rallocx", PILOTLIGHT_HEAP_REALLOC },
	{ "je_realloc", PILOTLIGHT_HEAP_REALLOC },
	{ "je_sdallocx", PILOTLIGHT_HEAP_FREE },
	{ "je_valloc", PILOTLIGHT_HEAP_NEW },
	{ "malloc", PILOTLIGHT_HEAP_MALLOC },
	{ "mallocx", PILOTLIGHT_HEAP_NEW },
	{ "memalign", PILOTLIGHT_HEAP_ALIGNED_ALLOC },
	{ "mi_aligned_alloc", PILOTLIGHT_HEAP_ALIGNED_ALLOC },
	{ "mi_calloc", PILOTLIGHT_HEAP_CALLOC },
	{ "mi_free", PILOTLIGHT_HEAP_FREE },
	{ "mi_free_aligned", PILOTLIGHT_HEAP_FREE },
	{ "mi_free_size", PILOTLIGHT_HEAP_FREE },
	{ "mi_free_size_aligned", PILOTLIGHT_HEAP_FREE },
	{ "mi_malloc", PILOTLIGHT_HEAP_MALLOC },
	{ "mi_malloc_aligned", PILOTLIGHT_HEAP_NEW },
	{ "mi_malloc_small", PILOTLIGHT_HEAP_NEW },
	{ "mi_memalign", PILOTLIGHT_HEAP_ALIGNED_ALLOC },
	{ "mi_new", PILOTLIGHT_HEAP_NEW },
	{ "mi_new_aligned", PILOTLIGHT_HEAP_NEW },
	{ "mi_new_nothrow", PILOTLIGHT_HEAP_NEW },
	{ "mi_posix_memalign", PILOTLIGHT_HEAP_POSIX_MEMALIGN },
	{ "mi_pvalloc", PILOTLIGHT_HEAP_NEW },
	{ "mi_realloc", PILOTLIGHT_HEAP_REALLOC },
	{ "mi_realloc_aligned", PILOTLIGHT_HEAP_REALLOC },
	{ "mi_rezalloc", PILOTLIGHT_HEAP_REALLOC },
	{ "mi_valloc", PILOTLIGHT_HEAP_NEW },
	{ "mi_zalloc", PILOTLIGHT_HEAP_NEW },
	{ "mi_zalloc_aligned", PILOTLIGHT_HEAP_NEW },
	{ "mi_zalloc_small", PILOTLIGHT_HEAP_NEW },
	{ "posix_memalign", PILOTLIGHT_HEAP_POSIX_MEMALIGN },
	{ "pvalloc", PILOTLIGHT_HEAP_NEW },
	{ "rallocx", PILOTLIGHT_HEAP_REALLOC },
	{ "realloc", PILOTLIGHT_HEAP_REALLOC },
	{ "sdallocx", PILOTLIGHT_HEAP_FREE },
	{ "tc_aligned_alloc", PILOTLIGHT_HEAP_ALIGNED_ALLOC },
	{ "tc_calloc", PILOTLIGHT_HEAP_CALLOC },
	{ "tc_delete", PILOTLIGHT_HEAP_FREE },
	{ "tc_delete_sized", PILOTLIGHT_HEAP_FREE },
	{ "tc_deletearray", PILOTLIGHT_HEAP_FREE },
	{ "tc_deletearray_sized", PILOTLIGHT_HEAP_FREE },
	{ "tc_free", PILOTLIGHT_HEAP_FREE },
	{ "tc_free_sized", PILOTLIGHT_HEAP_FREE },
	{ "tc_malloc", PILOTLIGHT_HEAP_MALLOC },
	{ "tc_memalign", PILOTLIGHT_HEAP_ALIGNED_ALLOC },
	{ "tc_new", PILOTLIGHT_HEAP_NEW },
	{ "tc_new_nothrow", PILOTLIGHT_HEAP_NEW },
	{ "tc_newarray", PILOTLIGHT_HEAP_NEW },
	{ "tc_newarray_nothrow", PILOTLIGHT_HEAP_NEW },
	{ "tc_posix_memalign", PILOTLIGHT_HEAP_POSIX_MEMALIGN },
	{ "tc_pvalloc", PILOTLIGHT_HEAP_NEW },
	{ "tc_realloc", PILOTLIGHT_HEAP_REALLOC },
	{ "tc_valloc", PILOTLIGHT_HEAP_NEW },
	{ "valloc", PILOTLIGHT_HEAP_NEW },
};

/* Does it allocate without the help of another file? */
static bool is_allocator(const struct elf_function *functions, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (known[functions[i].name].function == PILOTLIGHT_HEAP_MALLOC)
			return true;
	return false;
}

/*
 * Where in the function the probe is set. The kernel emulates pushes and jumps, but steps over
 * other instructions by a trap, which takes a virtual machine many microseconds. So first
 * instructions that change neither a register nor the stack have no probe, but the next one has.
 */
static uint64_t probe_offset(int fd, uint64_t offset)
{
	static const struct {
		uint8_t bytes[4], size;
	} plain[] = {
		{ { 0xf3, 0x0f, 0x1e, 0xfa }, 4 }, /* endbr64 */
		{ { 0x48, 0x85, 0xff }, 3 },	   /* test %rdi,%rdi: the first of free() */
	};

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		uint8_t bytes[4];

		if (pread(fd, bytes, sizeof(bytes), (off_t)offset) == sizeof(bytes) &&
			memcmp(bytes, plain[i].bytes, plain[i].size) == 0)
			offset += plain[i].size;
	}
	return offset;
}

/* Adds the places of a probe. Returns how many, or -errno. */
static int add_probe(const struct elf_file *file, const char *name,
	enum pilotlight_heap_function function, struct heap_function functions[], size_t max)
{
	struct usdt_place places[USDT_PLACES_MAX];
	size_t count = 0;
	int r = usdt_probe_find(file, "otel_memory", name, places, &count);

	if (r < 0)
		return r;
	if (count > max)
		return -E2BIG;
	for (size_t i = 0; i < count; i++) {
		const uint32_t address = places[i].arguments[0];
		const uint32_t weight =
			function == PILOTLIGHT_HEAP_REPORT_ALLOC ? places[i].arguments[2] : 0;

		if (!address || (function == PILOTLIGHT_HEAP_REPORT_ALLOC && !weight))
			return -EOPNOTSUPP;
		functions[i] = (struct heap_function){
			.offset = places[i].code,
			.function = function,
			.semaphore = places[i].semaphore,
			.arguments = address | (uint64_t)weight << 32,
		};
	}
	return (int)count;
}

/* Without one of the probes, or if it cannot be read, calls are counted instead. */
static int find_reports(int fd, struct heap_function functions[HEAP_FUNCTIONS_MAX])
{
	struct elf_file file;
	int allocs, frees, r = elf_file_init(&file, fd);

	if (r < 0)
		return r;
	allocs = add_probe(
		&file, "alloc", PILOTLIGHT_HEAP_REPORT_ALLOC, functions, HEAP_FUNCTIONS_MAX);
	if (allocs < 0)
		return allocs;
	frees = add_probe(&file, "free", PILOTLIGHT_HEAP_REPORT_FREE, functions + allocs,
		HEAP_FUNCTIONS_MAX - (size_t)allocs);
	return frees < 0 ? frees : allocs + frees;
}

int heap_functions_find(int fd, struct heap_function functions[HEAP_FUNCTIONS_MAX])
{
	struct elf_function found[HEAP_FUNCTIONS_MAX];
	const char *names[ARRAY_SIZE(known)];
	size_t count;
	int r = find_reports(fd, functions);

	if (r > 0 || r == -ENOMEM)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		names[i] = known[i].name;
	r = elf_functions_find(fd, names, ARRAY_SIZE(known), found, HEAP_FUNCTIONS_MAX, &count);
	if (r < 0)
		return r;
	if (!is_allocator(found, count))
		return 0;
	for (size_t i = 0; i < count; i++)
		functions[i] = (struct heap_function){
			.offset = probe_offset(fd, found[i].offset),
			.function = known[found[i].name].function,
		};
	return (int)count;
}
