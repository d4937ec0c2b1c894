/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counted WHAT N: has N events or some more, and prints how many the kernel says it had. WHAT is
 * `faults`, page faults in touch_pages(); or `switches`, sleeps in sleep_often(). `probes` comes N
 * times by the USDT probes pilotlight:tick and pilotlight:tock, and prints how often the second was
 * on. */
#include "work.h"

#include <sys/mman.h>
#include <sys/resource.h>

enum { PAGE_BYTES = 4096 };

static NOINLINE void touch_pages(char *memory, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		((volatile char *)memory)[i * PAGE_BYTES] = 1;
	/* No tail call: the caller would be missing. */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
}

static long have_faults(size_t count)
{
	char *memory = mmap(NULL, count * PAGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rusage usage;

	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	(void)madvise(memory, count * PAGE_BYTES, MADV_NOHUGEPAGE);
	touch_pages(memory, count);
	(void)getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

static NOINLINE void sleep_often(size_t count)
{
	const struct timespec moment = { .tv_nsec = 1000 };

	for (size_t i = 0; i < count; i++)
		(void)nanosleep(&moment, NULL);
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
}

static long have_switches(size_t count)
{
	struct rusage usage;

	sleep_often(count);
	(void)getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* As the macros of sys/sdt.h make it. */
#define NOTE(name, semaphore)                                                \
	__asm__ volatile("990: nop\n"                                        \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"        \
			 ".balign 4\n"                                       \
			 ".4byte 992f-991f, 994f-993f, 3\n"                  \
			 "991: .asciz \"stapsdt\"\n"                         \
			 "992: .balign 4\n"                                  \
			 "993: .8byte 990b, _.stapsdt.base, " semaphore "\n" \
			 ".asciz \"pilotlight\", \"" name "\", \"\"\n"       \
			 "994: .balign 4\n"                                  \
			 ".popsection\n"                                     \
			 ".ifndef _.stapsdt.base\n"                          \
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\","   \
			 ".stapsdt.base,comdat\n"                            \
			 ".weak _.stapsdt.base\n"                            \
			 ".hidden _.stapsdt.base\n"                          \
			 "_.stapsdt.base: .space 1\n"                        \
			 ".size _.stapsdt.base, 1\n"                         \
			 ".popsection\n"                                     \
			 ".endif\n")

volatile unsigned short tock_semaphore __attribute__((section(".probes"), used)) = 0;

static NOINLINE long pass_probes(size_t count)
{
	long tocks = 0;

	for (size_t i = 0; i < count; i++) {
		NOTE("tick", "0");
		if (!tock_semaphore)
			continue;
		tocks++;
		NOTE("tock", "tock_semaphore");
	}
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	return tocks;
}

int main(int argc, char **argv)
{
	const char *what = argc == 3 ? argv[1] : "";
	size_t count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (strcmp(what, "faults") == 0) {
		(void)printf("%ld\n", have_faults(count));
	} else if (strcmp(what, "switches") == 0) {
		(void)printf("%ld\n", have_switches(count));
	} else if (strcmp(what, "probes") == 0) {
		(void)printf("%ld\n", pass_probes(count));
	} else {
		(void)fprintf(stderr, "usage: counted faults|switches|probes N\n");
		return 1;
	}
	return 0;
}
