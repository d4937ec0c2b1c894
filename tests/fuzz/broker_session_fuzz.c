/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session with the broker, while the process that it asks about changes: each step of four bytes
 * changes a made-up /proc, or sends one request to one broker_server. Every request gets one
 * answer, and is counted once. A descriptor comes only for a process that is as asked, and leads
 * only to code, or to a jitdump or perf map that belongs to the process. None leaks.
 */
#include "broker/broker.h"
#include "broker/broker_server.h"
#include "broker/broker_socket.h"
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

enum {
	STEP_BYTES = 4,
	STEPS_MAX = 64,
	PERF_MAP = 0, /* of the files below */
	TICK_NS = 10000000,
};

#define PICK(list, number) ((list)[(number) % (sizeof(list) / sizeof((list)[0]))])
#define SECRET		   "SECRET"
#define START		   123456ULL

static char root[] = "/tmp/broker_session_fuzz.XXXXXX";

static const char *const files[] = { "77/root/tmp/perf-5.map", "77/root/tmp/jit-5.dump",
	"77/root/tmp/file", "77/root/lib/program", "host" };
static const char *const paths[] = { "/tmp/jit-5.dump", "/tmp/file", "/lib/program", "/../../host",
	"/tmp/perf-5.map", "tmp/file" };

/* What the broker should know of the process. */
struct facts {
	unsigned int user;
	bool lives, was_replaced;
};

struct session {
	struct broker_server *server;
	int fd;
	struct facts facts;
	uint64_t requests;
};

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* --- the process ------------------------------------------------------------------------------ */

/* Until the next call. */
static const char *path_of(const char *name)
{
	static char path[256];
	int length = snprintf(path, sizeof(path), "%s/%s", root, name);

	require(length > 0 && (size_t)length < sizeof(path));
	return path;
}

/* A perf map is known by its name alone, so a file that shares it must not leave it behind. */
static void drop(const char *name)
{
	struct stat dropped, map;

	if (stat(path_of(name), &dropped) == 0 && stat(path_of(files[PERF_MAP]), &map) == 0 &&
		dropped.st_ino == map.st_ino)
		(void)unlink(path_of(files[PERF_MAP]));
	(void)unlink(path_of(name));
}

static void put(const char *name, const char *text)
{
	FILE *file;

	drop(name);
	file = fopen(path_of(name), "w");
	require(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void put_facts(const struct facts *facts)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "Name:\ta\nUid:\t1\t%u\t1\t1\n", facts->user);
	put("77/status", text);
	(void)snprintf(text, sizeof(text),
		"77 (a) S 1 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 %llu 1 2\n",
		START + (facts->was_replaced ? 1000 : 0));
	put("77/stat", text);
	if (!facts->lives)
		(void)unlink(path_of("77/stat"));
}

/* A perf map has no mark, so its own text is no secret. */
static void change_file(const uint8_t *step)
{
	static const char *const texts[] = { ELFMAG "code", "DTiJ dump", "JiTD dump", "", "DTi",
		SECRET };
	const uint8_t file = step[1] % (sizeof(files) / sizeof(files[0]));

	put(files[file], file == PERF_MAP ? "1000 10 a\n" : PICK(texts, step[2]));
}

/* The process may replace its files, not the kernel's, by symbolic links. */
static void make_link(const uint8_t *step)
{
	const char *name = PICK(files, step[3]);
	char target[256];

	(void)snprintf(target, sizeof(target), "%s", path_of(PICK(files, step[2])));
	drop(name);
	require(symlink(target, path_of(name)) == 0);
}

static void change_names(const uint8_t *step)
{
	static const char *const links[] = { "77/map_files/1000-2000", "77/map_files/2000-3000" };
	char target[128], other[256];

	(void)snprintf(target, sizeof(target), "../../%s", PICK(files, step[2]));
	if (step[1] & 8) {
		make_link(step);
		return;
	}
	if (step[1] & 4) {
		(void)snprintf(other, sizeof(other), "%s", path_of(PICK(files, step[2])));
		drop(PICK(files, step[3]));
		(void)!link(other, path_of(PICK(files, step[3])));
		return;
	}
	(void)unlink(path_of(PICK(links, step[1])));
	require(symlink(target, path_of(PICK(links, step[1]))) == 0);
}

static void change_facts(struct facts *facts, const uint8_t *step)
{
	const unsigned int users[] = { geteuid(), 0, 12345 };

	facts->user = PICK(users, step[1]);
	facts->lives = step[2] % 4 != 0;
	facts->was_replaced = step[3] & 1;
	put_facts(facts);
}

static void change_mode(const uint8_t *step)
{
	static const mode_t modes[] = { 0600, 0644, 0700, 0755, 0640 };

	(void)chmod(path_of(PICK(files, step[1])), PICK(modes, step[2]));
}

/* --- requests --------------------------------------------------------------------------------- */

static void set_path(
	struct pilotlight_broker_request *request, const char *folder, const char *path)
{
	request->has_path = 1;
	(void)snprintf(request->path, sizeof(request->path), "%s%s", folder, path);
}

/* Children are left to broker_children_test. */
static void fill(struct pilotlight_broker_request *request, const uint8_t *step)
{
	static const uint64_t starts[] = { 0, START * TICK_NS, 1, (START + 1000) * TICK_NS };
	static const uint64_t ranges[] = { 0, 0x1000, 0x2000, 0x7000 };

	request->version = PILOTLIGHT_BROKER_VERSION;
	request->operation = step[1] % PILOTLIGHT_BROKER_START_CHILD;
	switch (request->operation) {
	case PILOTLIGHT_BROKER_MAPPING:
	case PILOTLIGHT_BROKER_MARKER:
		request->range_start = PICK(ranges, step[2] >> 2);
		request->range_end = request->range_start ? request->range_start + 0x1000 : 0;
		if (step[3] & 8)
			set_path(request, "", PICK(paths, step[3] >> 4));
		break;
	case PILOTLIGHT_BROKER_PERF_MAP:
		request->ns_pid = 5;
		break;
	case PILOTLIGHT_BROKER_PATH:
	case PILOTLIGHT_BROKER_ALTERNATE_FILE:
		set_path(request, root, step[3] & 8 ? "/host" : "/77/root/tmp/file");
		return;
	case PILOTLIGHT_BROKER_DEBUGLINK:
		set_path(request, root, "/77/root/tmp/program");
		request->has_name = 1;
		strcpy(request->name, "file");
		return;
	default:
		break;
	}
	request->pid = step[3] & 4 ? 78 : 77;
	request->start_ns = PICK(starts, step[3]);
}

static bool is_of_the_process(const struct facts *facts, const struct stat *status)
{
	return status->st_uid == facts->user || facts->user == 0 ||
	       (status->st_uid == 0 && (status->st_mode & S_IROTH));
}

static bool has_right_start(const struct facts *facts, uint64_t start_ns)
{
	return start_ns == 0 || start_ns == (START + (facts->was_replaced ? 1000 : 0)) * TICK_NS;
}

/* The file that a request names by its path alone. Without "..", which the broker may refuse. */
static const char *file_of_path(const struct pilotlight_broker_request *request)
{
	switch (request->operation) {
	case PILOTLIGHT_BROKER_PATH:
	case PILOTLIGHT_BROKER_ALTERNATE_FILE:
		return request->path;
	case PILOTLIGHT_BROKER_DEBUGLINK:
		return path_of("77/root/tmp/file");
	default:
		return NULL;
	}
}

/* No link that a process made led there. */
static void check_path(const struct pilotlight_broker_request *request, const struct stat *opened)
{
	const char *path = file_of_path(request);
	struct stat named;

	if (!path)
		return;
	require(lstat(path, &named) == 0 && S_ISREG(named.st_mode));
	require(named.st_dev == opened->st_dev && named.st_ino == opened->st_ino);
}

static void check_descriptor(
	const struct facts *facts, const struct pilotlight_broker_request *request, int fd)
{
	char bytes[sizeof(SECRET)] = "";
	struct stat status;

	require(fstat(fd, &status) == 0);
	check_path(request, &status);
	require(request->pid == 0 ||
		(request->pid == 77 && has_right_start(facts, request->start_ns)));
	if (request->operation == PILOTLIGHT_BROKER_EXECUTABLE || !S_ISREG(status.st_mode))
		return;
	require(pread(fd, bytes, sizeof(bytes) - 1, 0) >= 0);
	require(strcmp(bytes, SECRET) != 0);
	switch (request->operation) {
	case PILOTLIGHT_BROKER_PERF_MAP:
		require(status.st_nlink == 1 && is_of_the_process(facts, &status));
		break;
	case PILOTLIGHT_BROKER_MARKER:
		require(is_of_the_process(facts, &status));
		require(!*bytes || strncmp(bytes, "DTiJ", 4) == 0 ||
			strncmp(bytes, "JiTD", 4) == 0);
		break;
	case PILOTLIGHT_BROKER_MAPPING:
	case PILOTLIGHT_BROKER_PATH:
	case PILOTLIGHT_BROKER_DEBUGLINK:
	case PILOTLIGHT_BROKER_ALTERNATE_FILE:
		require(strncmp(bytes, ELFMAG, SELFMAG) == 0);
		break;
	default:
		break;
	}
}

static void ask(struct session *session, const uint8_t *step)
{
	struct pilotlight_broker_request request;
	struct pilotlight_broker_answer answer;
	struct broker_message message;
	size_t size = sizeof(request);

	memset(&request, 0, sizeof(request));
	fill(&request, step);
	request.number = ++session->requests;
	/* Some are too short. */
	if (step[0] & 0x80)
		size = 1 + step[2];
	require(send(session->fd, &request, size, 0) == (ssize_t)size);
	require(broker_server_run(session->server) == 0);
	require(broker_socket_receive(session->fd, &answer, sizeof(answer), 2, &message) == 0);
	require(message.size == sizeof(answer));
	require(answer.number == (size == sizeof(request) ? request.number : 0));
	require(message.fd_count == (answer.result == 0 ? 1 : 0));
	if (answer.result == 0)
		check_descriptor(&session->facts, &request, message.fds[0]);
	broker_message_close(&message);
	require(broker_socket_receive(session->fd, &answer, sizeof(answer), 2, &message) ==
		-EAGAIN);
}

/* --- a session -------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static void remove_tree(void)
{
	(void)nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_tree(void)
{
	static const char *const folders[] = { "77", "77/map_files", "77/root", "77/root/tmp",
		"77/root/lib" };

	require(mkdtemp(root) && atexit(remove_tree) == 0);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		require(mkdir(path_of(folders[i]), 0755) == 0);
	put("77/maps", "the maps\n");
	put("77/comm", "a\n");
	require(symlink("root/lib/program", path_of("77/exe")) == 0);
}

/* Each session begins alike. */
static void begin(struct session *session)
{
	static bool is_made;
	const struct broker_options options = {
		.proc_root = root, .debug_root = root, .sys_root = root
	};
	int pair[2];

	if (!is_made)
		make_tree();
	is_made = true;
	*session = (struct session){ .facts = { .user = geteuid(), .lives = true } };
	put_facts(&session->facts);
	for (uint8_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		change_file((const uint8_t[]){ 0, i, 5, 0 });
		(void)chmod(path_of(files[i]), 0755);
	}
	change_names((const uint8_t[]){ 0, 0, 3, 0 });
	change_names((const uint8_t[]){ 0, 1, 1, 0 });
	require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	require(broker_server_new(pair[1], &options, &session->server) == 0);
	session->fd = pair[0];
}

static void end(struct session *session)
{
	const struct broker_server_counters *counters = broker_server_counters(session->server);
	uint64_t counted = 0;

	for (size_t i = 0; i < PILOTLIGHT_BROKER_OPERATIONS; i++)
		counted += counters->opened[i] + counters->refused[i];
	require(counted == session->requests && counters->answers_dropped == 0);
	broker_server_free(session->server);
	require(close(session->fd) == 0);
}

static int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	require(fd >= 0 && close(fd) == 0);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const int descriptor = next_descriptor();
	struct session session;

	if (size > STEP_BYTES * STEPS_MAX)
		return 0;
	begin(&session);
	for (; size >= STEP_BYTES; size -= STEP_BYTES, bytes += STEP_BYTES)
		switch (bytes[0] & 7) {
		case 0:
			change_file(bytes);
			break;
		case 1:
			change_names(bytes);
			break;
		case 2:
			change_facts(&session.facts, bytes);
			break;
		case 3:
			change_mode(bytes);
			break;
		default:
			ask(&session, bytes);
		}
	end(&session);
	require(next_descriptor() == descriptor);
	return 0;
}
