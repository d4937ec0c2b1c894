/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dead_files FOLDER PROGRAM WAY [ARGUMENT...]: runs the program from its own FUSE file system at
 * FOLDER, in its own mount namespace. After SIGUSR1 the file system answers no request. WAY
 * `takes` reads requests without an answer, so that a waiting process cannot even be killed;
 * `leaves` does not read them. Prints "ready" when the program runs. Ends with the program or
 * after five minutes; exits with 77 if mounting is not allowed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILE_NODE = 2, REQUEST_BYTES = 1 << 18, CANNOT_MOUNT = 77, LIFE_S = 300 };

static volatile sig_atomic_t is_dead;

struct files {
	int fd;
	const char *content;
	size_t size;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void take_signal(int number)
{
	(void)number;
	is_dead = true;
}

static struct fuse_attr attributes(const struct files *files, uint64_t node)
{
	const bool is_file = node == FILE_NODE;

	return (struct fuse_attr){
		.ino = node,
		.size = is_file ? files->size : 0,
		.blocks = is_file ? (files->size + 511) / 512 : 0,
		.mode = is_file ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
}

static void reply(const struct files *files, const struct fuse_in_header *request, int error,
	const void *bytes, size_t size)
{
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + size),
		.error = error,
		.unique = request->unique,
	};
	static char answer[REQUEST_BYTES + sizeof(header)];

	memcpy(answer, &header, sizeof(header));
	if (size > 0)
		memcpy(answer + sizeof(header), bytes, size);
	/* The requesting process may have ended. */
	(void)!write(files->fd, answer, header.len);
}

static void answer_read(const struct files *files, const struct fuse_in_header *request,
	const struct fuse_read_in *read)
{
	size_t size = read->offset < files->size ? files->size - read->offset : 0;

	if (size > read->size)
		size = read->size;
	if (size > REQUEST_BYTES)
		size = REQUEST_BYTES;
	reply(files, request, 0, files->content + (size ? read->offset : 0), size);
}

/* The kernel may cache file contents but no attributes or names, so each lookup is a request. */
static void answer(const struct files *files, const struct fuse_in_header *request)
{
	const void *body = request + 1;
	const struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = 31,
		.max_readahead = 1 << 17,
		.max_write = 4096,
	};
	const struct fuse_entry_out entry = {
		.nodeid = FILE_NODE,
		.attr = attributes(files, FILE_NODE),
	};
	const struct fuse_attr_out attribute = { .attr = attributes(files, request->nodeid) };
	const struct fuse_open_out opened = { .open_flags = FOPEN_KEEP_CACHE };

	switch (request->opcode) {
	case FUSE_INIT:
		reply(files, request, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		if (strcmp(body, "program") == 0)
			reply(files, request, 0, &entry, sizeof(entry));
		else
			reply(files, request, -ENOENT, NULL, 0);
		break;
	case FUSE_GETATTR:
		reply(files, request, 0, &attribute, sizeof(attribute));
		break;
	case FUSE_OPEN:
		reply(files, request, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		answer_read(files, request, body);
		break;
	case FUSE_RELEASE:
		reply(files, request, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(files, request, -ENOSYS, NULL, 0);
	}
}

static void map_program(const char *path, struct files *files)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		die(path);
	files->size = (size_t)status.st_size;
	files->content = mmap(NULL, files->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (files->content == MAP_FAILED)
		die(path);
	(void)close(fd);
}

static void mount_files(const char *folder, struct files *files)
{
	char options[128];

	files->fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	(void)snprintf(options, sizeof(options),
		"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", files->fd);
	if (files->fd < 0 || unshare(CLONE_NEWNS) < 0 ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("dead_files", folder, "fuse", MS_NODEV, options) < 0) {
		perror("no file system can be mounted");
		exit(CANNOT_MOUNT);
	}
}

/* Reads the whole program into memory first, so that the program itself never waits. */
static void run_program(const char *folder, char **arguments, pid_t parent)
{
	static char bytes[1 << 16];
	char path[4096];
	ssize_t size;
	int fd;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
		_exit(1);
	(void)snprintf(path, sizeof(path), "%s/program", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	do
		size = read(fd, bytes, sizeof(bytes));
	while (size > 0);
	if (size < 0)
		die(path);
	(void)execv(path, arguments);
	die(path);
}

/* The close-on-exec end of the pipe closes when the program is executed. */
static void say_when_ready(int *pipe_fd)
{
	char byte;

	if (*pipe_fd < 0 || read(*pipe_fd, &byte, 1) < 0)
		return;
	(void)close(*pipe_fd);
	*pipe_fd = -1;
	(void)puts("ready");
	(void)fflush(stdout);
}

static bool has_ended(pid_t program)
{
	return waitpid(program, NULL, WNOHANG) == program;
}

int main(int argc, char **argv)
{
	static _Alignas(struct fuse_in_header) char request[REQUEST_BYTES];
	const struct sigaction action = { .sa_handler = take_signal };
	const pid_t self = getpid();
	struct files files;
	int pipe_fds[2];
	pid_t program;
	bool takes;

	if (argc < 4) {
		(void)fprintf(
			stderr, "usage: dead_files FOLDER PROGRAM takes|leaves [ARGUMENT...]\n");
		return 2;
	}
	takes = strcmp(argv[3], "takes") == 0;
	map_program(argv[2], &files);
	mount_files(argv[1], &files);
	/* If the test was killed, waiting processes must not wait forever. */
	(void)alarm(LIFE_S);
	(void)sigaction(SIGUSR1, &action, NULL);
	if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
		die("pipe");
	program = fork();
	if (program < 0)
		die("fork");
	argv[3] = argv[2];
	if (program == 0)
		run_program(argv[1], argv + 3, self);
	(void)close(pipe_fds[1]);
	(void)fcntl(files.fd, F_SETFL, O_NONBLOCK);
	while (!has_ended(program)) {
		ssize_t size = is_dead && !takes ? 0 : read(files.fd, request, sizeof(request));

		if (size >= (ssize_t)sizeof(struct fuse_in_header) && !is_dead)
			answer(&files, (const struct fuse_in_header *)(const void *)request);
		say_when_ready(&pipe_fds[0]);
		if (size <= 0)
			(void)usleep(1000);
	}
	return 0;
}
