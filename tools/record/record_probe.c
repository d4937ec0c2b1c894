/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/record_probe.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "dwarf/usdt_probe.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PART_BYTES = 128,
	READER_MEMORY_BYTES = 64 << 20,
	READER_CPU_S = 10,
};

/* What the reader tells, through a pipe. */
struct reader_answer {
	int32_t result; /* 0 or -errno */
	uint32_t count;
	struct usdt_place places[USDT_PLACES_MAX];
};
_Static_assert((int)USDT_PLACES_MAX <= (int)CAPTURE_PROBE_PLACES_MAX, "all are opened");

int record_probe_name_parse(const char *text, size_t size, struct record_probe_name *ret_name)
{
	static const char kind[] = "usdt:";
	const char *end = text + size, *name, *provider;

	if (size < sizeof(kind) || strncmp(text, kind, sizeof(kind) - 1) != 0)
		return -EINVAL;
	text += sizeof(kind) - 1;
	name = memrchr(text, ':', (size_t)(end - text));
	provider = name ? memrchr(text, ':', (size_t)(name - text)) : NULL;
	if (!provider || provider == text || name == provider + 1 || end == name + 1 ||
		name - provider > PART_BYTES || end - name > PART_BYTES)
		return -EINVAL;
	*ret_name = (struct record_probe_name){
		.path = text,
		.path_size = (size_t)(provider - text),
		.provider = provider + 1,
		.provider_size = (size_t)(name - provider - 1),
		.name = name + 1,
		.name_size = (size_t)(end - name - 1),
	};
	return 0;
}

static int find(const struct record_probe_name *name, int fd, struct reader_answer *answer)
{
	char provider[PART_BYTES], probe[PART_BYTES];
	struct elf_file file;
	size_t count = 0;
	int r = elf_file_init(&file, fd);

	(void)snprintf(
		provider, sizeof(provider), "%.*s", (int)name->provider_size, name->provider);
	(void)snprintf(probe, sizeof(probe), "%.*s", (int)name->name_size, name->name);
	if (r == 0)
		r = usdt_probe_find(&file, provider, probe, answer->places, &count);
	answer->count = (uint32_t)count;
	return r;
}

static int give_up_privileges(void)
{
	const struct sandbox_limits limits = {
		.memory_bytes = READER_MEMORY_BYTES,
		.cpu_s = READER_CPU_S,
	};
	int r = sandbox_drop_privileges(SANDBOX_ROOT_STAYS);

	if (r == 0)
		r = sandbox_limit(&limits);
	return r == 0 ? sandbox_forbid_calls() : r;
}

/* In a process of its own. */
static int read_binary(const struct record_probe_name *name, int fd, int answer_fd)
{
	struct reader_answer answer = { .result = give_up_privileges() };

	if (answer.result == 0)
		answer.result = find(name, fd, &answer);
	return write(answer_fd, &answer, sizeof(answer)) == sizeof(answer) ? EXIT_SUCCESS
									   : EXIT_FAILURE;
}

/* Returns -ECHILD if the reader ended without an answer. */
static int ask_reader(
	const struct record_probe_name *name, int fd, struct reader_answer *ret_answer)
{
	_cleanup_close_ int receiving_fd = -1, sending_fd = -1;
	int pipe_fds[2];
	ssize_t size;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	receiving_fd = pipe_fds[0];
	sending_fd = pipe_fds[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(read_binary(name, fd, sending_fd));
	closep(&sending_fd);
	sending_fd = -1;
	/* A pipe passes so few bytes at once. */
	do
		size = read(receiving_fd, ret_answer, sizeof(*ret_answer));
	while (size < 0 && errno == EINTR);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return size == sizeof(*ret_answer) && ret_answer->count <= USDT_PLACES_MAX ? 0 : -ECHILD;
}

static int fault_of(const struct record_probe_name *name, int error, struct fault *fault)
{
	const int path_size = (int)name->path_size;

	switch (error) {
	case -ENODATA:
		return fault_set(fault, error,
			"'%.*s' has no probe %.*s:%.*s; `readelf -n %.*s` lists those it has",
			path_size, name->path, (int)name->provider_size, name->provider,
			(int)name->name_size, name->name, path_size, name->path);
	case -ENOEXEC:
		return fault_set(fault, error,
			"'%.*s' is no ELF file, or its notes of probes are damaged", path_size,
			name->path);
	default:
		return fault_set(fault, error, "cannot read the probes of '%.*s': %s", path_size,
			name->path, strerror(-error));
	}
}

/* Not a FIFO, which would wait for a writer. */
static int open_binary(const struct record_probe_name *name)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	struct stat status;

	if (snprintf(path, sizeof(path), "%.*s", (int)name->path_size, name->path) >=
		(int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	return S_ISREG(status.st_mode) ? TAKE_FD(fd) : -ENOEXEC;
}

int record_probe_open(
	const struct record_probe_name *name, struct capture_probe *ret_probe, struct fault *fault)
{
	struct reader_answer answer = { .result = 0 };
	_cleanup_close_ int fd = open_binary(name);
	int r = fd < 0 ? fd : ask_reader(name, fd, &answer);

	if (r == 0)
		r = answer.result;
	if (r < 0)
		return fault_of(name, r, fault);
	*ret_probe = (struct capture_probe){ .count = answer.count };
	for (size_t i = 0; i < answer.count; i++)
		ret_probe->places[i] = (struct capture_probe_place){
			.offset = answer.places[i].code,
			.semaphore_offset = answer.places[i].semaphore,
		};
	ret_probe->fd = TAKE_FD(fd);
	return 0;
}
