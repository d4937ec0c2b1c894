/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Uploads to a stand-in for the server, which answers each request as it is told. */
#include "send/parca_batch.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { ANSWERS = 4, LOG_BYTES = 4096, LARGE_BYTES = 200000 };

static int batch_fd = -1;
static uint64_t batch_bytes;
static const char *const *answers; /* NULL: a failure */
static unsigned posts;
static char posted[LOG_BYTES]; /* "path body\n" of each request, cut */
static size_t last_bytes;

/* --- batches --- */

static void add_bytes(const void *bytes, size_t size)
{
	assert_int_equal(pwrite(batch_fd, bytes, size, (off_t)batch_bytes), size);
	batch_bytes += size;
}

static void begin_batch(uint32_t binaries)
{
	const struct pilotlight_parca_batch header = {
		.magic = PILOTLIGHT_PARCA_BATCH_MAGIC,
		.version = PILOTLIGHT_PARCA_BATCH_VERSION,
		.binaries = binaries,
	};

	batch_bytes = 0;
	assert_int_equal(ftruncate(batch_fd, 0), 0);
	add_bytes(&header, sizeof(header));
}

static void add_binary(uint8_t id, uint32_t elf_bytes, bool is_named)
{
	const struct pilotlight_parca_binary binary = {
		.symbols_s = 0x65,
		.elf_bytes = elf_bytes,
		.build_id = { id, 0xff },
		.build_id_bytes = 2,
		.is_named = is_named,
	};

	add_bytes(&binary, sizeof(binary));
}

/* Two files, and a binary without names between them. */
static void make_batch(void)
{
	begin_batch(3);
	add_binary(1, 4, true);
	add_binary(2, 0, false);
	add_binary(3, 2, true);
	add_bytes("elf1e2{}", 8);
}

static int set_up(void **state)
{
	batch_fd = memfd_create("batch", MFD_CLOEXEC);
	return batch_fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	return close(batch_fd);
}

/* --- the server --- */

static const char *post(void *context, const char *path, const char *body, size_t size)
{
	const size_t used = strlen(posted);

	(void)snprintf(posted + used, sizeof(posted) - used, "%s %.*s\n", path,
		size < 400 ? (int)size : 400, body);
	last_bytes = size;
	return posts < ANSWERS ? answers[posts++] : NULL;
}

#define YES	"{\"shouldInitiateUpload\":true, \"reason\":\"x\"}"
#define NO	"{\"shouldInitiateUpload\":false, \"reason\":\"Debuginfo already exists\"}"
#define PENDING "{\"shouldInitiateUpload\": false,\"reason\":\"upload is still in-progress\"}"
#define INSTRUCTIONS                                                            \
	"{\"uploadInstructions\":{\"buildId\":\"01ff\", \"uploadId\":\"a-1\", " \
	"\"uploadStrategy\":\"UPLOAD_STRATEGY_GRPC\"}}"
#define UPLOADED "{\"buildId\":\"01ff\", \"size\":\"4\"}"

static bool upload_with(const char *const *with)
{
	struct pilotlight_parca_binary binary;
	struct parca_batch batch;
	uint64_t at;

	answers = with;
	posts = 0;
	posted[0] = '\0';
	assert_int_equal(parca_batch_open(&batch, batch_fd, batch_bytes), 0);
	assert_int_equal(parca_batch_next(&batch, &binary, &at), 0);
	return parca_batch_upload(&batch, &binary, at, post, NULL);
}

#define UPLOAD(...) upload_with((const char *const[ANSWERS]){ __VA_ARGS__ })

/* --- tests --- */

static void binaries_with_names_are_found(void **state)
{
	struct pilotlight_parca_binary binary;
	struct parca_batch batch;
	uint64_t at;

	make_batch();
	assert_int_equal(parca_batch_open(&batch, batch_fd, batch_bytes), 0);
	assert_int_equal(parca_batch_next(&batch, &binary, &at), 0);
	assert_true(binary.build_id[0] == 1 && binary.elf_bytes == 4 && at == 16 + 3 * 40);
	assert_int_equal(parca_batch_next(&batch, &binary, &at), 0);
	assert_true(binary.build_id[0] == 3 && binary.elf_bytes == 2 && at == 16 + 3 * 40 + 4);
	assert_int_equal(parca_batch_next(&batch, &binary, &at), -ENOENT);
	assert_int_equal(batch.at, batch_bytes - 2);
}

static void damage_is_an_error(void **state)
{
	struct pilotlight_parca_binary binary;
	struct parca_batch batch;
	uint64_t at;

	make_batch();
	for (uint64_t size = 0; size < 16 + 3 * 40; size++)
		assert_int_equal(parca_batch_open(&batch, batch_fd, size), -EBADMSG);
	assert_int_equal(parca_batch_open(&batch, batch_fd, 16 + 3 * 40 + 3), 0);
	assert_int_equal(parca_batch_next(&batch, &binary, &at), -EBADMSG);
	/* Shorter than it is said to be. */
	assert_int_equal(ftruncate(batch_fd, 16 + 39), 0);
	assert_int_equal(parca_batch_open(&batch, batch_fd, batch_bytes), 0);
	assert_int_equal(parca_batch_next(&batch, &binary, &at), -EBADMSG);

	begin_batch(PILOTLIGHT_PARCA_BINARIES_MAX + 1);
	assert_int_equal(parca_batch_open(&batch, batch_fd, 1 << 20), -EBADMSG);
	begin_batch(1);
	add_binary(1, PILOTLIGHT_PARCA_ELF_BYTES_MAX + 1, true);
	assert_int_equal(parca_batch_open(&batch, batch_fd, UINT32_MAX), 0);
	assert_int_equal(parca_batch_next(&batch, &binary, &at), -EBADMSG);
}

static void four_requests_upload_names(void **state)
{
	make_batch();
	assert_true(UPLOAD(YES, INSTRUCTIONS, UPLOADED, "{}"));
	assert_string_equal(posted,
		"/shouldinitiateupload {\"buildId\":\"01ff\",\"buildIdType\":\"BUILD_ID_TYPE_GNU\","
		"\"hash\":\"65-4\"}\n"
		"/initiateupload {\"buildId\":\"01ff\",\"buildIdType\":\"BUILD_ID_TYPE_GNU\","
		"\"hash\":\"65-4\",\"size\":\"4\"}\n"
		"/upload {\"info\":{\"buildId\":\"01ff\",\"uploadId\":\"a-1\"}}\n"
		"{\"chunkData\":\"ZWxmMQ==\"}\n"
		"/markuploadfinished {\"buildId\":\"01ff\",\"uploadId\":\"a-1\"}\n");
}

static void names_that_are_there_are_not_uploaded(void **state)
{
	make_batch();
	assert_true(UPLOAD(NO));
	assert_int_equal(posts, 1);
}

static void failures_are_told(void **state)
{
	static const char *const cases[][ANSWERS] = {
		{ NULL },
		{ PENDING },
		{ YES },
		{ YES, "{}" },
		{ YES, "{\"uploadId\":7}" },
		{ YES, "{\"uploadId\":\"\"}" },
		{ YES, "{\"uploadId\":"
		       "\"0123456789012345678901234567890123456789012345678901234567890"
		       "123\"}" },
		{ YES, INSTRUCTIONS },
		{ YES, INSTRUCTIONS, UPLOADED },
	};

	make_batch();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_false(upload_with(cases[i]));
	/* Too large for a batch, or of no build-id. */
	begin_batch(1);
	add_binary(1, 0, true);
	assert_false(UPLOAD(YES, INSTRUCTIONS, UPLOADED, "{}"));
	assert_int_equal(posts, 0);
}

/* What a server says is put into the next requests. */
static void an_answer_stays_a_text(void **state)
{
	make_batch();
	assert_false(UPLOAD(YES, "{\"uploadId\":\"a\\\"}\n{\"}"));
	assert_non_null(strstr(posted, "\"uploadId\":\"a\\\\\"}}\n{\"chunkData\":"));
}

static void large_files_are_in_chunks(void **state)
{
	_cleanup_free_ char *bytes = calloc(1, LARGE_BYTES);

	begin_batch(1);
	add_binary(1, LARGE_BYTES, true);
	add_bytes(bytes, LARGE_BYTES);
	assert_false(UPLOAD(YES, INSTRUCTIONS, NULL));
	/* The data goes in three chunks. Only the last one needs padding. */
	assert_int_equal(last_bytes,
		strlen("{\"info\":{\"buildId\":\"01ff\",\"uploadId\":\"a-1\"}}") +
			3 * strlen("\n{\"chunkData\":\"\"}") + (LARGE_BYTES + 2) / 3 * 4);
	/* The file ends too early. */
	assert_int_equal(ftruncate(batch_fd, LARGE_BYTES / 2), 0);
	assert_false(UPLOAD(YES, INSTRUCTIONS, UPLOADED, "{}"));
	assert_int_equal(posts, 2);
}

static int upload_once(void)
{
	return UPLOAD(YES, INSTRUCTIONS, UPLOADED, "{}") ? 0 : -ENOMEM;
}

static void failing_allocations_are_failures(void **state)
{
	make_batch();
	assert_true(FAIL_EACH_ALLOCATION(upload_once(), -ENOMEM, true, 0) >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(binaries_with_names_are_found),
		cmocka_unit_test(damage_is_an_error),
		cmocka_unit_test(four_requests_upload_names),
		cmocka_unit_test(names_that_are_there_are_not_uploaded),
		cmocka_unit_test(failures_are_told),
		cmocka_unit_test(an_answer_stays_a_text),
		cmocka_unit_test(large_files_are_in_chunks),
		cmocka_unit_test(failing_allocations_are_failures),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
