/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads batches back, and follows what refers to what. */
#include "export/clickhouse.h"

#include "export/clickhouse_places.h"
#include "tests/export/clickhouse_reader.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define CONTAINER  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ATTRIBUTES "host.id=abc,tier=1"

static void write_labels(
	const struct profile *profile, enum pprof_labels labels, struct batch *batch)
{
	const struct clickhouse_options options = { labels, "h\xc3\xb6st", ATTRIBUTES, 10 };
	struct output_memory memory = { .limit_bytes = OUTPUT_LIMIT };
	struct output output;

	output_init(&output, output_to_memory, &memory);
	assert_int_equal(clickhouse_write(profile, &options, &output), 0);
	assert_int_equal(output_finish(&output), 0);
	*batch = (struct batch){ .bytes = memory.bytes, .size = memory.size };
	read_batch(batch);
}

static void write_batch(const struct profile *profile, struct batch *batch)
{
	write_labels(profile, PPROF_LABELS_ALL, batch);
}

/* --- what refers to what --- */

static const struct row *find(const struct request *request, uint64_t id)
{
	for (size_t i = 0; i < request->count; i++)
		if (request->rows[i].id == id)
			return &request->rows[i];
	fail_msg("nothing has the id %" PRIx64, id);
	return NULL;
}

static const struct row *find_names(const struct batch *batch, const struct row *location)
{
	const struct request *names = &batch->requests[NAMES];

	for (size_t i = 0; i < names->count; i++)
		if (names->rows[i].vaddr == location->vaddr &&
			strcmp(names->rows[i].build_id.bytes, location->build_id.bytes) == 0)
			return &names->rows[i];
	return NULL;
}

/* "leaf;caller;root", with the kinds of those without names. */
static const char *stack_of(const struct batch *batch, const struct row *sample)
{
	static char text[1024];
	const struct row *stack = find(&batch->requests[STACKS], sample->stack);
	size_t used = 0;

	for (size_t i = 0; i < stack->number_count; i++) {
		const struct row *location = find(&batch->requests[LOCATIONS], stack->numbers[i]);
		const struct row *names = find_names(batch, location);

		for (size_t k = 0; names && k < names->functions.count; k++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s;",
				names->functions.items[k].bytes);
		if (!names)
			used += (size_t)snprintf(text + used, sizeof(text) - used,
				"%s+%" PRIx64 ";", location->build_id.bytes, location->vaddr);
	}
	return text;
}

/* The row of a service and a stack, of which there must be one. */
static const struct row *sample_of(
	const struct batch *batch, const char *service, const char *comm, const char *stack)
{
	const struct request *samples = &batch->requests[SAMPLES];
	const struct row *found = NULL;
	char label[TEXT_ROOM];

	(void)snprintf(label, sizeof(label), "comm=%s", comm);
	for (size_t i = 0; i < samples->count; i++) {
		const struct row *row = &samples->rows[i];
		bool has_comm = !*comm;

		for (size_t k = 0; k < row->labels.count; k++)
			has_comm |= strcmp(row->labels.items[k].bytes, label) == 0;
		if (!has_comm || strcmp(row->service.bytes, service) != 0 ||
			strcmp(stack_of(batch, row), stack) != 0)
			continue;
		assert_null(found);
		found = row;
	}
	if (!found)
		fail_msg("no row of %s has the stack %s", service, stack);
	return found;
}

static uint64_t sum_of(const struct batch *batch)
{
	const struct request *samples = &batch->requests[SAMPLES];
	uint64_t sum = 0;

	for (size_t i = 0; i < samples->count; i++)
		sum += samples->rows[i].value;
	return sum;
}

/* --- profiles --- */

static void name(struct profile *profile, uint32_t location, size_t count)
{
	const struct profile_frame frames[] = {
		{ string(profile, "inner"), string(profile, "a.h"), 3, 1 },
		{ string(profile, "outer"), string(profile, "a.c"), 30, 0 },
	};

	assert_int_equal(profile_name_location(profile, location, frames, (uint32_t)count), 0);
}

static struct profile *busy_profile(void)
{
	struct profile *profile = new_profile();
	uint32_t file = add_file(profile, "/lib/liba.so", "\x01\xab");
	uint32_t jit = add_binary(profile, BINARY_JIT, "");
	const char *const cgroups[] = { "/", "/system.slice/nginx.service",
		"/system.slice/docker-" CONTAINER ".scope", "/system.slice/nginx.service/worker" };
	uint32_t locations[3];

	locations[0] = add_location(profile, file, 0x1100);
	locations[1] = add_location(profile, file, 0x2200);
	name(profile, locations[1], 2);
	locations[2] = add_named(profile, jit, 0x7f0020, "work", "", 0);
	for (uint32_t i = 0; i < 4; i++) {
		struct profile_thread thread = { .tgid = 10 + i,
			.tid = 20 + i,
			.comm = string(profile, "thread"),
			.exe = string(profile, "/bin/x"),
			.cgroup = string(profile, cgroups[i]) };

		add_sample(profile, add_stack(profile, locations, 3), &thread, 1U << i);
		add_sample(profile, add_stack(profile, locations, 1), &thread, 16U << i);
	}
	add_sample(profile, PROFILE_ROOT, &(struct profile_thread){ .tid = 1 }, 256);
	profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL] = 1000;
	return profile;
}

/* --- tests --- */

static void rows_refer_to_rows_that_are_there(void **state)
{
	struct profile *profile = busy_profile();
	struct batch batch;
	const struct row *row;

	write_batch(profile, &batch);
	assert_int_equal(sum_of(&batch), 15 + 240 + 256 + 1000);
	/* Threads of one service, name and program are one. */
	row = sample_of(&batch, "nginx", "thread", "work;inner;outer;01ab+1100;");
	assert_int_equal(row->value, 2 + 8);
	assert_int_equal(row->start_s, 1790000000);
	assert_int_equal(row->duration_ns, 2500000000);
	assert_int_equal(row->period, 10101010);
	assert_true(row->weight == 10);
	assert_string_equal(row->type.bytes, "cpu");
	assert_int_equal(row->labels.count, 5);
	assert_string_equal(row->labels.items[0].bytes, "unit=nginx.service");
	assert_string_equal(row->labels.items[1].bytes, "comm=thread");
	assert_string_equal(row->labels.items[2].bytes, "exe=/bin/x");
	assert_string_equal(row->labels.items[3].bytes, "host.id=abc");
	assert_string_equal(row->labels.items[4].bytes, "tier=1");
	row = sample_of(&batch, "container-0123456789ab", "thread", "01ab+1100;");
	assert_int_equal(row->value, 64);
	assert_string_equal(row->labels.items[1].bytes, "container=" CONTAINER);
	assert_int_equal(sample_of(&batch, "unknown_service", "thread", "01ab+1100;")->value, 16);
	assert_int_equal(sample_of(&batch, "unknown_service", "", "[unknown];")->value, 256);
	assert_int_equal(
		sample_of(&batch, "unknown_service", "", "[lost: ring full];")->value, 1000);
	batch_done(&batch);
	profile_free(profile);
}

static void each_table_has_its_columns(void **state)
{
	struct profile *profile = busy_profile();
	const struct row *names, *location;
	struct batch batch;

	write_batch(profile, &batch);
	/* Two of the file, one of generated code, a loss, none. */
	assert_int_equal(batch.requests[LOCATIONS].count, 5);
	assert_int_equal(batch.requests[NAMES].count, 4);
	assert_int_equal(batch.requests[STACKS].count, 4);
	location = find(&batch.requests[LOCATIONS],
		find(&batch.requests[STACKS],
			sample_of(&batch, "nginx", "thread", "work;inner;outer;01ab+1100;")->stack)
			->numbers[1]);
	assert_string_equal(location->build_id.bytes, "01ab");
	assert_string_equal(location->kind.bytes, "library");
	assert_string_equal(location->path.bytes, "/lib/liba.so");
	assert_int_equal(location->vaddr, 0x2200);
	assert_int_equal(location->day, 1790000000 / 86400);
	names = find_names(&batch, location);
	assert_int_equal(names->rank, PILOTLIGHT_NAME_LINE);
	assert_string_equal(names->files.items[1].bytes, "a.c");
	assert_int_equal(names->numbers[0], 3);
	assert_int_equal(names->numbers[1], 30);
	batch_done(&batch);
	profile_free(profile);
}

static void the_identity_is_of_the_first_row(void **state)
{
	static const char texts[] = "cpu\0unknown_service\0h\xc3\xb6st\0host.id=abc";
	struct pilotlight_clickhouse_identity identity;
	struct profile *profile = busy_profile();
	struct batch batch;

	write_batch(profile, &batch);
	assert_int_equal(batch.requests[IDENTITY].size, sizeof(identity) + sizeof(texts));
	memcpy(&identity, batch.requests[IDENTITY].plain, sizeof(identity));
	assert_int_equal(identity.ts, 1790000000);
	assert_int_equal(identity.duration_ns, 2500000000);
	assert_memory_equal(
		batch.requests[IDENTITY].plain + sizeof(identity), texts, sizeof(texts));
	assert_string_equal(batch.requests[SAMPLES].rows[0].service.bytes, "unknown_service");
	batch_done(&batch);
	profile_free(profile);
}

static void labels_of_threads_can_be_left_out(void **state)
{
	struct profile *profile = busy_profile();
	const struct row *row;
	struct batch batch;

	write_labels(profile, PPROF_LABELS_SERVICE, &batch);
	row = sample_of(&batch, "nginx", "", "work;inner;outer;01ab+1100;");
	assert_int_equal(row->labels.count, 3);
	assert_string_equal(row->labels.items[1].bytes, "host.id=abc");
	assert_int_equal(row->value, 10);
	batch_done(&batch);
	profile_free(profile);
}

static void times_are_rounded_to_seconds(void **state)
{
	struct profile *profile = busy_profile();
	struct batch batch;

	profile->start_ns -= 3000000;
	profile->covered_ns = 7;
	profile->event = string(profile, "sched:sched_switch");
	write_batch(profile, &batch);
	assert_int_equal(batch.requests[SAMPLES].rows[0].start_s, 1790000000);
	assert_int_equal(batch.requests[SAMPLES].rows[0].duration_ns, 7);
	assert_string_equal(batch.requests[SAMPLES].rows[0].type.bytes, "sched:sched_switch");
	batch_done(&batch);
	profile->event = string(profile, "offcpu");
	write_batch(profile, &batch);
	assert_string_equal(batch.requests[SAMPLES].rows[0].type.bytes, "offcpu");
	batch_done(&batch);
	profile_free(profile);
}

static void nothing_inserts_nothing(void **state)
{
	struct profile *profile = new_profile();
	struct batch batch;

	write_batch(profile, &batch);
	for (size_t i = NAMES; i < REQUESTS; i++)
		assert_null(batch.requests[i].plain);
	assert_non_null(batch.requests[IDENTITY].plain);
	batch_done(&batch);
	profile_free(profile);
}

/* The counts of a span. It must have one row. */
static const struct row *span_of(const struct batch *batch, uint8_t trace, uint8_t span)
{
	const struct request *spans = &batch->requests[SPANS];
	const struct row *found = NULL;

	for (size_t i = 0; i < spans->count; i++) {
		if (spans->rows[i].trace_id[15] != trace || spans->rows[i].span_id[0] != span)
			continue;
		assert_null(found);
		found = &spans->rows[i];
	}
	assert_non_null(found);
	return found;
}

static struct profile *profile_with_spans(void)
{
	struct profile *profile = busy_profile();
	uint32_t locations[] = { 0, 1, 2 };
	uint32_t node = add_stack(profile, locations, 3);
	struct profile_thread thread = { .comm = string(profile, "thread"),
		.exe = string(profile, "/bin/x") };

	/* Two threads of one service, in the same span. */
	thread.cgroup = string(profile, "/system.slice/nginx.service");
	thread.tgid = 11, thread.tid = 21;
	add_span(profile, node, &thread, 2, 0xa1, 0xb1);
	thread.cgroup = string(profile, "/system.slice/nginx.service/worker");
	thread.tgid = 13, thread.tid = 23;
	add_span(profile, node, &thread, 3, 0xa1, 0xb2);
	add_span(profile, node, &thread, 3, 0xa1, 0xb1);
	/* That is more than the thread's 8. */
	add_span(profile, node, &thread, 4, 0xa1, 0xb3);
	return profile;
}

static void spans_are_rows_of_their_own(void **state)
{
	static const char stack[] = "work;inner;outer;01ab+1100;";
	struct profile *profile = profile_with_spans();
	const struct row *sample, *row;
	struct batch batch;
	uint64_t sum = 0;

	write_batch(profile, &batch);
	/* Samples are as without spans. */
	assert_int_equal(sum_of(&batch), 15 + 240 + 256 + 1000);
	sample = sample_of(&batch, "nginx", "thread", stack);
	assert_int_equal(sample->value, 2 + 8);
	assert_int_equal(batch.requests[SPANS].count, 3);
	for (uint8_t span = 0xb1; span <= 0xb3; span++) {
		row = span_of(&batch, 0xa1, span);
		assert_int_equal(row->stack, sample->stack);
		assert_string_equal(row->service.bytes, "nginx");
		assert_string_equal(row->labels.items[1].bytes, "comm=thread");
		assert_int_equal(row->start_s, sample->start_s);
		sum += row->value;
	}
	/* The last spans of a sample come first. */
	assert_int_equal(sum, 2 + 8);
	assert_int_equal(span_of(&batch, 0xa1, 0xb1)->value, 2 + 3);
	assert_int_equal(span_of(&batch, 0xa1, 0xb2)->value, 1);
	batch_done(&batch);
	write_labels(profile, PPROF_LABELS_SERVICE, &batch);
	assert_int_equal(batch.requests[SPANS].count, 0);
	assert_int_equal(sample_of(&batch, "nginx", "", stack)->value, 10);
	batch_done(&batch);
	profile_free(profile);
}

/* Someone may give each sample a span of its own. */
static void spans_of_a_stack_are_bounded(void **state)
{
	struct profile *profile = new_profile();
	uint32_t jit = add_binary(profile, BINARY_JIT, "");
	uint32_t location = add_named(profile, jit, 0x7f0020, "work", "", 0);
	uint32_t node = add_stack(profile, &location, 1);
	struct profile_thread thread = { .tid = 5, .cgroup = string(profile, "/") };
	struct batch batch;

	add_sample(profile, node, &thread, 100);
	for (unsigned i = 1; i <= 100; i++)
		add_span(profile, node, &thread, 1, 0xa1, (uint8_t)i);
	write_batch(profile, &batch);
	assert_int_equal(batch.requests[SPANS].count, CLICKHOUSE_SPANS_OF_STACK + 1);
	assert_int_equal(span_of(&batch, 0, 0)->value, 100 - CLICKHOUSE_SPANS_OF_STACK);
	batch_done(&batch);
	profile_free(profile);
}

/* No two rows of a batch are equal. */
static void nodes_of_one_stack_are_one_row(void **state)
{
	struct profile *profile = new_profile();
	uint32_t jit = add_binary(profile, BINARY_JIT, "");
	struct profile_thread thread = { .tid = 5, .cgroup = string(profile, "/") };
	struct batch batch;

	for (uint32_t i = 0; i < 3; i++) {
		uint32_t location = add_named(profile, jit, 0x7f0020 + 8 * i, "work", "", 0);
		uint32_t node = add_stack(profile, &location, 1);

		add_sample(profile, node, &thread, 1);
		add_span(profile, node, &thread, 1, 0xa1, 0xb1);
	}
	write_batch(profile, &batch);
	assert_int_equal(sample_of(&batch, "unknown_service", "", "work;")->value, 3);
	assert_int_equal(span_of(&batch, 0xa1, 0xb1)->value, 3);
	batch_done(&batch);
	profile_free(profile);
}

static void claims_are_labels(void **state)
{
	struct profile *profile = new_profile();
	uint32_t jit = add_binary(profile, BINARY_JIT, "");
	uint32_t location = add_named(profile, jit, 1, "work", "", 0);
	uint32_t node = add_stack(profile, &location, 1);
	struct profile_thread thread = { .tid = 1, .claims = string(profile, "shop,eu,test") };
	const struct row *row;
	struct batch batch;

	thread.cgroup = string(profile, "/");
	add_sample(profile, node, &thread, 1);
	thread.claims = string(profile, "nginx");
	add_sample(profile, node, &thread, 2);
	/* A unit is what the kernel tells. */
	thread.cgroup = string(profile, "/system.slice/db.service");
	add_sample(profile, node, &thread, 4);
	write_batch(profile, &batch);
	row = sample_of(&batch, "shop", "", "work;");
	assert_int_equal(row->value, 1);
	assert_string_equal(row->labels.items[0].bytes, "claimed_service=shop");
	assert_string_equal(row->labels.items[1].bytes, "claimed_namespace=eu");
	assert_string_equal(row->labels.items[2].bytes, "claimed_environment=test");
	assert_string_equal(row->labels.items[3].bytes, "host.id=abc");
	assert_int_equal(sample_of(&batch, "nginx", "", "work;")->value, 2);
	row = sample_of(&batch, "db", "", "work;");
	assert_int_equal(row->value, 4);
	assert_string_equal(row->labels.items[1].bytes, "claimed_service=nginx");
	assert_memory_equal(batch.requests[IDENTITY].plain +
				    sizeof(struct pilotlight_clickhouse_identity) + sizeof("cpu"),
		batch.requests[SAMPLES].rows[0].service.bytes, sizeof("shop"));
	batch_done(&batch);
	write_labels(profile, PPROF_LABELS_SERVICE, &batch);
	assert_int_equal(sample_of(&batch, "db", "", "work;")->labels.count, 3);
	assert_int_equal(sample_of(&batch, "shop", "", "work;")->labels.count, 5);
	batch_done(&batch);
	profile_free(profile);
}

/* --- failures --- */

static int write_once(const struct profile *profile)
{
	const struct clickhouse_options options = { PPROF_LABELS_ALL, "h", ATTRIBUTES, 1 };
	struct output_memory memory = { .limit_bytes = OUTPUT_LIMIT };
	struct output output;
	int r;

	output_init(&output, output_to_memory, &memory);
	r = clickhouse_write(profile, &options, &output);
	free(memory.bytes);
	return r;
}

static void failing_allocations_are_reported(void **state)
{
	struct profile *profile = profile_with_spans();

	assert_true(FAIL_EACH_ALLOCATION(write_once(profile), -ENOMEM, true, 0) >= 20);
	profile_free(profile);
}

static int fail_to_write(void *context, const void *bytes, size_t size)
{
	(void)context;
	(void)bytes;
	(void)size;
	return -ENOSPC;
}

static void an_output_that_fails_is_reported(void **state)
{
	const struct clickhouse_options options = { PPROF_LABELS_ALL, "h", NULL, 1 };
	struct profile *profile = busy_profile();
	struct output output;

	output_init(&output, fail_to_write, NULL);
	output.error = -ENOSPC;
	assert_int_equal(clickhouse_write(profile, &options, &output), -ENOSPC);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_refer_to_rows_that_are_there),
		cmocka_unit_test(each_table_has_its_columns),
		cmocka_unit_test(the_identity_is_of_the_first_row),
		cmocka_unit_test(labels_of_threads_can_be_left_out),
		cmocka_unit_test(spans_are_rows_of_their_own),
		cmocka_unit_test(spans_of_a_stack_are_bounded),
		cmocka_unit_test(nodes_of_one_stack_are_one_row),
		cmocka_unit_test(claims_are_labels),
		cmocka_unit_test(times_are_rounded_to_seconds),
		cmocka_unit_test(nothing_inserts_nothing),
		cmocka_unit_test(failing_allocations_are_reported),
		cmocka_unit_test(an_output_that_fails_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
