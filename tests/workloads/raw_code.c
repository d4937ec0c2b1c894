/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * raw_code [SECONDS]: call_raw_code() runs a loop in anonymous executable memory, which has a
 * frame but neither a file nor a symbol. Exits with 77 on machines that it has no code for.
 */
#include "work.h"

#include <sys/mman.h>

/* void (*)(uint64_t count): counts down to 0. */
#if defined(__x86_64__)
static const uint8_t code[] = {
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0x48, 0xff, 0xcf, /* dec %rdi */
	0x75, 0xfb,	  /* jnz to the dec */
	0x5d,		  /* pop %rbp */
	0xc3,		  /* ret */
};
#elif defined(__aarch64__)
static const uint32_t code[] = {
	0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
	0x910003fd, /* mov x29, sp */
	0xf1000400, /* subs x0, x0, #1 */
	0x54ffffe1, /* b.ne to the subs */
	0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
	0xd65f03c0, /* ret */
};
#else
static const uint8_t code[1];
#endif

typedef void (*counter)(uint64_t count);

static NOINLINE uint64_t call_raw_code(counter count, uint64_t seed)
{
	count(1000000);
	return seed + 1;
}

int main(int argc, char **argv)
{
	double end = own_seconds() + number_argument(argc, argv, 1, 5);
	uint64_t seed = 1;
	void *memory;

	if (sizeof(code) == 1)
		return 77;
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
	__builtin___clear_cache((char *)memory, (char *)memory + sizeof(code));
	while (own_seconds() < end)
		seed = call_raw_code((counter)memory, seed);
	keep(seed);
	return 0;
}
