/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/broker.h"

#include "base/array.h"
#include "base/clock.h"
#include "broker/broker_client.h"
#include "broker/broker_request.h"
#include "broker/broker_roots.h"
#include "pilotlight/broker_request.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define ANSWER_TIMEOUT_NS (5 * (uint64_t)NSEC_PER_SEC)

struct broker {
	struct broker_roots roots; /* all NULL: `client` asks another process */
	struct broker_client client;
};

static int broker_alloc(struct broker **ret_broker)
{
	struct broker *broker = calloc(1, sizeof(*broker));

	if (!broker)
		return -ENOMEM;
	broker->client.fd = -1;
	*ret_broker = broker;
	return 0;
}

int broker_new(const struct broker_options *options, struct broker **ret_broker)
{
	_cleanup_(broker_freep) struct broker *broker = NULL;

	if (broker_alloc(&broker) < 0 || broker_roots_init(&broker->roots, options) < 0)
		return -ENOMEM;
	*ret_broker = TAKE_PTR(broker);
	return 0;
}

int broker_connect(int fd, struct broker **ret_broker)
{
	_cleanup_(broker_freep) struct broker *broker = NULL;
	int r = broker_alloc(&broker);

	if (r == 0)
		r = broker_client_init(&broker->client, fd, ANSWER_TIMEOUT_NS);
	if (r < 0)
		return r;
	*ret_broker = TAKE_PTR(broker);
	return 0;
}

void broker_free(struct broker *broker)
{
	if (!broker)
		return;
	broker_client_done(&broker->client);
	broker_roots_done(&broker->roots);
	free(broker);
}

static void request_init(
	struct pilotlight_broker_request *request, enum pilotlight_broker_operation operation)
{
	memset(request, 0, sizeof(*request));
	request->version = PILOTLIGHT_BROKER_VERSION;
	request->operation = operation;
}

static void request_init_process(struct pilotlight_broker_request *request,
	enum pilotlight_broker_operation operation, const struct broker_process *process)
{
	request_init(request, operation);
	request->pid = process->pid;
	request->start_ns = process->start_ns;
}

static int set_text(char *text, size_t room, uint8_t *has_text, const char *value)
{
	size_t length = strnlen(value, room);

	if (length == room)
		return -ENAMETOOLONG;
	memcpy(text, value, length);
	*has_text = true;
	return 0;
}

static int set_path(struct pilotlight_broker_request *request, const char *path)
{
	return set_text(request->path, sizeof(request->path), &request->has_path, path);
}

static int set_name(struct pilotlight_broker_request *request, const char *name)
{
	return set_text(request->name, sizeof(request->name), &request->has_name, name);
}

static int set_build_id(struct pilotlight_broker_request *request, const struct build_id *id)
{
	if (id->size > sizeof(request->build_id))
		return -EINVAL;
	memcpy(request->build_id, id->bytes, id->size);
	request->build_id_bytes = id->size;
	return 0;
}

/* Sends a request whose success is answered with `fd_count` descriptors. */
static int ask_server(struct broker *broker, struct pilotlight_broker_request *request,
	int *ret_fds, size_t fd_count)
{
	struct pilotlight_broker_answer answer;
	const struct broker_exchange exchange = {
		.version = PILOTLIGHT_BROKER_VERSION,
		.timeouts = 1,
		.request = request,
		.answer = &answer,
		.request_bytes = sizeof(*request),
		.answer_bytes = sizeof(answer),
	};
	struct broker_message message;
	int r = broker_client_ask(&broker->client, &exchange, &message);

	if (r < 0)
		return r;
	if (answer.result < 0)
		return answer.result;
	if (answer.result > 0 || message.fd_count != fd_count) {
		broker_message_close(&message);
		return -EBADMSG;
	}
	memcpy(ret_fds, message.fds, fd_count * sizeof(*ret_fds));
	return 0;
}

static int ask(struct broker *broker, struct pilotlight_broker_request *request, int *ret_fd)
{
	int r;

	if (!broker->roots.proc)
		return ask_server(broker, request, ret_fd, 1);
	r = broker_request_check(request);
	return r < 0 ? r : broker_request_execute(&broker->roots, request, ret_fd);
}

int broker_open_maps(struct broker *broker, const struct broker_process *process, int *ret_fd)
{
	struct pilotlight_broker_request request;

	request_init_process(&request, PILOTLIGHT_BROKER_MAPS, process);
	return ask(broker, &request, ret_fd);
}

int broker_open_process_file(struct broker *broker, const struct broker_process *process,
	enum broker_process_file file, int *ret_fd)
{
	struct pilotlight_broker_request request;

	request_init_process(&request, PILOTLIGHT_BROKER_PROCESS_FILE, process);
	request.file = file;
	return ask(broker, &request, ret_fd);
}

static int open_mapping(struct broker *broker, enum pilotlight_broker_operation operation,
	const struct broker_process *process, uint64_t start, uint64_t end, const char *path,
	int *ret_fd)
{
	struct pilotlight_broker_request request;
	int r;

	request_init_process(&request, operation, process);
	request.range_start = start;
	request.range_end = end;
	r = path ? set_path(&request, path) : 0;
	return r < 0 ? r : ask(broker, &request, ret_fd);
}

int broker_open_mapping(struct broker *broker, const struct broker_process *process, uint64_t start,
	uint64_t end, const char *path, int *ret_fd)
{
	return open_mapping(broker, PILOTLIGHT_BROKER_MAPPING, process, start, end, path, ret_fd);
}

int broker_open_marker(struct broker *broker, const struct broker_process *process, uint64_t start,
	uint64_t end, const char *path, int *ret_fd)
{
	return open_mapping(broker, PILOTLIGHT_BROKER_MARKER, process, start, end, path, ret_fd);
}

int broker_open_perf_map(
	struct broker *broker, const struct broker_process *process, uint32_t ns_pid, int *ret_fd)
{
	struct pilotlight_broker_request request;

	request_init_process(&request, PILOTLIGHT_BROKER_PERF_MAP, process);
	request.ns_pid = ns_pid;
	return ask(broker, &request, ret_fd);
}

int broker_open_executable(struct broker *broker, const struct broker_process *process, int *ret_fd)
{
	struct pilotlight_broker_request request;

	request_init_process(&request, PILOTLIGHT_BROKER_EXECUTABLE, process);
	return ask(broker, &request, ret_fd);
}

int broker_copy_process_context(
	struct broker *broker, const struct broker_process *process, int *ret_fd)
{
	struct pilotlight_broker_request request;

	request_init_process(&request, PILOTLIGHT_BROKER_PROCESS_CONTEXT, process);
	return ask(broker, &request, ret_fd);
}

int broker_open_path(struct broker *broker, const char *path, int *ret_fd)
{
	struct pilotlight_broker_request request;
	int r;

	request_init(&request, PILOTLIGHT_BROKER_PATH);
	r = set_path(&request, path);
	return r < 0 ? r : ask(broker, &request, ret_fd);
}

static int open_by_build_id(struct broker *broker, enum pilotlight_broker_operation operation,
	const struct build_id *id, int *ret_fd)
{
	struct pilotlight_broker_request request;
	int r;

	request_init(&request, operation);
	r = set_build_id(&request, id);
	return r < 0 ? r : ask(broker, &request, ret_fd);
}

int broker_open_debug_file(struct broker *broker, const struct build_id *id, int *ret_fd)
{
	return open_by_build_id(broker, PILOTLIGHT_BROKER_DEBUG_FILE, id, ret_fd);
}

int broker_open_debug_package(struct broker *broker, const struct build_id *id, int *ret_fd)
{
	return open_by_build_id(broker, PILOTLIGHT_BROKER_DEBUG_PACKAGE, id, ret_fd);
}

int broker_open_debuglink(
	struct broker *broker, const char *binary_path, const char *name, int *ret_fd)
{
	struct pilotlight_broker_request request;
	int r;

	request_init(&request, PILOTLIGHT_BROKER_DEBUGLINK);
	r = set_path(&request, binary_path);
	if (r == 0)
		r = set_name(&request, name);
	return r < 0 ? r : ask(broker, &request, ret_fd);
}

int broker_open_alternate_file(
	struct broker *broker, const char *path, const struct build_id *id, int *ret_fd)
{
	struct pilotlight_broker_request request;
	int r;

	request_init(&request, PILOTLIGHT_BROKER_ALTERNATE_FILE);
	r = set_path(&request, path);
	if (r == 0)
		r = set_build_id(&request, id);
	return r < 0 ? r : ask(broker, &request, ret_fd);
}

int broker_open_kernel_file(struct broker *broker, enum broker_kernel_file file, int *ret_fd)
{
	struct pilotlight_broker_request request;

	request_init(&request, PILOTLIGHT_BROKER_KERNEL_FILE);
	request.file = file;
	return ask(broker, &request, ret_fd);
}

int broker_open_module_note(struct broker *broker, const char *name, int *ret_fd)
{
	struct pilotlight_broker_request request;

	request_init(&request, PILOTLIGHT_BROKER_MODULE_NOTE);
	/* No module has such a name. */
	if (set_name(&request, name) < 0)
		return -EINVAL;
	return ask(broker, &request, ret_fd);
}

int broker_open_cgroup(struct broker *broker, const char *mount, const char *path, int *ret_fd)
{
	struct pilotlight_broker_request request;
	int r;

	request_init(&request, PILOTLIGHT_BROKER_CGROUP);
	r = set_path(&request, path);
	if (r == 0 && mount)
		r = set_name(&request, mount);
	return r < 0 ? r : ask(broker, &request, ret_fd);
}

bool broker_is_remote(const struct broker *broker)
{
	return !broker->roots.proc;
}

int broker_start_child(
	struct broker *broker, enum broker_child kind, int *ret_socket_fd, int *ret_end_fd)
{
	struct pilotlight_broker_request request;
	int fds[2], r;

	assert(broker_is_remote(broker));
	request_init(&request, PILOTLIGHT_BROKER_START_CHILD);
	request.file = kind;
	r = ask_server(broker, &request, fds, ARRAY_SIZE(fds));
	if (r < 0)
		return r;
	*ret_socket_fd = fds[0];
	*ret_end_fd = fds[1];
	return 0;
}
