/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA	     0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

enum {
	MEMORY_BYTES = PLACES * PLACE_BYTES, /* that of a huge page of x86-64 */
	LOOP_ROUNDS = 100000,		     /* some tens of microseconds */
	MACHINE_LACKS_IT = 77,
};

static const struct {
	const char *name;
	enum memory_kind kind;
} memory_kinds[] = {
	{ "anonymous", MEMORY_ANONYMOUS },
	{ "shared", MEMORY_SHARED },
	{ "memfd", MEMORY_MEMFD },
	{ "named", MEMORY_NAMED },
	{ "sysv", MEMORY_SYSV },
	{ "huge", MEMORY_HUGE },
};

int memory_kind_from_name(const char *name)
{
	for (size_t i = 0; i < sizeof(memory_kinds) / sizeof(memory_kinds[0]); i++)
		if (strcmp(memory_kinds[i].name, name) == 0)
			return (int)memory_kinds[i].kind;
	return -1;
}

bool memory_kind_is_shared(enum memory_kind kind)
{
	return kind == MEMORY_SHARED || kind == MEMORY_MEMFD || kind == MEMORY_SYSV;
}

static void lacks(const char *what)
{
	(void)fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(MACHINE_LACKS_IT);
}

static void *map(uint64_t address, int flags, int fd)
{
	int fixed = address ? MAP_FIXED_NOREPLACE : 0;
	void *memory = mmap((void *)(uintptr_t)address, MEMORY_BYTES,
		PROT_READ | PROT_WRITE | PROT_EXEC, flags | fixed, fd, 0);

	if (memory == MAP_FAILED)
		lacks("executable memory");
	return memory;
}

static void map_memfd(struct code_memory *memory, uint64_t address)
{
	int fd = memfd_create("doublemapper", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, MEMORY_BYTES) < 0)
		lacks("memfd_create");
	memory->run = map(address, MAP_SHARED, fd);
	memory->write = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory->write == MAP_FAILED ||
		mprotect(memory->run, MEMORY_BYTES, PROT_READ | PROT_EXEC) < 0)
		lacks("memfd");
	(void)close(fd);
}

static void *map_sysv(uint64_t address)
{
	int id = shmget(IPC_PRIVATE, MEMORY_BYTES, IPC_CREAT | 0600);
	void *memory;

	if (id < 0)
		lacks("shmget");
	memory = shmat(id, (void *)(uintptr_t)address, SHM_EXEC);
	(void)shmctl(id, IPC_RMID, NULL);
	if (memory == (void *)-1)
		lacks("shmat");
	return memory;
}

void code_memory_map(struct code_memory *memory, enum memory_kind kind, uint64_t address)
{
	static const int flags[] = {
		[MEMORY_ANONYMOUS] = MAP_PRIVATE,
		[MEMORY_SHARED] = MAP_SHARED,
		[MEMORY_NAMED] = MAP_PRIVATE,
		[MEMORY_HUGE] = MAP_PRIVATE | MAP_HUGETLB,
	};

	if (kind == MEMORY_MEMFD) {
		map_memfd(memory, address);
		return;
	}
	memory->run = kind == MEMORY_SYSV ? map_sysv(address)
					  : map(address, flags[kind] | MAP_ANONYMOUS, -1);
	memory->write = memory->run;
	if (kind == MEMORY_NAMED && prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, memory->run,
					    MEMORY_BYTES, "generated code") < 0)
		lacks("PR_SET_VMA_ANON_NAME");
}

#ifdef __x86_64__
static const uint8_t frame_begin[] = { 0x55, 0x48, 0x89, 0xe5 }; /* push, mov %rsp, %rbp */
static const uint8_t loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb };	 /* dec %rdi, jnz */
static const uint8_t frame_end[] = { 0x5d, 0xc3 };		 /* pop %rbp, ret */
static const uint8_t leaf_end[] = { 0xc3 };			 /* ret */
static const uint8_t call_begin[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8 }; /* ..., mov ..., %rax */
static const uint8_t call_end[] = { 0xff, 0xd0 };			    /* call *%rax */
/* pop %rbp, add $8, %rsp, pop %rbp, ret: to the caller's caller. */
static const uint8_t inner_end[] = { 0x5d, 0x48, 0x83, 0xc4, 0x08, 0x5d, 0xc3 };
enum { NOP = 0x90 };

static uint8_t *put(uint8_t *at, const void *bytes, size_t size)
{
	memcpy(at, bytes, size);
	return at + size;
}

void code_put(const struct code_memory *memory, unsigned place, enum code_style style, size_t size,
	struct function *function)
{
	bool has_frame = style == CODE_FRAME;
	size_t used = has_frame ? sizeof(frame_begin) + sizeof(loop) + sizeof(frame_end)
				: sizeof(loop) + sizeof(leaf_end);
	uint8_t *at = memory->write + (size_t)place * PLACE_BYTES;

	if (has_frame)
		at = put(at, frame_begin, sizeof(frame_begin));
	memset(at, NOP, size - used);
	at = put(at + (size - used), loop, sizeof(loop));
	if (has_frame)
		(void)put(at, frame_end, sizeof(frame_end));
	else
		(void)put(at, leaf_end, sizeof(leaf_end));
	function->code = memory->run + (size_t)place * PLACE_BYTES;
	function->size = size;
}

void code_put_nested(const struct code_memory *memory, unsigned place, struct function *outer,
	struct function *inner)
{
	size_t outer_size = sizeof(call_begin) + sizeof(uint64_t) + sizeof(call_end);
	size_t start = (size_t)place * PLACE_BYTES;
	uint8_t *at = memory->write + start;
	uint64_t target = (uint64_t)(uintptr_t)memory->run + start + PLACE_BYTES / 2;

	outer->code = memory->run + start;
	outer->size = outer_size;
	at = put(at, call_begin, sizeof(call_begin));
	at = put(at, &target, sizeof(target));
	(void)put(at, call_end, sizeof(call_end));

	inner->code = memory->run + start + PLACE_BYTES / 2;
	inner->size = sizeof(frame_begin) + sizeof(loop) + sizeof(inner_end);
	at = memory->write + start + PLACE_BYTES / 2;
	at = put(at, frame_begin, sizeof(frame_begin));
	at = put(at, loop, sizeof(loop));
	(void)put(at, inner_end, sizeof(inner_end));
}
#else
void code_put(const struct code_memory *memory, unsigned place, enum code_style style, size_t size,
	struct function *function)
{
	(void)memory, (void)place, (void)style, (void)size, (void)function;
	errno = ENOSYS;
	lacks("code for this machine");
}

void code_put_nested(const struct code_memory *memory, unsigned place, struct function *outer,
	struct function *inner)
{
	(void)inner;
	code_put(memory, place, CODE_FRAME, 0, outer);
}
#endif

void code_move(const struct code_memory *memory, unsigned place, struct function *function)
{
	memcpy(memory->write + (size_t)place * PLACE_BYTES,
		memory->write + (function->code - memory->run), function->size);
	function->code = memory->run + (size_t)place * PLACE_BYTES;
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

uint64_t code_run(const struct function *function, uint64_t cpu_ns)
{
	void (*call)(uint64_t rounds) = (void (*)(uint64_t))(uintptr_t)function->code;
	uint64_t begin = thread_cpu_ns(), used;

	do {
		call(LOOP_ROUNDS);
		used = thread_cpu_ns() - begin;
	} while (used < cpu_ns);
	return used;
}
