/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files are believed, as root with a process of another user that has namespaces and a /tmp
 * of its own.
 */
#include "jit/jit_file.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOBODY = 65534, SOMEBODY = 1234, PAGE = 4096 };

static const struct broker_process nobody_else = { .pid = 0 };

static uint64_t boottime_ns(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &now), 0);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static uint64_t tick_ns(void)
{
	return NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
}

/*
 * A process of another user, pid 1 in namespaces of its own, with files in a /tmp of its own that
 * can be reached as `tmp`. It lives until `life` is closed.
 */
struct guest {
	struct broker *broker;
	struct broker_process process;
	struct jit_process_facts facts;
	char tmp[64];
	void *own, *of_root, *secret; /* where it maps its markers: jit-1, jit-2 and jit-3.dump */
	int life;
	pid_t parent;
};

struct news {
	int error;
	const char *failed;
	pid_t pid;
	void *own, *of_root, *secret;
};

#define GUEST_COMM ") S 1 2\n3"

static int make_file(const char *path, const char *text, uid_t owner, mode_t mode)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);

	/* With O_CREAT root cannot open another user's file in /tmp (fs.protected_regular). */
	if (fd < 0)
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
		fchown(fd, owner, owner) < 0 || fchmod(fd, mode) < 0)
		return -1;
	return 0;
}

static void *map_marker(int fd)
{
	return mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
}

/* It opens what it may not read while it is root still. */
static const char *become_guest(struct news *news)
{
	int secret;

	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("none", "/tmp", "tmpfs", 0, "mode=1777") < 0)
		return "a /tmp of its own";
	if (make_file("/tmp/jit-1.dump", "", NOBODY, 0600) < 0 ||
		make_file("/tmp/jit-2.dump", "DTiJ of root\n", 0, 0644) < 0 ||
		make_file("/tmp/jit-3.dump", "secret\n", 0, 0600) < 0)
		return "files";
	secret = open("/tmp/jit-3.dump", O_RDONLY | O_CLOEXEC);
	if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		return "another user";
	news->own = map_marker(open("/tmp/jit-1.dump", O_RDONLY | O_CLOEXEC));
	news->of_root = map_marker(open("/tmp/jit-2.dump", O_RDONLY | O_CLOEXEC));
	news->secret = map_marker(secret);
	if (news->own == MAP_FAILED || news->of_root == MAP_FAILED || news->secret == MAP_FAILED)
		return "mappings";
	return prctl(PR_SET_NAME, GUEST_COMM) < 0 ? "a name" : NULL;
}

static void live_as_guest(int news_fd, int life)
{
	struct news news = { .pid = 1 };
	char byte;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	news.failed = become_guest(&news);
	news.error = news.failed ? errno : 0;
	if (write(news_fd, &news, sizeof(news)) == sizeof(news))
		(void)!read(life, &byte, 1);
	_exit(0);
}

/* The pid is told by who sees it from outside. Where there is no time namespace it goes without. */
static void live_as_parent(int news_fd, int life, bool has_time)
{
	struct news news = { 0 };
	int offsets;
	pid_t pid;

	if (unshare(CLONE_NEWNS | CLONE_NEWPID | (has_time ? CLONE_NEWTIME : 0)) < 0) {
		news.failed = "namespaces";
		news.error = errno;
	} else if (has_time) {
		offsets = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
		if (offsets < 0 || write(offsets, "monotonic -1 500000000\n", 23) != 23) {
			news.failed = "a clock of its own";
			news.error = errno;
		}
	}
	pid = news.error ? 0 : fork();
	if (pid == 0 && !news.error)
		live_as_guest(news_fd, life);
	news.pid = pid;
	(void)!write(news_fd, &news, sizeof(news));
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	_exit(0);
}

/* Pointers to literals are the same on both sides of a fork. */
static void take_news(struct guest *guest, int news_fd, struct news *ret_failed)
{
	struct news news;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(read(news_fd, &news, sizeof(news)), sizeof(news));
		if (news.error) {
			*ret_failed = news;
			return;
		}
		if (news.own) {
			guest->own = news.own;
			guest->of_root = news.of_root;
			guest->secret = news.secret;
		} else {
			guest->process.pid = news.pid;
		}
	}
}

static void end_guest(struct guest *guest)
{
	assert_int_equal(close(guest->life), 0);
	assert_int_equal(waitpid(guest->parent, NULL, 0), guest->parent);
}

static void start_guest(struct guest *guest, bool has_time, struct news *ret_failed)
{
	int news_pipe[2], life_pipe[2];

	assert_int_equal(pipe2(news_pipe, O_CLOEXEC), 0);
	assert_int_equal(pipe2(life_pipe, O_CLOEXEC), 0);
	guest->parent = fork();
	assert_true(guest->parent >= 0);
	if (guest->parent == 0) {
		(void)close(life_pipe[1]);
		live_as_parent(news_pipe[1], life_pipe[0], has_time);
	}
	guest->life = life_pipe[1];
	assert_int_equal(close(life_pipe[0]), 0);
	assert_int_equal(close(news_pipe[1]), 0);
	take_news(guest, news_pipe[0], ret_failed);
	assert_int_equal(close(news_pipe[0]), 0);
	if (ret_failed->error)
		end_guest(guest);
}

static int set_up_guest(void **state)
{
	struct guest *guest = calloc(1, sizeof(*guest));
	struct news failed = { 0 };

	assert_non_null(guest);
	*state = guest;
	assert_int_equal(broker_new(NULL, &guest->broker), 0);
	start_guest(guest, true, &failed);
	if (failed.error) {
		failed = (struct news){ 0 };
		start_guest(guest, false, &failed);
	}
	if (failed.error) {
		print_message(
			"skipped: needs root, for %s: %s\n", failed.failed, strerror(failed.error));
		guest->process.pid = 0;
		return 0;
	}
	(void)snprintf(guest->tmp, sizeof(guest->tmp), "/proc/%d/root/tmp", guest->process.pid);
	assert_int_equal(jit_file_read_facts(guest->broker, &guest->process, &guest->facts), 0);
	guest->process.start_ns = guest->facts.start_ns;
	return 0;
}

static int tear_down_guest(void **state)
{
	struct guest *guest = *state;

	if (guest->process.pid > 0)
		end_guest(guest);
	broker_free(guest->broker);
	free(guest);
	return 0;
}

#define NEED_GUEST(guest)                      \
	do {                                   \
		if ((guest)->process.pid <= 0) \
			skip();                \
	} while (0)

static const char *path_of(const struct guest *guest, const char *name, char path[128])
{
	(void)snprintf(path, 128, "%s/%s", guest->tmp, name);
	return path;
}

static void put(
	const struct guest *guest, const char *name, const char *text, uid_t owner, mode_t mode)
{
	char path[128];

	assert_int_equal(make_file(path_of(guest, name, path), text, owner, mode), 0);
}

static void drop(const struct guest *guest, const char *name)
{
	char path[128];

	assert_int_equal(unlink(path_of(guest, name, path)), 0);
}

static int open_perf_map(const struct guest *guest, int *ret_fd)
{
	return jit_file_open_perf_map(
		guest->broker, &guest->process, &nobody_else, &guest->facts, ret_fd);
}

/* Takes the map that it has put there, whatever it is. */
static void assert_perf_map_is(const struct guest *guest, int result)
{
	int fd = -7;

	assert_int_equal(open_perf_map(guest, &fd), result);
	if (result == 0)
		assert_int_equal(close(fd), 0);
	else
		assert_int_equal(fd, -7);
	drop(guest, "perf-1.map");
}

static int open_marker(const struct guest *guest, void *at, const char *path, int *ret_fd)
{
	const struct jit_marker marker = {
		.start = (uintptr_t)at,
		.end = (uintptr_t)at + PAGE,
		.path = path,
	};

	return jit_file_open_jitdump(
		guest->broker, &guest->process, &marker, &guest->facts, ret_fd);
}

static void assert_reads(int fd, const char *text)
{
	char bytes[64] = "";

	assert_true(pread(fd, bytes, sizeof(bytes) - 1, 0) >= 0);
	assert_string_equal(bytes, text);
}

static void facts_of_a_container_are_read(void **state)
{
	struct guest *guest = *state;
	struct broker_process later = guest->process;
	struct jit_process_facts facts;
	char path[64];
	uint64_t now_ns = boottime_ns();

	NEED_GUEST(guest);
	assert_int_equal(guest->facts.uid, NOBODY);
	assert_int_equal(guest->facts.ns_pid, 1);
	assert_string_equal(guest->facts.comm, GUEST_COMM);
	assert_in_range(guest->facts.start_ns, now_ns - 60ULL * NSEC_PER_SEC, now_ns);
	assert_in_range(guest->facts.start_realtime_s, time(NULL) - 60, time(NULL));
	later.start_ns += 5 * tick_ns();
	assert_int_equal(jit_file_read_facts(guest->broker, &later, &facts), -ESRCH);
	(void)snprintf(path, sizeof(path), "/proc/%d/timens_offsets", guest->process.pid);
	if (access(path, F_OK) == 0)
		assert_int_equal(guest->facts.monotonic_offset_ns, -500000000);
	else
		assert_int_equal(guest->facts.monotonic_offset_ns, 0);
}

static void maps_of_the_process_and_of_root_are_believed(void **state)
{
	struct guest *guest = *state;
	int fd = -7;

	NEED_GUEST(guest);
	assert_int_equal(open_perf_map(guest, &fd), -ENOENT);
	put(guest, "perf-1.map", "1 2 a\n", NOBODY, 0600);
	assert_int_equal(open_perf_map(guest, &fd), 0);
	assert_reads(fd, "1 2 a\n");
	assert_int_equal(close(fd), 0);
	drop(guest, "perf-1.map");
	put(guest, "perf-1.map", "", NOBODY, 0000);
	assert_perf_map_is(guest, 0);
	put(guest, "perf-1.map", "", 0, 0644);
	assert_perf_map_is(guest, 0);
	put(guest, "perf-1.map", "", 0, 0640);
	assert_perf_map_is(guest, -EPERM);
	put(guest, "perf-1.map", "", SOMEBODY, 0666);
	assert_perf_map_is(guest, -EPERM);
}

static void links_and_special_files_are_refused(void **state)
{
	struct guest *guest = *state;
	char path[128], other[128];

	NEED_GUEST(guest);
	path_of(guest, "perf-1.map", path);
	put(guest, "other", "other\n", SOMEBODY, 0644);
	put(guest, "own", "own\n", NOBODY, 0644);
	assert_int_equal(symlink("/etc/shadow", path), 0);
	assert_perf_map_is(guest, -ELOOP);
	assert_int_equal(symlink("own", path), 0);
	assert_perf_map_is(guest, -ELOOP);
	assert_int_equal(link(path_of(guest, "other", other), path), 0);
	assert_perf_map_is(guest, -EPERM);
	assert_int_equal(link(path_of(guest, "own", other), path), 0);
	assert_perf_map_is(guest, -EMLINK);
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(chown(path, NOBODY, NOBODY), 0);
	assert_perf_map_is(guest, -EINVAL);
	if (mknod(path, S_IFCHR | 0666, makedev(1, 3)) == 0)
		assert_perf_map_is(guest, -EINVAL);
	drop(guest, "own");
	drop(guest, "other");
}

static void maps_of_an_earlier_process_are_refused(void **state)
{
	static const struct {
		int64_t seconds;
		int result;
	} cases[] = { { 0, 0 }, { 5, 0 }, { -1, 0 }, { -2, -ESTALE }, { -100000, -ESTALE } };
	struct guest *guest = *state;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };
	char path[128];

	NEED_GUEST(guest);
	path_of(guest, "perf-1.map", path);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put(guest, "perf-1.map", "1 2 a\n", NOBODY, 0600);
		times[1].tv_sec = (time_t)guest->facts.start_realtime_s + cases[i].seconds;
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
		assert_perf_map_is(guest, cases[i].result);
	}
}

static void a_swapped_map_stays_what_it_was(void **state)
{
	struct guest *guest = *state;
	char path[128], other[128];
	int fd = -1;

	NEED_GUEST(guest);
	put(guest, "perf-1.map", "1 2 first\n", NOBODY, 0600);
	put(guest, "other", "other\n", SOMEBODY, 0600);
	assert_int_equal(open_perf_map(guest, &fd), 0);
	assert_int_equal(
		rename(path_of(guest, "other", other), path_of(guest, "perf-1.map", path)), 0);
	assert_reads(fd, "1 2 first\n");
	assert_int_equal(jit_file_check(fd, JIT_FILE_PERF_MAP, &guest->facts), 0);
	assert_int_equal(close(fd), 0);
	assert_perf_map_is(guest, -EPERM);
}

static void markers_open_the_mapped_file(void **state)
{
	struct guest *guest = *state;
	char path[128], other[128];
	int fd = -7, r;
	struct jit_marker marker;

	NEED_GUEST(guest);
	r = open_marker(guest, guest->own, NULL, &fd);
	if (r == -EPERM || r == -EACCES) {
		print_message("skipped: /proc/PID/map_files: %s\n", strerror(-r));
		skip();
	}
	assert_int_equal(r, 0);
	assert_reads(fd, "");
	assert_int_equal(close(fd), 0);
	put(guest, "other", "DTiJ other\n", NOBODY, 0600);
	put(guest, "jit-1.dump", "DTiJ a dump\n", NOBODY, 0600);
	assert_int_equal(
		rename(path_of(guest, "other", other), path_of(guest, "jit-1.dump", path)), 0);
	assert_int_equal(open_marker(guest, guest->own, "/tmp/jit-1.dump", &fd), 0);
	assert_reads(fd, "DTiJ a dump\n");
	assert_int_equal(close(fd), 0);
	assert_int_equal(open_marker(guest, guest->of_root, NULL, &fd), 0);
	assert_reads(fd, "DTiJ of root\n");
	assert_int_equal(close(fd), 0);
	fd = -7;
	assert_int_equal(open_marker(guest, guest->secret, "/tmp/jit-1.dump", &fd), -EPERM);
	assert_int_equal(open_marker(guest, NULL, "/tmp/jit-3.dump", &fd), -EPERM);
	assert_int_equal(open_marker(guest, NULL, "/tmp/nothing", &fd), -ENOENT);
	assert_int_equal(fd, -7);
	marker = (struct jit_marker){ .path = "/tmp/jit-1.dump" };
	assert_int_equal(
		jit_file_open_jitdump(guest->broker, &guest->process, &marker, &guest->facts, &fd),
		0);
	assert_reads(fd, "DTiJ other\n");
	assert_int_equal(close(fd), 0);
}

#define WITH_GUEST(test) cmocka_unit_test_setup_teardown(test, set_up_guest, tear_down_guest)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_GUEST(facts_of_a_container_are_read),
		WITH_GUEST(maps_of_the_process_and_of_root_are_believed),
		WITH_GUEST(links_and_special_files_are_refused),
		WITH_GUEST(maps_of_an_earlier_process_are_refused),
		WITH_GUEST(a_swapped_map_stays_what_it_was),
		WITH_GUEST(markers_open_the_mapped_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
