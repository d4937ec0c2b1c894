/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A request of arbitrary bytes to the broker, whose /proc, /sys and debug folders are made up. The
 * broker refuses or executes it. A server that receives it as a message gives the same result, and
 * no descriptor leaks. No file is opened that is neither code nor generated code.
 */
#include "broker/broker.h"
#include "broker/broker_request.h"
#include "broker/broker_roots.h"
#include "broker/broker_server.h"
#include "pilotlight/broker_request.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MESSAGE_MAX = 32768 };

/* Of files that are neither code nor jitdumps. */
#define SECRET "SECRET"

static char root[] = "/tmp/broker_request_fuzz.XXXXXX";

static void require(bool condition)
{
	if (!condition)
		abort();
}

static const char *path_of(const char *name, char path[256])
{
	int length = snprintf(path, 256, "%s/%s", root, name);

	require(length > 0 && length < 256);
	return path;
}

static void make_folder(const char *name)
{
	char path[256];

	require(mkdir(path_of(name, path), 0755) == 0);
}

static void make_file(const char *name, const char *text)
{
	char path[256];
	FILE *file = fopen(path_of(name, path), "w");

	require(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void make_link(const char *target, const char *name)
{
	char path[256];

	require(symlink(target, path_of(name, path)) == 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static void remove_tree(void)
{
	(void)nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_process(void)
{
	make_folder("77");
	make_folder("77/map_files");
	make_folder("77/root");
	make_folder("77/root/tmp");
	make_folder("77/root/lib");
	make_file("77/stat", "77 (a) S 1 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 1 2\n");
	make_file("77/status", "Name:\ta\nUid:\t0\t0\t0\t0\n");
	make_file("77/comm", "a\n");
	make_file("77/cgroup", "0::/\n");
	make_file("77/timens_offsets", "");
	make_file("77/maps", "the maps\n");
	make_file("77/root/lib/inside", ELFMAG "inside\n");
	make_file("77/root/lib/secret", SECRET);
	make_file("77/root/tmp/jit-5.dump", "DTiJ");
	make_file("77/root/tmp/jit-6.dump", SECRET);
	make_file("77/root/tmp/perf-5.map", "");
	make_link("../root/lib/inside", "77/map_files/1000-2000");
	make_link("/dev/null", "77/map_files/2000-3000");
	make_link("../root/tmp/jit-5.dump", "77/map_files/3000-4000");
	make_link("../root/lib/secret", "77/map_files/4000-5000");
	make_link("/", "77/root/upwards");
	make_link("root/lib/inside", "77/exe");
}

/* Kernel files and debug files are in the same folder. */
static void make_tree(void)
{
	require(mkdtemp(root) && atexit(remove_tree) == 0);
	make_process();
	make_file("kallsyms", "");
	make_file("modules", "");
	make_folder("kernel");
	make_file("kernel/notes", "");
	make_folder("module");
	make_folder("module/ext4");
	make_folder("module/ext4/notes");
	make_file("module/ext4/notes/.note.gnu.build-id", "");
	make_folder(".build-id");
	make_folder(".build-id/ab");
	make_file(".build-id/ab/cdef01.debug", ELFMAG "debug\n");
	make_file(".build-id/ab/cdef01.dwp", ELFMAG "package\n");
	make_folder(".dwz");
	make_file(".dwz/common", ELFMAG "common\n");
	make_folder("bin");
	make_file("bin/tool.debug", ELFMAG "link\n");
}

static const struct broker_options *options(void)
{
	static const struct broker_options made_up = {
		.proc_root = root,
		.debug_root = root,
		.sys_root = root,
		.program = "/bin/true", /* for children */
	};
	static bool is_made;

	if (!is_made)
		make_tree();
	is_made = true;
	return &made_up;
}

static int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	require(fd >= 0 && close(fd) == 0);
	return fd;
}

static void require_no_secret(int fd)
{
	char bytes[sizeof(SECRET)] = "";

	/* Folders and descriptors without access cannot be read. */
	(void)!pread(fd, bytes, sizeof(bytes) - 1, 0);
	require(strcmp(bytes, SECRET) != 0);
}

/* Short input is padded with zeros. */
static int execute(const uint8_t *bytes, size_t size)
{
	struct pilotlight_broker_request request;
	struct broker_roots roots;
	int fd = -7, r;

	memset(&request, 0, sizeof(request));
	if (size > 0)
		memcpy(&request, bytes, size < sizeof(request) ? size : sizeof(request));
	r = broker_request_check(&request);
	require(r == 0 || r == -EBADMSG);
	if (r < 0)
		return r;
	require(broker_roots_init(&roots, options()) == 0);
	r = broker_request_execute(&roots, &request, &fd);
	require(r == 0 ? fd >= 0 : r < 0 && fd == -7);
	if (r == 0) {
		require((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
		require_no_secret(fd);
		require(close(fd) == 0);
	}
	broker_roots_done(&roots);
	return r;
}

/* Only the server starts children. */
static int expected_of(const uint8_t *bytes, int executed)
{
	struct pilotlight_broker_request request;

	memcpy(&request, bytes, sizeof(request));
	return request.operation == PILOTLIGHT_BROKER_START_CHILD && executed == -EINVAL &&
			       request.file < BROKER_CHILDREN
		       ? 0
		       : executed;
}

static void serve(const uint8_t *bytes, size_t size, int executed)
{
	int expected = size == sizeof(struct pilotlight_broker_request)
			       ? expected_of(bytes, executed)
			       : -EBADMSG;
	struct pilotlight_broker_answer answer;
	struct broker_server *server;
	int pair[2];

	require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	require(broker_server_new(pair[1], options(), &server) == 0);
	require(send(pair[0], bytes, size, 0) == (ssize_t)size);
	require(broker_server_run(server) == 0);
	require(recv(pair[0], &answer, sizeof(answer), MSG_DONTWAIT) == sizeof(answer));
	require(answer.version == PILOTLIGHT_BROKER_VERSION && answer.result == expected);
	broker_server_free(server);
	require(close(pair[0]) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int descriptor, r;

	(void)options();
	descriptor = next_descriptor();
	r = execute(bytes, size);
	if (size > 0 && size <= MESSAGE_MAX)
		serve(bytes, size, r);
	require(next_descriptor() == descriptor);
	return 0;
}
