/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/file_opener.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

enum {
	SOCKET_NUMBER = 3,
	CONTROL_NUMBER,
	TIMER_NUMBER,
	NUMBERS,
	/* Descriptors are parked here while the fixed numbers are filled. */
	SPARE_NUMBER_MIN = NUMBERS,

	/* A killed process that does not hang in a file system ends sooner. */
	KILL_WAIT_MS = 100,
	DONE_WAIT_MS = 500,
	IDLE_MS = 30000,
	/* Each divides the timeout by four. */
	SHORTENINGS_MAX = 2,

	EXIT_IDLE = 0,
	EXIT_FAILED = 1,
};

static const uint64_t ms_ns = NSEC_PER_SEC / 1000;
static const uint64_t life_ns = 60ULL * NSEC_PER_SEC;
static const uint64_t remembered_ns = 60ULL * NSEC_PER_SEC;

/* For files of other users' processes, any file, map_files/, and the kernel's symbols. */
static const int capabilities[] = { CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE,
	CAP_SYSLOG };

static const struct file_opener_process no_process = { .pidfd = -1 };

static void close_fd(int *fd)
{
	closep(fd);
	*fd = -1;
}

static int watch(const struct file_opener *opener, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(opener->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* If a process cannot be watched, its end is noticed at the next event. */
static void adopt_lost(struct file_opener *opener)
{
	for (size_t i = 0; i < opener->lost->count; i++) {
		struct file_opener_process *process = &opener->processes[i];

		process->pid = opener->lost->pids[i];
		process->pidfd = pidfd_open(process->pid, 0);
		if (process->pidfd >= 0)
			(void)watch(opener, process->pidfd);
	}
	opener->lost->count = 0;
}

void file_opener_init(struct file_opener *opener, int epoll_fd, uint64_t timeout_ns,
	struct file_opener_lost *lost)
{
	*opener = (struct file_opener){
		.epoll_fd = epoll_fd,
		.timer_fd = -1,
		.control_fd = -1,
		.timeout_ns = timeout_ns,
		.lost = lost,
	};
	for (size_t i = 0; i < FILE_OPENERS_MAX; i++)
		opener->processes[i] = no_process;
	if (lost)
		adopt_lost(opener);
}

/* The timeouts that shorten the next request's time. */
static unsigned int recent_timeouts(const struct file_opener *opener)
{
	const uint64_t age_ns = clock_monotonic_ns() - opener->first_timeout_ns;

	return age_ns < remembered_ns ? opener->timeouts : 0;
}

/* --- in the new process ------------------------------------------------------------------------
 */

/* The time that a request gets now. */
static uint64_t request_time_ns(const struct file_opener *opener)
{
	return opener->timeout_ns >> (2 * recent_timeouts(opener));
}

static int set_timer(const struct file_opener *opener, uint64_t time_ns)
{
	const struct itimerspec timer = {
		.it_value = { .tv_sec = (time_t)(time_ns / NSEC_PER_SEC),
			.tv_nsec = (long)(time_ns % NSEC_PER_SEC) },
	};

	return timerfd_settime(opener->timer_fd, 0, &timer, NULL) < 0 ? -errno : 0;
}

int file_opener_begin(const struct file_opener *opener)
{
	return set_timer(opener, request_time_ns(opener));
}

void file_opener_end(const struct file_opener *opener)
{
	(void)set_timer(opener, 0);
}

int file_opener_hand_over(const struct file_opener *opener)
{
	char byte = 0;
	ssize_t size;

	if (send(opener->control_fd, &byte, 1, MSG_NOSIGNAL) < 0)
		return -EPIPE;
	do
		size = recv(opener->control_fd, &byte, 1, 0);
	while (size < 0 && errno == EINTR);
	return size == 1 ? 0 : -EPIPE;
}

/*
 * Keeps the descriptors that the opener needs and closes all others, above all those of the
 * sampler. The standard descriptors become /dev/null.
 */
static int place_descriptors(struct file_opener *opener, int control_fd, int socket_fd)
{
	const int fds[] = { [SOCKET_NUMBER] = socket_fd,
		[CONTROL_NUMBER] = control_fd,
		[TIMER_NUMBER] = opener->timer_fd };
	int empty_fd = open("/dev/null", O_RDWR | O_CLOEXEC), spares[NUMBERS];

	if (empty_fd < 0 || dup2(empty_fd, STDIN_FILENO) < 0 || dup2(empty_fd, STDOUT_FILENO) < 0)
		return -errno;
	/* A sanitizer writes its reports there. */
	if (!SANDBOX_HAS_SANITIZER && dup2(empty_fd, STDERR_FILENO) < 0)
		return -errno;
	for (int i = SOCKET_NUMBER; i < NUMBERS; i++) {
		spares[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, SPARE_NUMBER_MIN);
		if (spares[i] < 0)
			return -errno;
	}
	for (int i = SOCKET_NUMBER; i < NUMBERS; i++)
		if (dup3(spares[i], i, O_CLOEXEC) < 0)
			return -errno;
	opener->control_fd = CONTROL_NUMBER;
	opener->timer_fd = TIMER_NUMBER;
	opener->epoll_fd = -1;
	return close_range(SPARE_NUMBER_MIN, UINT_MAX, 0) < 0 ? -errno : 0;
}

/*
 * Confines the new process. It runs in a session of its own, out of reach of a terminal's signals,
 * and blocks signals: it ends with the server or is killed.
 */
static int confine(struct file_opener *opener, int control_fd, int socket_fd)
{
	sigset_t all;
	int r;

	(void)sigfillset(&all);
	if (setsid() < 0 || sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		return -errno;
	r = place_descriptors(opener, control_fd, socket_fd);
	if (r == 0)
		r = sandbox_keep_capabilities(capabilities, ARRAY_SIZE(capabilities));
	if (r == 0 && !opener->opens_closed_folders)
		r = sandbox_lower_capability(CAP_DAC_READ_SEARCH);
	if (r == 0)
		r = sandbox_die_with_parent(opener->control_fd);
	return r == 0 ? sandbox_forbid_opener() : r;
}

/* Returns the status to end with. */
static int work(int (*serve)(void *context, int socket_fd), void *context)
{
	const uint64_t end_ns = clock_monotonic_ns() + life_ns;
	struct pollfd waited = { .fd = SOCKET_NUMBER, .events = POLLIN };
	uint64_t now_ns, left_ms;
	int r;

	for (;;) {
		r = serve(context, SOCKET_NUMBER);
		if (r == 0)
			continue;
		if (r == -EPIPE)
			return EXIT_IDLE;
		if (r != -EAGAIN)
			return EXIT_FAILED;
		now_ns = clock_monotonic_ns();
		if (now_ns >= end_ns)
			return EXIT_IDLE;
		left_ms = (end_ns - now_ns) / ms_ns + 1;
		r = poll(&waited, 1, left_ms < IDLE_MS ? (int)left_ms : IDLE_MS);
		if (r == 0)
			return EXIT_IDLE;
		if (r < 0 && errno != EINTR)
			return EXIT_FAILED;
	}
}

/* --- in the server's process -------------------------------------------------------------------
 */

bool file_opener_is_running(const struct file_opener *opener)
{
	return opener->control_fd >= 0;
}

/* Moves a killed opener out of slot 0. */
static int make_room(struct file_opener *opener)
{
	for (size_t i = 0; i < FILE_OPENERS_MAX; i++)
		if (opener->processes[i].pid == 0) {
			opener->processes[i] = opener->processes[0];
			opener->processes[0] = no_process;
			return 0;
		}
	return -EAGAIN;
}

static void process_kill(struct file_opener_process *process)
{
	(void)kill(process->pid, SIGKILL);
}

/* Returns true and the status if the process ends within `wait_ms`. */
static bool process_reap(struct file_opener *opener, struct file_opener_process *process,
	int wait_ms, int *ret_status)
{
	struct pollfd end = { .fd = process->pidfd, .events = POLLIN };

	(void)poll(&end, 1, process->pidfd < 0 ? 0 : wait_ms);
	/* Reported if other code in this process reaped it, so that its status is lost. */
	*ret_status = SIGKILL;
	if (waitpid(process->pid, ret_status, WNOHANG) == 0)
		return false;
	(void)epoll_ctl(opener->epoll_fd, EPOLL_CTL_DEL, process->pidfd, NULL);
	close_fd(&process->pidfd);
	*process = no_process;
	return true;
}

/* Reaps killed openers that have ended meanwhile. */
static void reap_others(struct file_opener *opener)
{
	int status;

	for (size_t i = file_opener_is_running(opener) ? 1 : 0; i < FILE_OPENERS_MAX; i++)
		if (opener->processes[i].pid > 0)
			(void)process_reap(opener, &opener->processes[i], 0, &status);
}

/* Forgets the running opener, which has ended or was killed. */
static void forget_opener(struct file_opener *opener)
{
	/* epoll would keep reporting them: a killed opener that hangs still has them open. */
	(void)epoll_ctl(opener->epoll_fd, EPOLL_CTL_DEL, opener->control_fd, NULL);
	(void)epoll_ctl(opener->epoll_fd, EPOLL_CTL_DEL, opener->timer_fd, NULL);
	close_fd(&opener->control_fd);
	close_fd(&opener->timer_fd);
}

/* The parent's side of the fork. */
static int watch_opener(struct file_opener *opener, pid_t pid)
{
	struct file_opener_process *process = &opener->processes[0];
	int r;

	process->pid = pid;
	process->pidfd = pidfd_open(pid, 0);
	r = process->pidfd < 0 ? -errno : watch(opener, process->pidfd);
	if (r == 0)
		r = watch(opener, opener->control_fd);
	if (r == 0)
		r = watch(opener, opener->timer_fd);
	if (r == 0)
		return 0;
	/* Its end is noticed later, with those of other killed openers. */
	process_kill(process);
	forget_opener(opener);
	return r;
}

int file_opener_start(struct file_opener *opener, int socket_fd,
	int (*serve)(void *context, int socket_fd), void *context)
{
	_cleanup_close_ int own_fd = -1, other_fd = -1, timer_fd = -1;
	int pair[2], r = make_room(opener);
	pid_t pid;

	if (r < 0)
		return r;
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (timer_fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	own_fd = pair[0];
	other_fd = pair[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		opener->timer_fd = timer_fd;
		_exit(confine(opener, other_fd, socket_fd) < 0 ? EXIT_FAILED
							       : work(serve, context));
	}
	opener->control_fd = TAKE_FD(own_fd);
	opener->timer_fd = TAKE_FD(timer_fd);
	return watch_opener(opener, pid);
}

static bool has_expired(const struct file_opener *opener)
{
	uint64_t expirations;

	return read(opener->timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations);
}

/*
 * The opener timed out. If it does not end now it hangs in a file system, and only dies when it
 * returns from there. If it finished just before the kill, it has stopped the timer, and reading
 * the timer shows that.
 */
static enum file_opener_event kill_late(struct file_opener *opener)
{
	int status;

	process_kill(&opener->processes[0]);
	(void)process_reap(opener, &opener->processes[0], KILL_WAIT_MS, &status);
	if (!has_expired(opener)) {
		forget_opener(opener);
		return FILE_OPENER_ENDED;
	}
	opener->timeouts = recent_timeouts(opener);
	if (opener->timeouts == 0)
		opener->first_timeout_ns = clock_monotonic_ns();
	if (opener->timeouts < SHORTENINGS_MAX)
		opener->timeouts++;
	forget_opener(opener);
	return FILE_OPENER_LATE;
}

static bool is_late(const struct file_opener *opener)
{
	struct pollfd timer = { .fd = opener->timer_fd, .events = POLLIN };

	return poll(&timer, 1, 0) > 0;
}

enum file_opener_event file_opener_run(struct file_opener *opener)
{
	int status;
	char byte;

	reap_others(opener);
	if (!file_opener_is_running(opener))
		return FILE_OPENER_NOTHING;
	if (process_reap(opener, &opener->processes[0], 0, &status)) {
		forget_opener(opener);
		return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_IDLE ? FILE_OPENER_ENDED
									     : FILE_OPENER_FAILED;
	}
	if (is_late(opener))
		return kill_late(opener);
	return recv(opener->control_fd, &byte, 1, MSG_DONTWAIT) == 1 ? FILE_OPENER_HANDS_OVER
								     : FILE_OPENER_NOTHING;
}

void file_opener_hand_back(struct file_opener *opener)
{
	const char byte = 0;

	/* If it is gone, its end is noticed separately. */
	(void)send(opener->control_fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void leave_to_next(struct file_opener *opener, struct file_opener_process *process)
{
	if (opener->lost)
		opener->lost->pids[opener->lost->count++] = process->pid;
	close_fd(&process->pidfd);
	*process = no_process;
}

void file_opener_done(struct file_opener *opener)
{
	const uint64_t end_ns = clock_monotonic_ns() + DONE_WAIT_MS * ms_ns;
	int status;

	for (size_t i = 0; i < FILE_OPENERS_MAX; i++)
		if (opener->processes[i].pid > 0)
			process_kill(&opener->processes[i]);
	for (size_t i = 0; i < FILE_OPENERS_MAX; i++) {
		uint64_t now_ns = clock_monotonic_ns();
		int wait_ms = now_ns < end_ns ? (int)((end_ns - now_ns) / ms_ns) : 0;

		if (opener->processes[i].pid > 0 &&
			!process_reap(opener, &opener->processes[i], wait_ms, &status))
			leave_to_next(opener, &opener->processes[i]);
	}
	close_fd(&opener->control_fd);
	close_fd(&opener->timer_fd);
}
