/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each call is made by a process of its own, with an engine's or a query's filter in force. */
#include "sandbox/sandbox.h"

#include "base/array.h"
#include "tests/sandbox/sandbox_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/utsname.h>

/* What comes of a call. */
enum outcome { WORKS, REFUSED, KILLED };

struct call {
	const char *name;
	long (*make)(void); /* -1 and errno, or anything else */
	enum outcome engine, query;
};

/* What is open in a trial: a folder, a file in it, a pair, a map, a socket that listens. */
static int folder_fd, file_fd, sockets[2], map_fd = -1, listen_fd;
static struct sockaddr_un address = { .sun_family = AF_UNIX };
static socklen_t address_bytes;

static long open_to_write(void)
{
	return openat(folder_fd, "new", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static long open_to_read(void)
{
	return openat(folder_fd, "file", O_RDONLY | O_CLOEXEC);
}

static long open_to_append(void)
{
	return openat(folder_fd, "file", O_WRONLY | O_APPEND | O_CLOEXEC);
}

static long open_and_empty(void)
{
	return openat(folder_fd, "file", O_RDONLY | O_TRUNC | O_CLOEXEC);
}

static long open_unnamed(void)
{
	return openat(folder_fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
}

/* As the symbol cache commits a file. */
static long publish(void)
{
	char path[64];
	int fd = openat(folder_fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, path, folder_fd, "published", AT_SYMLINK_FOLLOW) < 0)
		return -1;
	return renameat(folder_fd, "published", folder_fd, "renamed");
}

static long make_folder(void)
{
	return mkdirat(folder_fd, "folder", 0700) < 0 ? -1
						      : unlinkat(folder_fd, "folder", AT_REMOVEDIR);
}

static long remove_file(void)
{
	return unlinkat(folder_fd, "victim", 0);
}

static long list_folder(void)
{
	char entries[1024];
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -1 : syscall(SYS_getdents64, fd, entries, sizeof(entries));
}

static long ask_of_files(void)
{
	struct stat status;
	struct statfs space;
	char path[256];

	if (fstatat(folder_fd, "file", &status, 0) < 0 || fstatfs(folder_fd, &space) < 0)
		return -1;
	if (stat("/", &status) < 0 || access("/", R_OK) < 0 || !getcwd(path, sizeof(path)))
		return -1;
	return readlink("/proc/self/fd/0", path, sizeof(path));
}

static long lock_as_sqlite(void)
{
	struct flock range = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0x40000000, .l_len = 1
	};

	if (fcntl(file_fd, F_SETLK, &range) < 0 || fcntl(file_fd, F_GETLK, &range) < 0)
		return -1;
	return flock(file_fd, LOCK_EX | LOCK_NB);
}

static long write_and_sync(void)
{
	if (pwrite(file_fd, "data", 4, 0) != 4 || fsync(file_fd) < 0 || fdatasync(file_fd) < 0)
		return -1;
	return ftruncate(file_fd, 4096);
}

static long change_mode(void)
{
	return fchmod(file_fd, 0600);
}

static long change_owner(void)
{
	return fchown(file_fd, getuid(), getgid());
}

static long map_shared(void)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file_fd, 0);

	return memory == MAP_FAILED ? -1 : munmap(memory, 4096);
}

static long map_anonymous(void)
{
	void *memory =
		mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? -1 : mprotect(memory, 4096, PROT_READ);
}

static long map_code(void)
{
	return (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file_fd, 0);
}

static long map_writable_code(void)
{
	return (long)mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static long turn_into_code(void)
{
	static _Alignas(4096) char page[4096];

	return mprotect(page, sizeof(page), PROT_READ | PROT_EXEC);
}

static long turn_into_code_by_key(void)
{
	static _Alignas(4096) char page[4096];

	return syscall(SYS_pkey_mprotect, page, sizeof(page), PROT_READ | PROT_EXEC, -1);
}

static long make_memory_file(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 || ftruncate(fd, 4096) < 0 ? -1 : fcntl(fd, F_ADD_SEALS, F_SEAL_GROW);
}

static long send_descriptor(void)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { "x", 1 };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	char byte;

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &file_fd, sizeof(file_fd));
	if (sendmsg(sockets[0], &message, MSG_NOSIGNAL) != 1)
		return -1;
	part.iov_base = &byte;
	return recvmsg(sockets[1], &message, MSG_CMSG_CLOEXEC);
}

static long use_socket_options(void)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int bytes = 4096;

	if (getsockopt(sockets[0], SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -1;
	return setsockopt(sockets[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

/* The listening socket does not block, and somebody is waiting there. */
static long accept_connection(void)
{
	return accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static long make_pair(void)
{
	int pair[2];

	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static long make_socket(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static long make_local_socket(void)
{
	return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static long make_netlink_socket(void)
{
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
}

static long connect_elsewhere(void)
{
	return connect(sockets[0], (struct sockaddr *)&address, address_bytes);
}

static long wait_by_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC);
	int event_fd = eventfd(1, EFD_CLOEXEC);

	if (fd < 0 || event_fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, event_fd, &event) < 0)
		return -1;
	return epoll_wait(fd, &event, 1, 0) == 1 ? 0 : -1;
}

static long wait_for_time(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	struct itimerspec time = { .it_value = { .tv_nsec = 1 } };
	uint64_t expirations;

	if (fd < 0 || timerfd_settime(fd, 0, &time, NULL) < 0)
		return -1;
	return read(fd, &expirations, sizeof(expirations));
}

static long wait_for_signals(void)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return -1;
	return signalfd(-1, &signals, SFD_CLOEXEC);
}

static long poll_once(void)
{
	struct pollfd fd = { .fd = sockets[0], .events = POLLOUT };

	return poll(&fd, 1, 0);
}

static long know_oneself(void)
{
	struct utsname name;
	struct rusage usage;
	struct rlimit limit;
	cpu_set_t cpus;

	if (uname(&name) < 0 || getrusage(RUSAGE_SELF, &usage) < 0 ||
		getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -1;
	return sched_getaffinity(0, sizeof(cpus), &cpus);
}

static long take_a_name(void)
{
	return prctl(PR_SET_NAME, "engine", 0, 0, 0);
}

static long live_on(void)
{
	return prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
}

static long be_dumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static long run_bpf(int command)
{
	uint32_t key = 0;
	uint64_t value = 7;
	union bpf_attr attributes = { 0 };

	attributes.map_fd = (uint32_t)map_fd;
	attributes.key = (uintptr_t)&key;
	attributes.value = (uintptr_t)&value;
	return syscall(SYS_bpf, command, &attributes, sizeof(attributes));
}

/* Without a map the kernel is reached all the same, and says so. */
static long use_map(int command)
{
	long r = run_bpf(command);

	return map_fd < 0 && r < 0 && errno == EBADF ? 0 : r;
}

static long write_map(void)
{
	return use_map(BPF_MAP_UPDATE_ELEM);
}

static long read_map(void)
{
	return use_map(BPF_MAP_LOOKUP_ELEM);
}

static long make_map(void)
{
	union bpf_attr attributes = { 0 };

	attributes.map_type = BPF_MAP_TYPE_ARRAY;
	attributes.key_size = 4;
	attributes.value_size = 8;
	attributes.max_entries = 1;
	return syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes));
}

static long find_map(void)
{
	union bpf_attr attributes = { 0 };

	return syscall(SYS_bpf, BPF_MAP_GET_NEXT_ID, &attributes, sizeof(attributes));
}

static long freeze_map(void)
{
	return run_bpf(BPF_MAP_FREEZE);
}

static long sample(void)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
	};

	return syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
}

static long make_process(void)
{
	return fork();
}

static long make_process_in_memory(void)
{
	return syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL);
}

static long make_thread(void)
{
	return syscall(SYS_clone, CLONE_THREAD | CLONE_SIGHAND | CLONE_VM, NULL, NULL, NULL, NULL);
}

static long signal_parent(void)
{
	return kill(getppid(), 0);
}

static long signal_everybody(void)
{
	return kill(-1, 0);
}

static long signal_a_strange_thread(void)
{
	return syscall(SYS_tgkill, getppid(), getppid(), 0);
}

static long signal_oneself(void)
{
	return kill(getpid(), 0);
}

static long have_signals_sent(void)
{
	return fcntl(sockets[0], F_SETOWN, getppid());
}

static long forge_input(void)
{
	return ioctl(STDIN_FILENO, TIOCSTI, "x");
}

static long change_user(void)
{
	return setuid(getuid());
}

static long limit_another(void)
{
	struct rlimit limit;

	return prlimit(getppid(), RLIMIT_NOFILE, NULL, &limit);
}

static long execute(void)
{
	char *const arguments[] = { "true", NULL };

	return execv("/bin/true", arguments);
}

static long execute_open_file(void)
{
	return syscall(SYS_execveat, file_fd, "", NULL, NULL, AT_EMPTY_PATH);
}

static long trace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static long read_memory(void)
{
	return syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0);
}

static long write_memory(void)
{
	return syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0);
}

static long open_process(void)
{
	return syscall(SYS_pidfd_open, getpid(), 0);
}

static long steal_descriptor(void)
{
	return syscall(SYS_pidfd_getfd, file_fd, 0, 0);
}

static long signal_by_descriptor(void)
{
	return syscall(SYS_pidfd_send_signal, file_fd, 0, NULL, 0);
}

static long mount_something(void)
{
	return mount("none", "/tmp", "tmpfs", 0, NULL);
}

static long open_tree_of_mounts(void)
{
	return syscall(SYS_open_tree, AT_FDCWD, "/", 0);
}

static long change_root(void)
{
	return chroot("/");
}

static long leave_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

static long enter_namespace(void)
{
	return setns(file_fd, 0);
}

static long use_io_uring(void)
{
	return syscall(SYS_io_uring_setup, 1, NULL);
}

static long use_userfaultfd(void)
{
	return syscall(SYS_userfaultfd, 0);
}

static long use_keys(void)
{
	return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);
}

static long load_module(void)
{
	return syscall(SYS_finit_module, file_fd, "", 0);
}

static long open_by_handle(void)
{
	return syscall(SYS_open_by_handle_at, folder_fd, NULL, 0);
}

#define CALL(function, engine, query)              \
	{                                          \
#function, function, engine, query \
	}

static const struct call calls[] = {
	CALL(open_to_write, WORKS, REFUSED),
	CALL(open_to_read, WORKS, WORKS),
	CALL(open_to_append, WORKS, REFUSED),
	CALL(open_and_empty, WORKS, REFUSED),
	CALL(open_unnamed, WORKS, REFUSED),
	CALL(publish, WORKS, REFUSED),
	CALL(make_folder, WORKS, REFUSED),
	CALL(remove_file, WORKS, REFUSED),
	CALL(list_folder, WORKS, WORKS),
	CALL(ask_of_files, WORKS, WORKS),
	CALL(lock_as_sqlite, WORKS, WORKS),
	CALL(write_and_sync, WORKS, WORKS),
	CALL(change_mode, WORKS, REFUSED),
	CALL(change_owner, REFUSED, REFUSED),
	CALL(map_shared, WORKS, WORKS),
	CALL(map_anonymous, WORKS, WORKS),
	CALL(map_code, REFUSED, REFUSED),
	CALL(map_writable_code, REFUSED, REFUSED),
	CALL(turn_into_code, REFUSED, REFUSED),
	CALL(turn_into_code_by_key, REFUSED, REFUSED),
	CALL(make_memory_file, WORKS, WORKS),
	CALL(send_descriptor, WORKS, WORKS),
	CALL(use_socket_options, WORKS, WORKS),
	CALL(accept_connection, WORKS, REFUSED),
	CALL(make_pair, WORKS, REFUSED),
	CALL(make_socket, REFUSED, REFUSED),
	CALL(make_local_socket, REFUSED, REFUSED),
	CALL(make_netlink_socket, REFUSED, REFUSED),
	CALL(connect_elsewhere, REFUSED, REFUSED),
	CALL(wait_by_epoll, WORKS, REFUSED),
	CALL(wait_for_time, WORKS, REFUSED),
	CALL(wait_for_signals, WORKS, REFUSED),
	CALL(poll_once, WORKS, WORKS),
	CALL(know_oneself, WORKS, WORKS),
	CALL(take_a_name, WORKS, WORKS),
	CALL(live_on, REFUSED, REFUSED),
	CALL(be_dumpable, REFUSED, REFUSED),
	CALL(write_map, WORKS, REFUSED),
	CALL(read_map, WORKS, REFUSED),
	CALL(make_map, REFUSED, REFUSED),
	CALL(find_map, REFUSED, REFUSED),
	CALL(freeze_map, REFUSED, REFUSED),
	CALL(sample, REFUSED, REFUSED),
	CALL(make_process, REFUSED, REFUSED),
	CALL(make_process_in_memory, REFUSED, REFUSED),
	CALL(make_thread, REFUSED, REFUSED),
	CALL(signal_parent, REFUSED, REFUSED),
	CALL(signal_everybody, REFUSED, REFUSED),
	CALL(signal_a_strange_thread, REFUSED, REFUSED),
	CALL(signal_oneself, WORKS, WORKS),
	CALL(have_signals_sent, REFUSED, REFUSED),
	CALL(forge_input, REFUSED, REFUSED),
	CALL(change_user, REFUSED, REFUSED),
	CALL(limit_another, REFUSED, REFUSED),
	CALL(execute, KILLED, KILLED),
	CALL(execute_open_file, KILLED, KILLED),
	CALL(trace, KILLED, KILLED),
	CALL(read_memory, KILLED, KILLED),
	CALL(write_memory, KILLED, KILLED),
	CALL(open_process, KILLED, KILLED),
	CALL(steal_descriptor, KILLED, KILLED),
	CALL(signal_by_descriptor, KILLED, KILLED),
	CALL(mount_something, KILLED, KILLED),
	CALL(open_tree_of_mounts, KILLED, KILLED),
	CALL(change_root, KILLED, KILLED),
	CALL(leave_namespace, KILLED, KILLED),
	CALL(enter_namespace, KILLED, KILLED),
	CALL(use_io_uring, KILLED, KILLED),
	CALL(use_userfaultfd, KILLED, KILLED),
	CALL(use_keys, KILLED, KILLED),
	CALL(load_module, KILLED, KILLED),
	CALL(open_by_handle, KILLED, KILLED),
};

static const struct call *tried;

static void try_call(void)
{
	long result;

	errno = 0;
	result = tried->make();
	if (result == -1)
		_exit(errno == EPERM ? 10 + REFUSED : 9);
	_exit(10 + WORKS);
}

static enum outcome outcome_of(int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		return KILLED;
	assert_true(WIFEXITED(status));
	return (enum outcome)(WEXITSTATUS(status) - 10);
}

static int set_up_files(void)
{
	int client;

	if (openat(folder_fd, "victim", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0)
		return -1;
	client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return client < 0 ? -1 : connect(client, (struct sockaddr *)&address, address_bytes);
}

static int tear_down_files(void)
{
	static const char *const names[] = { "new", "victim", "published", "renamed" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (unlinkat(folder_fd, names[i], 0) < 0 && errno != ENOENT)
			return -1;
	while (accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC) >= 0)
		;
	return 0;
}

static int become_engine(void)
{
	int r = sandbox_drop_privileges_to(getuid(), getgid());

	return r == 0 ? sandbox_forbid_engine() : r;
}

static int become_query(void)
{
	int r = sandbox_drop_privileges_to(getuid(), getgid());

	return r == 0 ? sandbox_forbid_query() : r;
}

static int become_engine_of_files(void)
{
	return set_up_files() < 0 ? -1 : become_engine();
}

static int become_query_of_files(void)
{
	return set_up_files() < 0 ? -1 : become_query();
}

static void assert_outcomes(int (*prepare)(void), bool is_query)
{
	size_t wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		enum outcome expected = is_query ? calls[i].query : calls[i].engine, outcome;

		tried = &calls[i];
		outcome = outcome_of(run_trial(prepare, try_call));
		assert_int_equal(tear_down_files(), 0);
		if (outcome == expected)
			continue;
		print_error("%s: %d instead of %d\n", calls[i].name, (int)outcome, (int)expected);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void an_engine_may_do_this_and_not_that(void **state)
{
	(void)state;
	assert_outcomes(become_engine_of_files, false);
}

static void a_query_may_do_this_and_not_that(void **state)
{
	(void)state;
	assert_outcomes(become_query_of_files, true);
}

static void clones_by_structure(void)
{
	char arguments[64] = { 0 };

	REQUIRE(syscall(SYS_clone3, arguments, sizeof(arguments)) < 0 && errno == ENOSYS);
}

static void libraries_are_sent_to_the_older_clone(void **state)
{
	(void)state;
	assert_passes(become_engine, clones_by_structure);
	assert_passes(become_query, clones_by_structure);
}

static int become_engine_with_signals(void)
{
	(void)signal(SIGABRT, SIG_DFL);
	return become_engine();
}

static void abort_with_a_handler(void)
{
	(void)signal(SIGABRT, SIG_IGN);
	abort();
}

static void an_abort_ends_it_as_one(void **state)
{
	static void (*const trials[])(void) = { abort, abort_with_a_handler };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(trials); i++) {
		int status = run_trial(become_engine_with_signals, trials[i]);

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGABRT);
	}
}

/* A compiled filter of another architecture's calls would let these by. */
static void calls_as_a_32_bit_program(void)
{
#ifdef __x86_64__
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
	(void)result;
#else
	(void)raise(SIGSYS);
#endif
}

static void another_architectures_calls_kill(void **state)
{
	(void)state;
	assert_int_equal(outcome_of(run_trial(become_engine, calls_as_a_32_bit_program)), KILLED);
	assert_int_equal(outcome_of(run_trial(become_query, calls_as_a_32_bit_program)), KILLED);
}

static int make_map_if_allowed(void)
{
	return (int)make_map();
}

static int set_up(void **state)
{
	static char path[] = "/tmp/sandbox_engine_XXXXXX";

	*state = path;
	if (!mkdtemp(path))
		return -1;
	folder_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	file_fd = openat(folder_fd, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file_fd < 0 || ftruncate(file_fd, 4096) < 0 ||
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -1;
	/* By the kernel's choice of an abstract name. */
	listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listen_fd < 0 ||
		bind(listen_fd, (struct sockaddr *)&address, sizeof(address.sun_family)) < 0 ||
		listen(listen_fd, 8) < 0)
		return -1;
	address_bytes = sizeof(address);
	map_fd = make_map_if_allowed();
	return getsockname(listen_fd, (struct sockaddr *)&address, &address_bytes);
}

static int tear_down(void **state)
{
	if (unlinkat(folder_fd, "file", 0) < 0)
		return -1;
	return rmdir(*state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_engine_may_do_this_and_not_that),
		cmocka_unit_test(a_query_may_do_this_and_not_that),
		cmocka_unit_test(libraries_are_sent_to_the_older_clone),
		cmocka_unit_test(an_abort_ends_it_as_one),
		cmocka_unit_test(another_architectures_calls_kill),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
