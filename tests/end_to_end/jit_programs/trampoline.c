/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trampoline [CPU_SECONDS [DEPTH]]: descend() calls itself through a generated trampoline, which
 * keeps no frame pointer, like those that CPython makes for -X perf; then it works. Exits with 77
 * on machines that it has no code for.
 */
#include "../../workloads/work.h"

#include <sys/mman.h>

typedef void (*function)(unsigned depth);
typedef void (*trampoline)(function function, unsigned depth);

#if defined(__x86_64__)
static const uint8_t code[] = {
	0x48, 0x83, 0xec, 0x08, /* sub $8, %rsp */
	0x48, 0x89, 0xf8,	/* mov %rdi, %rax */
	0x89, 0xf7,		/* mov %esi, %edi */
	0xff, 0xd0,		/* call *%rax */
	0x48, 0x83, 0xc4, 0x08, /* add $8, %rsp */
	0xc3,			/* ret */
};
#else
static const uint8_t code[1];
#endif

static trampoline through;
static double end;
static uint64_t result = 1;

static NOINLINE void descend(unsigned depth)
{
	if (depth > 0)
		through(descend, depth - 1);
	else
		while (now_seconds(CLOCK_PROCESS_CPUTIME_ID) < end)
			result = work_units(1000, result);
	keep(result); /* else the call would be a jump */
}

int main(int argc, char **argv)
{
	void *memory;

	if (sizeof(code) == 1)
		return 77;
	end = now_seconds(CLOCK_PROCESS_CPUTIME_ID) + number_argument(argc, argv, 1, 1);
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	memcpy(memory, code, sizeof(code));
	if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) < 0) {
		perror("mprotect");
		return 1;
	}
	through = (trampoline)memory;
	descend((unsigned)number_argument(argc, argv, 2, 5));
	return 0;
}
