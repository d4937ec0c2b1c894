/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/broker_request.h"

#include "base/build_id.h"
#include "broker/debug_request.h"
#include "broker/kernel_request.h"
#include "broker/process_request.h"
#include "pilotlight/broker_request.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The fields that an operation uses. */
enum {
	PROCESS = 1 << 0,
	RANGE = 1 << 1,
	NS_PID = 1 << 2,
	FILE_KIND = 1 << 3,
	IDENTITY = 1 << 4,
	PATH = 1 << 5,
	PATH_OR_NONE = 1 << 6,
	NAME = 1 << 7,
	NAME_OR_NONE = 1 << 8,
	USER_MEMORY = 1 << 9, /* no field: what is read takes as long as its user likes */
};

struct operation {
	uint32_t uses;
	int (*open)(const struct broker_roots *roots,
		const struct pilotlight_broker_request *request, int *ret_fd);
};

/* Only a broker_server starts children (broker_children.h), and does so itself. */
static int start_no_child(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	(void)roots;
	(void)request;
	(void)ret_fd;
	return -EINVAL;
}

static const struct operation operations[PILOTLIGHT_BROKER_OPERATIONS] = {
	[PILOTLIGHT_BROKER_MAPS] = { PROCESS, process_request_open_maps },
	[PILOTLIGHT_BROKER_PROCESS_FILE] = { PROCESS | FILE_KIND, process_request_open_file },
	[PILOTLIGHT_BROKER_MAPPING] = { PROCESS | RANGE | PATH_OR_NONE,
		process_request_open_mapping },
	[PILOTLIGHT_BROKER_MARKER] = { PROCESS | RANGE | PATH_OR_NONE,
		process_request_open_marker },
	[PILOTLIGHT_BROKER_PERF_MAP] = { PROCESS | NS_PID, process_request_open_perf_map },
	[PILOTLIGHT_BROKER_EXECUTABLE] = { PROCESS, process_request_open_executable },
	[PILOTLIGHT_BROKER_PATH] = { PATH, debug_request_open_path },
	[PILOTLIGHT_BROKER_DEBUG_FILE] = { IDENTITY, debug_request_open_file },
	[PILOTLIGHT_BROKER_DEBUG_PACKAGE] = { IDENTITY, debug_request_open_package },
	[PILOTLIGHT_BROKER_DEBUGLINK] = { PATH | NAME, debug_request_open_link },
	[PILOTLIGHT_BROKER_ALTERNATE_FILE] = { PATH | IDENTITY, debug_request_open_alternate },
	[PILOTLIGHT_BROKER_KERNEL_FILE] = { FILE_KIND, kernel_request_open_file },
	[PILOTLIGHT_BROKER_MODULE_NOTE] = { NAME, kernel_request_open_module_note },
	[PILOTLIGHT_BROKER_CGROUP] = { PATH | NAME_OR_NONE, kernel_request_open_cgroup },
	[PILOTLIGHT_BROKER_START_CHILD] = { FILE_KIND, start_no_child },
	[PILOTLIGHT_BROKER_PROCESS_CONTEXT] = { PROCESS | USER_MEMORY,
		process_request_copy_context },
};

/* NULL: there is no such operation. */
static const struct operation *find_operation(uint32_t operation)
{
	if (operation >= PILOTLIGHT_BROKER_OPERATIONS || !operations[operation].open)
		return NULL;
	return &operations[operation];
}

static bool are_zero(const void *bytes, size_t size)
{
	const uint8_t *first = bytes;

	return size == 0 || (first[0] == 0 && memcmp(first, first + 1, size - 1) == 0);
}

/* `needed`: the text must be present; `allowed`: it may be. */
static bool is_text(
	const char *text, size_t room, uint8_t has_text, uint32_t needed, uint32_t allowed)
{
	size_t length;

	if (has_text == 0)
		return !needed && are_zero(text, room);
	if (has_text != 1 || !(needed || allowed))
		return false;
	length = strnlen(text, room);
	return length < room && are_zero(text + length, room - length);
}

static bool is_build_id(const struct pilotlight_broker_request *request)
{
	size_t size = request->build_id_bytes;

	return size <= sizeof(request->build_id) &&
	       are_zero(request->build_id + size, sizeof(request->build_id) - size);
}

static bool are_numbers(const struct pilotlight_broker_request *request, uint32_t uses)
{
	if (!(uses & PROCESS) && (request->pid != 0 || request->start_ns != 0))
		return false;
	if (!(uses & RANGE) && (request->range_start != 0 || request->range_end != 0))
		return false;
	if (!(uses & NS_PID) && request->ns_pid != 0)
		return false;
	return (uses & FILE_KIND) || request->file == 0;
}

int broker_request_check(const struct pilotlight_broker_request *request)
{
	const struct operation *operation = find_operation(request->operation);

	_Static_assert(sizeof(request->build_id) == BUILD_ID_BYTES, "the id of a whole build_id");
	if (request->version != PILOTLIGHT_BROKER_VERSION || !operation)
		return -EBADMSG;
	if (!are_numbers(request, operation->uses) ||
		!are_zero(request->padding, sizeof(request->padding)))
		return -EBADMSG;
	if (!is_build_id(request) || (!(operation->uses & IDENTITY) && request->build_id_bytes))
		return -EBADMSG;
	if (!is_text(request->path, sizeof(request->path), request->has_path,
		    operation->uses & PATH, operation->uses & PATH_OR_NONE) ||
		!is_text(request->name, sizeof(request->name), request->has_name,
			operation->uses & NAME, operation->uses & NAME_OR_NONE))
		return -EBADMSG;
	return 0;
}

bool broker_request_is_far_reaching(const struct pilotlight_broker_request *request)
{
	const struct operation *operation = find_operation(request->operation);

	assert(operation);
	return operation->uses & (RANGE | NS_PID | IDENTITY | PATH | PATH_OR_NONE | USER_MEMORY);
}

int broker_request_execute(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	const struct operation *operation = find_operation(request->operation);

	assert(operation);
	return operation->open(roots, request, ret_fd);
}
