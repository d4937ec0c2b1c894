/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "abuse.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Iterations of an empty loop in a microsecond, roughly. */
enum { LOOPS_PER_US = 2000, THREADS_MAX = 64 };

void abuse_fail(const char *what)
{
	(void)fprintf(stderr, "abuse: %s: %s\n", what, strerror(errno));
	exit(1);
}

void abuse_skip(const char *why)
{
	(void)fprintf(stderr, "abuse: skipped: %s\n", why);
	exit(ABUSE_SKIPPED);
}

bool abuse_goes_on(const struct abuse *abuse)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9 < abuse->end;
}

uint64_t abuse_draw(struct abuse *abuse, uint64_t bound)
{
	abuse->random = abuse->random * 6364136223846793005u + 1442695040888963407u;
	return (abuse->random >> 20) % bound;
}

void abuse_draw_bytes(struct abuse *abuse, void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)bytes)[i] = (uint8_t)abuse_draw(abuse, 256);
}

void abuse_work(unsigned us)
{
	for (unsigned i = 0; i < us * (LOOPS_PER_US / 2); i++)
		__asm__ volatile("");
}

pid_t abuse_fork(struct abuse *abuse)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		abuse->random += (uint64_t)getpid() << 32;
	}
	return pid;
}

unsigned abuse_reap(unsigned running, unsigned allowed)
{
	while (running) {
		pid_t pid = waitpid(-1, NULL, running > allowed ? 0 : WNOHANG);

		if (pid < 0 && errno == ECHILD)
			return 0;
		if (pid <= 0)
			break;
		running--;
	}
	return running;
}

struct thread_start {
	struct abuse abuse;
	void (*function)(struct abuse *abuse);
};

static void *run_thread(void *argument)
{
	struct thread_start *start = argument;

	start->function(&start->abuse);
	return NULL;
}

void abuse_threads(struct abuse *abuse, unsigned count, void (*function)(struct abuse *abuse))
{
	struct thread_start starts[THREADS_MAX];
	pthread_t threads[THREADS_MAX];
	unsigned started = 0;

	for (; started < count && started < THREADS_MAX; started++) {
		starts[started] = (struct thread_start){ .abuse = *abuse, .function = function };
		starts[started].abuse.random += started;
		if (pthread_create(&threads[started], NULL, run_thread, &starts[started]) != 0)
			break;
	}
	for (unsigned i = 0; i < started; i++)
		(void)pthread_join(threads[i], NULL);
}

int abuse_create(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (fd < 0)
		abuse_fail(path);
	return fd;
}

void abuse_write(int fd, const void *bytes, size_t size)
{
	if (write(fd, bytes, size) != (ssize_t)size)
		abuse_fail("write");
}

/* --- generated code ----------------------------------------------------------------------------
 */

#if defined(__x86_64__)
/* void (*)(uint64_t count, void *frame): counts down to 0 with that frame pointer. */
static const uint8_t counter[] = {
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xf5, /* mov %rsi, %rbp */
	0x48, 0xff, 0xcf, /* dec %rdi */
	0x75, 0xfb,	  /* jnz to the dec */
	0x5d,		  /* pop %rbp */
	0xc3,		  /* ret */
};
#else
static const uint8_t counter[1];
#endif

_Static_assert(sizeof(counter) <= CODE_STEP, "a function fits its step");

void code_put(uint8_t *at)
{
	memcpy(at, counter, sizeof(counter));
}

void code_map(struct code *code, size_t count)
{
	uint8_t *start;

	if (sizeof(counter) == 1)
		abuse_skip("there is no code for this machine");
	start = mmap(NULL, count * CODE_STEP, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (start == MAP_FAILED)
		abuse_fail("mmap of code");
	for (size_t i = 0; i < count; i++)
		code_put(start + i * CODE_STEP);
	*code = (struct code){ .start = start, .count = count };
}

void code_run_frame(const struct code *code, size_t index, void *frame, unsigned us)
{
	((void (*)(uint64_t, void *))(void *)(code->start + index * CODE_STEP))(
		(uint64_t)us * LOOPS_PER_US, frame);
}

/* The frames are above the stack pointer of the function that runs, as real callers are. */
void code_run(struct abuse *abuse, const struct code *code, unsigned depth, unsigned us)
{
	struct {
		void *frame, *address;
	} frames[CHAIN_FRAMES + 1] = { 0 };

	if (depth > CHAIN_FRAMES)
		depth = CHAIN_FRAMES;
	for (unsigned i = 0; i < depth; i++) {
		frames[i].frame = &frames[i + 1];
		frames[i].address = code->start + abuse_draw(abuse, code->count) * CODE_STEP + 9;
	}
	code_run_frame(code, abuse_draw(abuse, code->count), frames, us);
	/* The forged frames have to stay until here. */
	__asm__ volatile("" : : "r"(frames) : "memory");
}
