/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which requests are malformed: each operation requires its own fields and forbids all others. */
#include "broker/broker_request.h"
#include "pilotlight/broker_request.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* One letter for each field that an operation may use; a capital one it must. */
static const char *const uses[PILOTLIGHT_BROKER_OPERATIONS] = {
	[PILOTLIGHT_BROKER_MAPS] = "p",
	[PILOTLIGHT_BROKER_PROCESS_FILE] = "pf",
	[PILOTLIGHT_BROKER_MAPPING] = "prt",
	[PILOTLIGHT_BROKER_MARKER] = "prt",
	[PILOTLIGHT_BROKER_PERF_MAP] = "pn",
	[PILOTLIGHT_BROKER_EXECUTABLE] = "p",
	[PILOTLIGHT_BROKER_PATH] = "T",
	[PILOTLIGHT_BROKER_DEBUG_FILE] = "b",
	[PILOTLIGHT_BROKER_DEBUG_PACKAGE] = "b",
	[PILOTLIGHT_BROKER_DEBUGLINK] = "TM",
	[PILOTLIGHT_BROKER_ALTERNATE_FILE] = "Tb",
	[PILOTLIGHT_BROKER_KERNEL_FILE] = "f",
	[PILOTLIGHT_BROKER_MODULE_NOTE] = "M",
	[PILOTLIGHT_BROKER_CGROUP] = "Tm",
	[PILOTLIGHT_BROKER_START_CHILD] = "f",
	[PILOTLIGHT_BROKER_PROCESS_CONTEXT] = "p",
};

static bool has(uint32_t operation, const char *letters)
{
	return strpbrk(uses[operation], letters) != NULL;
}

static struct pilotlight_broker_request request_of(uint32_t operation)
{
	struct pilotlight_broker_request request;

	memset(&request, 0, sizeof(request));
	request.version = PILOTLIGHT_BROKER_VERSION;
	request.operation = operation;
	request.number = UINT64_MAX;
	if (has(operation, "T")) {
		request.has_path = 1;
		strcpy(request.path, "/a/path");
	}
	if (has(operation, "M")) {
		request.has_name = 1;
		strcpy(request.name, "a name");
	}
	return request;
}

#define FOR_EACH_OPERATION(operation) \
	for (uint32_t operation = 1; operation < PILOTLIGHT_BROKER_OPERATIONS; operation++)

/* Is the request well-formed exactly if the operation uses one of the fields of `letters`? */
static void assert_sound(const struct pilotlight_broker_request *request, const char *letters)
{
	int expected = has(request->operation, letters) ? 0 : -EBADMSG;
	int r = broker_request_check(request);

	if (r != expected)
		print_message("operation %u, fields %s\n", request->operation, letters);
	assert_int_equal(r, expected);
}

static void requests_with_required_fields_are_well_formed(void **state)
{
	FOR_EACH_OPERATION(operation)
	{
		struct pilotlight_broker_request request = request_of(operation);

		assert_int_equal(broker_request_check(&request), 0);
	}
}

static void unknown_versions_and_operations_are_malformed(void **state)
{
	static const uint32_t operations[] = { 0, PILOTLIGHT_BROKER_OPERATIONS, 256, UINT32_MAX };
	struct pilotlight_broker_request request = request_of(PILOTLIGHT_BROKER_MAPS);

	request.version++;
	assert_int_equal(broker_request_check(&request), -EBADMSG);
	request.version = 0;
	assert_int_equal(broker_request_check(&request), -EBADMSG);
	request.version = PILOTLIGHT_BROKER_VERSION;
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		request.operation = operations[i];
		assert_int_equal(broker_request_check(&request), -EBADMSG);
	}
}

static void unused_numbers_must_be_zero(void **state)
{
	FOR_EACH_OPERATION(operation)
	{
		const struct pilotlight_broker_request sound = request_of(operation);
		struct pilotlight_broker_request request = sound;

		request.pid = -1;
		assert_sound(&request, "p");
		request = sound;
		request.start_ns = UINT64_MAX;
		assert_sound(&request, "p");
		request = sound;
		request.range_start = 1;
		assert_sound(&request, "r");
		request = sound;
		request.range_end = UINT64_MAX;
		assert_sound(&request, "r");
		request = sound;
		request.ns_pid = 1;
		assert_sound(&request, "n");
		request = sound;
		request.file = UINT32_MAX;
		assert_sound(&request, "f");
	}
}

static void padding_must_be_zero(void **state)
{
	FOR_EACH_OPERATION(operation)
	{
		struct pilotlight_broker_request request = request_of(operation);

		for (size_t i = 0; i < sizeof(request.padding); i++) {
			request.padding[i] = 1;
			assert_int_equal(broker_request_check(&request), -EBADMSG);
			request.padding[i] = 0;
		}
	}
}

static void build_ids_must_fit_their_size(void **state)
{
	FOR_EACH_OPERATION(operation)
	{
		struct pilotlight_broker_request request = request_of(operation);

		request.build_id_bytes = 20;
		assert_sound(&request, "b");
		memset(request.build_id, 0xff, sizeof(request.build_id));
		assert_sound(&request, "b");
		request.build_id_bytes = 19;
		assert_int_equal(broker_request_check(&request), -EBADMSG);
		request.build_id[19] = 0;
		assert_sound(&request, "b");
		request.build_id_bytes = 0;
		assert_int_equal(broker_request_check(&request), -EBADMSG);
		memset(request.build_id, 0, sizeof(request.build_id));
		request.build_id_bytes = 21;
		assert_int_equal(broker_request_check(&request), -EBADMSG);
		request.build_id_bytes = UINT8_MAX;
		assert_int_equal(broker_request_check(&request), -EBADMSG);
	}
}

/* The one of the request's texts that is at these places. */
struct text {
	size_t has_offset, offset, room;
	const char *letters, *needed;
};

static void assert_text(uint32_t operation, const struct text *text)
{
	struct pilotlight_broker_request request = request_of(operation);
	uint8_t *has_text = (uint8_t *)&request + text->has_offset;
	char *bytes = (char *)&request + text->offset;

	memset(bytes, 0, text->room);
	*has_text = 0;
	assert_int_equal(
		broker_request_check(&request), has(operation, text->needed) ? -EBADMSG : 0);
	*has_text = 1;
	assert_sound(&request, text->letters);
	memset(bytes, 'a', text->room - 1);
	assert_sound(&request, text->letters);
	bytes[text->room - 1] = 'a';
	assert_int_equal(broker_request_check(&request), -EBADMSG);
	memset(bytes, 0, text->room);
	bytes[text->room - 1] = 'a';
	assert_int_equal(broker_request_check(&request), -EBADMSG);
	*has_text = 0;
	assert_int_equal(broker_request_check(&request), -EBADMSG);
	bytes[text->room - 1] = '\0';
	bytes[0] = 'a';
	assert_int_equal(broker_request_check(&request), -EBADMSG);
	*has_text = 2;
	assert_int_equal(broker_request_check(&request), -EBADMSG);
}

static void texts_must_end_and_be_followed_by_zeros(void **state)
{
	static const struct text path = { offsetof(struct pilotlight_broker_request, has_path),
		offsetof(struct pilotlight_broker_request, path), PILOTLIGHT_BROKER_PATH_BYTES,
		"Tt", "T" };
	static const struct text name = { offsetof(struct pilotlight_broker_request, has_name),
		offsetof(struct pilotlight_broker_request, name), PILOTLIGHT_BROKER_NAME_BYTES,
		"Mm", "M" };

	FOR_EACH_OPERATION(operation)
	{
		assert_text(operation, &path);
		assert_text(operation, &name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_with_required_fields_are_well_formed),
		cmocka_unit_test(unknown_versions_and_operations_are_malformed),
		cmocka_unit_test(unused_numbers_must_be_zero),
		cmocka_unit_test(padding_must_be_zero),
		cmocka_unit_test(build_ids_must_fit_their_size),
		cmocka_unit_test(texts_must_end_and_be_followed_by_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
