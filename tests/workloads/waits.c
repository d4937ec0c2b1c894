/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waits [NAME [SECONDS]]: processes named "waits-worker" that wait in the way of NAME. At their end
 * prints how long all of them were on the CPU, blocked, and in run queues, in ms, by their own
 * clocks and the kernel's accounts of each thread, and how often those that take turns did so.
 * Without NAME lists the names.
 */
#include "work.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { WORKERS_MAX = 16, DISK_BYTES = 4096, MANY_BYTES = 1 << 20 };
#define WORKER_NAME "waits-worker"

struct times {
	double wall, cpu, delay;
};

static struct shared {
	double end; /* CLOCK_MONOTONIC */
	uint64_t cpu_ns, blocked_ns, queued_ns;
	uint64_t turns; /* of those that play */
	uint32_t turn;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	uint32_t round;
} * shared;

static int pipes[4][2], sockets[2], events[2];
static char lock_path[] = "/var/tmp/waits.XXXXXX";

static double own_delay(void)
{
	unsigned long long cpu, delay = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "re");

	if (file && fscanf(file, "%llu %llu", &cpu, &delay) != 2)
		delay = 0;
	if (file)
		(void)fclose(file);
	return (double)delay * 1e-9;
}

/* All of one turn on the CPU. */
static void read_times(struct times *times)
{
	do {
		times->delay = own_delay();
		times->cpu = now_seconds(CLOCK_THREAD_CPUTIME_ID);
		times->wall = now_seconds(CLOCK_MONOTONIC);
	} while (own_delay() != times->delay);
}

/* Of the whole life of a new thread, which has not blocked yet. */
static void begin_life(struct times *begin)
{
	read_times(begin);
	begin->wall -= begin->cpu + begin->delay;
	begin->cpu = begin->delay = 0;
}

static void add_times(const struct times *begin)
{
	struct times now;
	double wall, cpu, delay;

	read_times(&now);
	wall = now.wall - begin->wall;
	cpu = now.cpu - begin->cpu;
	delay = now.delay - begin->delay;
	__atomic_fetch_add(&shared->cpu_ns, (uint64_t)(cpu * 1e9), __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->queued_ns, (uint64_t)(delay * 1e9), __ATOMIC_RELAXED);
	__atomic_fetch_add(
		&shared->blocked_ns, (uint64_t)((wall - cpu - delay) * 1e9), __ATOMIC_RELAXED);
}

static bool goes_on(void)
{
	return now_seconds(CLOCK_MONOTONIC) < shared->end;
}

static void sleep_ns(long ns)
{
	const struct timespec time = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	(void)nanosleep(&time, NULL);
}

static void run_on(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	(void)sched_setaffinity(0, sizeof(cpus), &cpus);
}

/* --- the ways --- */

static void sleep_100ms(unsigned number)
{
	while (goes_on())
		sleep_ns(100000000);
}

static void sleep_1ms(unsigned number)
{
	while (goes_on())
		sleep_ns(1000000);
}

static void sleep_20us(unsigned number)
{
	while (goes_on())
		sleep_ns(20000);
}

static void work_and_sleep(unsigned number)
{
	while (goes_on()) {
		keep(work_units(2500, number));
		sleep_ns(1000000);
	}
}

/* Two play; the second one answers. */
static void play(int in, int out, unsigned number)
{
	char byte = 0;

	for (;;) {
		if (number == 0) {
			__atomic_fetch_add(&shared->turns, 2, __ATOMIC_RELAXED);
			byte = !goes_on();
			if (write(out, &byte, 1) != 1 || byte)
				return;
		}
		if (read(in, &byte, 1) != 1)
			return;
		if (number == 1 && (byte || write(out, &byte, 1) != 1))
			return;
	}
}

static void pipe_pair(unsigned number)
{
	play(pipes[!number][0], pipes[number][1], number);
}

/* A pair on each of two CPUs: as many switches as there can be. */
static void pipes_on_cpus(unsigned number)
{
	unsigned pair = number / 2 * 2;

	run_on((int)(number / 2));
	play(pipes[pair + !(number & 1)][0], pipes[pair + (number & 1)][1], number & 1);
}

static void socket_pair(unsigned number)
{
	play(sockets[number], sockets[number], number);
}

static void futex(uint32_t *word, int operation, uint32_t value)
{
	(void)syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static void futex_pair(unsigned number)
{
	for (;;) {
		uint32_t turn = __atomic_load_n(&shared->turn, __ATOMIC_ACQUIRE);

		if (turn == 2)
			return;
		if (turn != number) {
			futex(&shared->turn, FUTEX_WAIT, turn);
			continue;
		}
		__atomic_store_n(&shared->turn, goes_on() ? !number : 2U, __ATOMIC_RELEASE);
		futex(&shared->turn, FUTEX_WAKE, 1);
	}
}

static void mutex_storm(unsigned number)
{
	while (goes_on()) {
		(void)pthread_mutex_lock(&shared->mutex);
		keep(work_units(50, number));
		(void)pthread_mutex_unlock(&shared->mutex);
	}
}

/* The first one wakes all others. */
static void broadcast(unsigned number)
{
	uint32_t round = 0;

	while (goes_on()) {
		if (number == 0)
			sleep_ns(500000);
		(void)pthread_mutex_lock(&shared->mutex);
		if (number == 0) {
			shared->round++;
			(void)pthread_cond_broadcast(&shared->changed);
		} else {
			while (shared->round == round && goes_on())
				(void)pthread_cond_wait(&shared->changed, &shared->mutex);
			round = shared->round;
		}
		(void)pthread_mutex_unlock(&shared->mutex);
	}
	(void)pthread_cond_broadcast(&shared->changed);
}

static void poll_timeout(unsigned number)
{
	struct pollfd waited = { .fd = pipes[0][0], .events = POLLIN };

	while (goes_on())
		(void)poll(&waited, 1, 3);
}

static void epoll_events(unsigned number)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC);
	uint64_t value = 1;

	if (fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, events[number], &event) < 0)
		exit(1);
	while (goes_on()) {
		(void)write(events[!number], &value, sizeof(value));
		if (epoll_wait(fd, &event, 1, 100) == 1)
			(void)read(events[number], &value, sizeof(value));
	}
	(void)write(events[!number], &value, sizeof(value));
}

static int open_file(int flags)
{
	char path[] = "/var/tmp/waits-file.XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC | flags);

	if (fd < 0 || unlink(path) < 0)
		exit(1);
	return fd;
}

static void disk_fsync(unsigned number)
{
	static char bytes[DISK_BYTES];
	int fd = open_file(0);

	while (goes_on())
		if (pwrite(fd, bytes, sizeof(bytes), 0) != sizeof(bytes) || fsync(fd) < 0)
			exit(1);
}

static void disk_read(unsigned number)
{
	static _Alignas(DISK_BYTES) char bytes[DISK_BYTES];
	int fd = open_file(O_DIRECT);
	off_t at = 0;

	for (int i = 0; i < 256; i++)
		if (pwrite(fd, bytes, sizeof(bytes), (off_t)i * DISK_BYTES) != sizeof(bytes))
			exit(1);
	while (goes_on()) {
		if (pread(fd, bytes, sizeof(bytes), at) != sizeof(bytes))
			exit(1);
		at = (at + 7 * DISK_BYTES) % (256 * DISK_BYTES);
	}
}

static void file_lock(unsigned number)
{
	int fd = open(lock_path, O_RDWR | O_CLOEXEC);

	while (goes_on()) {
		(void)flock(fd, LOCK_EX);
		sleep_ns(1000000);
		(void)flock(fd, LOCK_UN);
	}
}

/* A page fault or a mapping waits for another one's change of the same memory: threads of one
 * process. */
static void *map_and_unmap(void *argument)
{
	struct times begin;

	(void)prctl(PR_SET_NAME, WORKER_NAME);
	begin_life(&begin);
	while (goes_on()) {
		char *bytes = mmap(NULL, MANY_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (bytes == MAP_FAILED || munmap(bytes, MANY_BYTES) < 0)
			exit(1);
	}
	add_times(&begin);
	return NULL;
}

static void run_threads(void *(*function)(void *), unsigned count)
{
	pthread_t threads[WORKERS_MAX];

	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, function, NULL))
			exit(1);
	for (unsigned i = 0; i < count; i++)
		(void)pthread_join(threads[i], NULL);
}

static void memory_maps(unsigned number)
{
	run_threads(map_and_unmap, 4);
}

static void *live_shortly(void *argument)
{
	struct times begin;

	begin_life(&begin);
	sleep_ns(300000);
	add_times(&begin);
	return NULL;
}

static void thread_storm(unsigned number)
{
	while (goes_on())
		run_threads(live_shortly, 4);
}

static void fork_storm(unsigned number)
{
	while (goes_on()) {
		pid_t pid = fork();
		struct times begin;

		if (pid == 0) {
			begin_life(&begin);
			sleep_ns(300000);
			add_times(&begin);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			exit(1);
	}
}

static void fight(unsigned number)
{
	run_on(0);
	while (goes_on())
		keep(work_units(100, number));
}

static void yield(unsigned number)
{
	run_on(0);
	while (goes_on()) {
		keep(work_units(10, number));
		(void)sched_yield();
	}
}

/* Run in a control group with a quota. */
static void spin(unsigned number)
{
	while (goes_on())
		keep(work_units(100, number));
}

static void stopped(unsigned number)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_NAME, "waits-stopper");
		while (goes_on()) {
			(void)kill(parent, SIGSTOP);
			sleep_ns(20000000);
			(void)kill(parent, SIGCONT);
			sleep_ns(5000000);
		}
		_exit(0);
	}
	while (goes_on())
		keep(work_units(100, number));
	(void)waitpid(pid, NULL, 0);
}

static const struct way {
	const char *name;
	void (*run)(unsigned number);
	unsigned workers;
} ways[] = {
	{ "sleep-100ms", sleep_100ms, 1 },
	{ "sleep-1ms", sleep_1ms, 2 },
	{ "sleep-20us", sleep_20us, 2 },
	{ "work-and-sleep", work_and_sleep, 2 },
	{ "pipe", pipe_pair, 2 },
	{ "pipes-on-cpus", pipes_on_cpus, 4 },
	{ "socket", socket_pair, 2 },
	{ "futex", futex_pair, 2 },
	{ "mutex-storm", mutex_storm, 16 },
	{ "broadcast", broadcast, 8 },
	{ "poll", poll_timeout, 2 },
	{ "epoll", epoll_events, 2 },
	{ "disk-fsync", disk_fsync, 1 },
	{ "disk-read", disk_read, 2 },
	{ "file-lock", file_lock, 4 },
	{ "memory-maps", memory_maps, 1 },
	{ "thread-storm", thread_storm, 1 },
	{ "fork-storm", fork_storm, 1 },
	{ "fight", fight, 3 },
	{ "yield", yield, 2 },
	{ "spin", spin, 1 },
	{ "stopped", stopped, 1 },
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static void prepare(void)
{
	pthread_mutexattr_t mutex;
	pthread_condattr_t changed;
	int fd = mkostemp(lock_path, O_CLOEXEC);

	shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0)
		exit(1);
	for (int i = 0; i < 4; i++)
		if (pipe2(pipes[i], O_CLOEXEC) < 0)
			exit(1);
	for (int i = 0; i < 2; i++)
		events[i] = eventfd(0, EFD_CLOEXEC);
	(void)pthread_mutexattr_init(&mutex);
	(void)pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
	(void)pthread_mutex_init(&shared->mutex, &mutex);
	(void)pthread_condattr_init(&changed);
	(void)pthread_condattr_setpshared(&changed, PTHREAD_PROCESS_SHARED);
	(void)pthread_cond_init(&shared->changed, &changed);
}

static void run_worker(const struct way *way, unsigned number)
{
	struct times begin;

	(void)prctl(PR_SET_NAME, WORKER_NAME);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGPIPE, SIG_IGN);
	begin_life(&begin);
	way->run(number);
	add_times(&begin);
}

int main(int argc, char **argv)
{
	const struct way *way = NULL;

	for (size_t i = 0; i < WAYS; i++) {
		if (argc < 2)
			(void)puts(ways[i].name);
		else if (strcmp(argv[1], ways[i].name) == 0)
			way = &ways[i];
	}
	if (argc < 2)
		return 0;
	if (!way) {
		(void)fprintf(stderr, "waits: no way is called '%s'\n", argv[1]);
		return 2;
	}
	prepare();
	shared->end = now_seconds(CLOCK_MONOTONIC) + number_argument(argc, argv, 2, 5);
	for (unsigned i = 0; i < way->workers; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid == 0) {
			run_worker(way, i);
			return 0;
		}
	}
	for (unsigned i = 0; i < way->workers; i++) {
		int status;

		if (wait(&status) < 0 || status != 0)
			return 1;
	}
	(void)unlink(lock_path);
	(void)printf("cpu %.3f blocked %.3f queued %.3f turns %llu\n",
		(double)shared->cpu_ns * 1e-6, (double)shared->blocked_ns * 1e-6,
		(double)shared->queued_ns * 1e-6, (unsigned long long)shared->turns);
	return 0;
}
