/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replaced_code UNITS: runs `alpha` for UNITS rounds and then `bravo` for three times as many.
 * Both run at the same address, where pages of this program's file are mapped in turn, as
 * dlclose() and dlopen() may do.
 */
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, SPINS = 100000 };

/* Each function is alone on its page, refers to nothing else and has a frame. */
#define PAGE_OF_ITS_OWN(name)                                                                   \
	__attribute__((noinline, aligned(4096), section(".text." #name))) static uint64_t name( \
		uint64_t rounds)                                                                \
	{                                                                                       \
		uint64_t sum = 0;                                                               \
                                                                                                \
		for (uint64_t i = 0; i < rounds * SPINS; i++)                                   \
			__asm__ volatile("imul $3, %0\n\tadd %1, %0" : "+r"(sum) : "r"(i));     \
		return sum;                                                                     \
	}

PAGE_OF_ITS_OWN(alpha)
PAGE_OF_ITS_OWN(bravo)

struct place {
	uint64_t address;
	uint64_t offset; /* in the file */
};

static int find_offset(struct dl_phdr_info *info, size_t size, void *context)
{
	struct place *place = context;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && place->address - start < segment->p_memsz) {
			place->offset = place->address - start + segment->p_offset;
			return 1;
		}
	}
	return 0;
}

static uint64_t run(int fd, void *where, uint64_t (*function)(uint64_t), uint64_t rounds)
{
	struct place place = { .address = (uint64_t)(uintptr_t)function };
	void *page;

	if (!dl_iterate_phdr(find_offset, &place) || place.offset % PAGE)
		exit(2);
	page = mmap(where, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		(off_t)place.offset);
	if (page != where)
		exit(3);
	return ((uint64_t(*)(uint64_t))(uintptr_t)page)(rounds);
}

int main(int argc, char **argv)
{
	uint64_t units = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *where = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t sum;

	if (fd < 0 || where == MAP_FAILED)
		return 1;
	sum = run(fd, where, alpha, units);
	sum += run(fd, where, bravo, 3 * units);
	return sum == 1;
}
