/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/profile_format.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LIMIT = 1 << 20 };

/* One sample of main, at main.c:7. */
static struct profile *make_profile(void)
{
	struct profile_binary binary = { .kind = BINARY_EXECUTABLE };
	struct profile_sample sample = { .count = 3 };
	struct profile_thread thread = { .tgid = 1, .tid = 1 };
	struct profile_frame frame = { .line = 7 };
	struct profile *profile;
	uint32_t id, location;

	assert_int_equal(profile_new(LIMIT, &profile), 0);
	assert_int_equal(profile_add_string(profile, "/bin/prog", &binary.path), 0);
	assert_int_equal(profile_add_string(profile, "prog", &thread.comm), 0);
	assert_int_equal(profile_add_string(profile, "main", &frame.function), 0);
	assert_int_equal(profile_add_string(profile, "main.c", &frame.file), 0);
	assert_int_equal(profile_add_binary(profile, &binary, &id), 0);
	assert_int_equal(profile_add_location(profile, id, 0x1000, &location), 0);
	assert_int_equal(profile_name_location(profile, location, &frame, 1), 0);
	assert_int_equal(profile_add_node(profile, PROFILE_ROOT, location, &sample.node), 0);
	assert_int_equal(profile_add_thread(profile, &thread, &sample.thread), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	return profile;
}

/* With a NUL; the caller frees. */
static char *write_as(const char *name, const struct profile_format_options *options)
{
	struct output_memory memory = { .limit_bytes = LIMIT };
	struct output *output = malloc(sizeof(*output));
	struct profile *profile = make_profile();

	assert_non_null(output);
	output_init(output, output_to_memory, &memory);
	assert_int_equal(profile_format_find(name)->write(profile, options, output), 0);
	output_char(output, '\0');
	assert_int_equal(output_finish(output), 0);
	profile_free(profile);
	free(output);
	return memory.bytes;
}

static void formats_are_found(void **state)
{
	static const char *const cases[][2] = {
		{ "x.svg", "svg" },
		{ "/a.svg/x.folded", "folded" },
		{ "x.pb.gz", "pprof" },
		{ "x.otlp.gz", "otlp" },
		{ "x.push.pb", "pyroscope" },
		{ "x.parca", "parca" },
		{ "x.clickhouse", "clickhouse" },
		{ "x.y.txt", "txt" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_ptr_equal(
			profile_format_of_path(cases[i][0]), profile_format_find(cases[i][1]));
	assert_string_equal(profile_formats[0].name, "svg");
	assert_null(profile_format_find(""));
	assert_null(profile_format_find("SVG"));
	assert_null(profile_format_of_path(".svg"));
	assert_null(profile_format_of_path("svg"));
	assert_null(profile_format_of_path("x.gz"));
	assert_null(profile_format_of_path("x.svg/"));
	assert_null(profile_format_of_path(""));
}

static void each_format_says_what_it_is(void **state)
{
	for (const struct profile_format *format = profile_formats; format->name; format++) {
		assert_ptr_equal(profile_format_find(format->name), format);
		assert_int_equal(format->ending[0], '.');
		assert_non_null(strchr(format->content_type, '/'));
		assert_non_null(strstr(profile_format_names(), format->name));
		assert_int_equal(format->is_text, strcmp(format->name, "pprof") != 0 &&
							  strcmp(format->name, "otlp") != 0 &&
							  strcmp(format->name, "pyroscope") != 0 &&
							  strcmp(format->name, "parca") != 0 &&
							  strcmp(format->name, "clickhouse") != 0);
	}
}

static void titles_are_shown(void **state)
{
	const struct profile_format_options options = { .title = "unit a<b\n" };
	char *bytes;

	bytes = write_as("svg", &options);
	assert_non_null(strstr(bytes, "unit a&lt;b"));
	free(bytes);
	bytes = write_as("txt", &options);
	assert_memory_equal(bytes, "# unit a<b\xef\xbf\xbd\n", strlen("# unit a<b\xef\xbf\xbd\n"));
	free(bytes);
	bytes = write_as("folded", &options);
	assert_string_equal(bytes, "prog;main 3\n");
	free(bytes);
	bytes = write_as("pprof", &options);
	assert_memory_equal(bytes, "\x1f\x8b", 2);
	free(bytes);
	bytes = write_as("otlp", &options);
	assert_memory_equal(bytes, "\x1f\x8b", 2);
	free(bytes);
}

static void lines_are_told_apart(void **state)
{
	static const char *const names[] = { "svg", "folded", "txt" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (int by_line = 0; by_line < 2; by_line++) {
			const struct profile_format_options options = {
				.detail = by_line ? FRAME_BY_LINE : FRAME_BY_FUNCTION,
			};
			char *bytes = write_as(names[i], &options);

			assert_non_null(strstr(bytes, "main"));
			assert_int_equal(strstr(bytes, "main (main.c:7)") != NULL, by_line);
			free(bytes);
		}
}

static int ignore(void *context, const void *bytes, size_t size)
{
	return 0;
}

static void every_allocation_may_fail(void **state)
{
	const struct profile_format_options options = { .title = "title" };
	struct output *output = malloc(sizeof(*output));
	struct profile *profile = make_profile();

	assert_non_null(output);
	for (const struct profile_format *format = profile_formats; format->name; format++) {
		size_t n = 0;
		int r;

		for (;; n++) {
			output_init(output, ignore, NULL);
			fail_allocation(n);
			r = format->write(profile, &options, output);
			if (!allocation_failed())
				break;
			assert_int_equal(r, -ENOMEM);
		}
		assert_int_equal(r, 0);
		assert_true(n > 0);
	}
	profile_free(profile);
	free(output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_are_found),
		cmocka_unit_test(each_format_says_what_it_is),
		cmocka_unit_test(titles_are_shown),
		cmocka_unit_test(lines_are_told_apart),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
