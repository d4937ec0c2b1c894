/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code outside of the program: in libraries that are loaded and unloaded, the PLT, the vdso, the
 * kernel, anonymous memory and another process. The libraries are in the program's folder.
 */
#include "chains.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	LEAVES_A_LOAD = 30,
	TURNS = 10000,
	READ_BYTES = 64 << 10,
	TOUCHED_BYTES = 4 << 20,
	PAGE = 4096,
	COPIES = 1000,
};

unsigned tiny_of_library(unsigned value);

typedef void (*library_function)(void (*work)(void));

/* --- libraries ---------------------------------------------------------------------------------
 */

static void *open_library(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);

	if (!library)
		(void)fprintf(stderr, "%s\n", dlerror());
	must(library, path);
	return library;
}

static library_function find_function(void *library, const char *name)
{
	library_function function = (library_function)(uintptr_t)dlsym(library, name);

	must(function, name);
	return function;
}

FRAME static void use_library(const char *path, const char *name)
{
	void *library = open_library(path);
	library_function function = find_function(library, name);

	for (unsigned i = 0; i < LEAVES_A_LOAD; i++)
		function(leaf);
	must(dlclose(library) == 0, path);
}

FRAME static void libraries(void)
{
	while (goes_on()) {
		use_library("$ORIGIN/library_a.so", "library_a");
		use_library("$ORIGIN/library_b.so", "library_b");
	}
}

FRAME static void plt_hot(void)
{
	unsigned value = 1;

	while (goes_on())
		for (unsigned i = 0; i < TURNS; i++)
			value = tiny_of_library(value);
}

FRAME static void bind_all(void)
{
	void *library = open_library("$ORIGIN/lazy.so");

	((void (*)(void))find_function(library, "call_all"))();
	must(dlclose(library) == 0, "lazy.so");
}

FRAME static void plt_lazy(void)
{
	while (goes_on())
		bind_all();
}

/* --- the kernel --------------------------------------------------------------------------------
 */

FRAME static void vdso(void)
{
	struct timespec now;

	while (goes_on())
		for (unsigned i = 0; i < TURNS; i++)
			(void)clock_gettime(CLOCK_MONOTONIC, &now);
}

FRAME static void system_calls(void)
{
	static char bytes[READ_BYTES];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	must(fd >= 0, "/dev/zero");
	while (goes_on())
		for (unsigned i = 0; i < 100; i++)
			must(read(fd, bytes, sizeof(bytes)) == sizeof(bytes), "read");
	(void)close(fd);
}

FRAME static void touch(char *memory)
{
	for (size_t i = 0; i < TOUCHED_BYTES; i += PAGE)
		memory[i] = 1;
	AFTER_CALL();
}

FRAME static void page_faults(void)
{
	while (goes_on()) {
		char *memory = mmap(NULL, TOUCHED_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		must(memory != MAP_FAILED, "mmap");
		(void)madvise(memory, TOUCHED_BYTES, MADV_NOHUGEPAGE);
		touch(memory);
		must(munmap(memory, TOUCHED_BYTES) == 0, "munmap");
	}
}

FRAME static void child(double seconds)
{
	struct timespec used;

	do {
		leaf();
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while ((double)used.tv_sec + (double)used.tv_nsec * 1e-9 < seconds);
}

/* The parent only forks and waits, so its own CPU time would last too long. */
FRAME static void forks(void)
{
	static const double child_seconds = 0.07;
	unsigned count = (unsigned)(seconds_of_case / child_seconds + 0.5);

	for (unsigned i = 0; i < count; i++) {
		pid_t pid = fork();

		must(pid >= 0, "fork");
		if (pid == 0) {
			child(child_seconds);
			_exit(0);
		}
		must(waitpid(pid, NULL, 0) == pid, "waitpid");
	}
}

/* --- generated code ----------------------------------------------------------------------------
 */

/* void (*)(void (*work)(void)) */
static const uint8_t generated_code[] = {
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0xff, 0xd7,	  /* call *%rdi */
	0x5d,		  /* pop %rbp */
	0xc3,		  /* ret */
};

FRAME static void called_back(void)
{
	char frame[600];

	/* Uses the frame pointer's register for something else. */
	__asm__ volatile("" : : : "rbx", "rbp");
	ON_STACK(frame);
	leaf();
	AFTER_CALL();
}

FRAME static void run_generated(int flags, int fd)
{
	void *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, flags, fd, 0);

	must(memory != MAP_FAILED, "mmap");
	memcpy(memory, generated_code, sizeof(generated_code));
	while (goes_on())
		((library_function)(uintptr_t)memory)(called_back);
	must(munmap(memory, PAGE) == 0, "munmap");
}

FRAME static void generated(void)
{
	run_generated(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	AFTER_CALL();
}

/* Like runtimes that map their code twice, to write one mapping and run the other. */
FRAME static void generated_memfd(void)
{
	int fd = memfd_create("generated", MFD_CLOEXEC);

	must(fd >= 0 && ftruncate(fd, PAGE) == 0, "memfd_create");
	run_generated(MAP_SHARED, fd);
	must(close(fd) == 0, "close");
}

FRAME static void generated_shared(void)
{
	run_generated(MAP_SHARED | MAP_ANONYMOUS, -1);
	AFTER_CALL();
}

/* --- many mappings, changing mappings ----------------------------------------------------------
 */

static volatile bool is_over;

/* Maps and unmaps code of the program's own file. */
static void *churn(void *unused)
{
	int fd;

	(void)pthread_setname_np(pthread_self(), "churn");
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	must(fd >= 0, "/proc/self/exe");
	while (!is_over) {
		void *some[8];

		for (int i = 0; i < 8; i++) {
			some[i] = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
				(off_t)PAGE * (i & 1));
			must(some[i] != MAP_FAILED, "mmap");
		}
		for (int i = 0; i < 8; i++)
			must(munmap(some[i], PAGE) == 0, "munmap");
	}
	(void)close(fd);
	return unused;
}

FRAME static void beside_churn(void)
{
	leaf();
	AFTER_CALL();
}

FRAME static void churned(void)
{
	pthread_t thread;

	is_over = false;
	must(pthread_create(&thread, NULL, churn, NULL) == 0, "pthread_create");
	while (goes_on())
		beside_churn();
	is_over = true;
	must(pthread_join(thread, NULL) == 0, "pthread_join");
}

static void copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat stat;

	must(in >= 0 && fstat(in, &stat) == 0, from);
	must(out >= 0 && sendfile(out, in, NULL, (size_t)stat.st_size) == stat.st_size, to);
	(void)close(in);
	(void)close(out);
}

/* Many libraries, each in its own file, made once. */
static library_function open_copies(const char *name)
{
	char program[PATH_MAX], from[PATH_MAX + 32], to[PATH_MAX + 32];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	library_function function = NULL;

	must(length > 0, "/proc/self/exe");
	program[length] = '\0';
	*strrchr(program, '/') = '\0';
	(void)snprintf(from, sizeof(from), "%s/library_a.so", program);
	for (unsigned i = 0; i < COPIES; i++) {
		(void)snprintf(to, sizeof(to), "%s/copy-%u.so", program, i);
		if (access(to, F_OK) < 0)
			copy_file(from, to);
		function = find_function(open_library(to), name);
	}
	return function;
}

FRAME static void in_last_copy(library_function function)
{
	function(leaf);
	AFTER_CALL();
}

FRAME static void thousand(void)
{
	library_function function = open_copies("library_a");

	while (goes_on())
		in_last_copy(function);
}

const struct chain_case chain_cases[] = {
	{ "libraries", libraries },
	{ "plt_hot", plt_hot },
	{ "plt_lazy", plt_lazy },
	{ "vdso", vdso },
	{ "system_calls", system_calls },
	{ "page_faults", page_faults },
	{ "forks", forks },
	{ "generated", generated },
	{ "generated_memfd", generated_memfd },
	{ "generated_shared", generated_shared },
	{ "churned", churned },
	{ "thousand", thousand },
	{ NULL, NULL },
};
