/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * systemd/pilotlight.conf is what config_print() writes without a file. With an argument, this
 * writes it there instead of testing.
 */
#include "base/array.h"
#include "config/config_knob.h"
#include "tests/config/config_folder.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char INSTALLED[] = "systemd/pilotlight.conf";
enum { TEXT_BYTES_MAX = 1 << 20 };

/* With a NUL at the end; free(). */
static char *print(const struct config *config)
{
	struct output_memory memory = { .limit_bytes = TEXT_BYTES_MAX };
	struct output *output = malloc(sizeof(*output));

	assert_non_null(output);
	output_init(output, output_to_memory, &memory);
	config_print(config, output);
	output_char(output, '\0');
	assert_int_equal(output_finish(output), 0);
	free(output);
	return memory.bytes;
}

static void load(const char *path, struct config *ret_config)
{
	struct config_problems problems;

	assert_int_equal(config_load(path, 0, ret_config, &problems), 0);
	assert_int_equal(problems.all, 0);
	config_problems_done(&problems);
}

static void the_installed_file_shows_the_defaults(void **state)
{
	struct config config;
	char *printed, *installed = calloc(1, TEXT_BYTES_MAX);
	FILE *file = fopen(INSTALLED, "r");

	assert_non_null(installed);
	assert_non_null(file);
	assert_true(fread(installed, 1, TEXT_BYTES_MAX - 1, file) > 0);
	assert_int_equal(fclose(file), 0);
	load("/tmp/no/such/file.conf", &config);
	printed = print(&config);
	assert_string_equal(installed, printed);
	config_done(&config);
	load(INSTALLED, &config);
	for (size_t i = 0; i < config_knob_count; i++)
		assert_null(config.origins[i].file);
	config_done(&config);
	free(printed);
	free(installed);
}

/* Each line that shows a default is taken as an assignment once its '#' is gone. */
static void defaults_can_be_uncommented(void **state)
{
	struct config_folder folder;
	struct config config;
	char *printed;

	load("/tmp/no/such/file.conf", &config);
	printed = print(&config);
	config_done(&config);
	for (char *at = printed; (at = strstr(at, "\n#")); at++)
		if (at[2] != ' ' && at[2] != '\n')
			at[1] = ' ';
	config_folder_make(&folder);
	/* A group that every machine has. */
	memcpy(strstr(printed, "Group=pilotlight"), "Group=root      ", 16);
	config_folder_write(&folder, "x.conf", printed);
	load(folder.file, &config);
	for (size_t i = 0; i < config_knob_count; i++)
		assert_true(!*config_knobs[i].default_text ||
			    config_is_set(&config, config_knobs[i].section, config_knobs[i].key));
	assert_int_equal(config.sink_count, 1);
	assert_string_equal(config.sinks[0].name, "example");
	for (size_t i = 0; i < config_sink_knob_count; i++)
		assert_true(!*config_sink_knobs[i].default_text || config.sinks[0].origins[i].file);
	assert_int_equal(config.metric_count, 1);
	assert_string_equal(config.metrics[0].name, "example");
	config_done(&config);
	config_folder_remove(&folder);
	free(printed);
}

static void written_values_are_read_back(void **state)
{
	struct config_folder folder;
	struct config config;
	char *first, *second;

	config_folder_make(&folder);
	config_folder_write(&folder, "x.conf",
		"[Sampling]\nFrequencyHz=49\n[History]\nMaxAge=1w 2d\n[Api]\nListen=[::1]:2 "
		"127.0.0.1:1\n"
		"Socket=/run/a b\n[sink one]\nMaxBytes=1G\nHeader=a: b c\nHeader=d: e\nLabel=x=1 "
		"y=2\n[sink two]\n[metric three]\nSelect=unit:a comm:b\nFunction=x|y\n");
	load(folder.file, &config);
	first = print(&config);
	config_done(&config);
	assert_non_null(strstr(first, "\nFrequencyHz=49\n"));
	assert_non_null(strstr(first, "\nMaxAge=1w 2d\n"));
	assert_non_null(strstr(first, "\nListen=[::1]:2\nListen=127.0.0.1:1\n"));
	assert_non_null(strstr(first, "\n#KernelStacks=yes\n"));
	assert_non_null(strstr(first, "\n[sink one]\n# "));
	assert_non_null(strstr(first, "\n[sink two]\n# "));
	assert_non_null(strstr(first, "\nMaxBytes=1G\n"));
	assert_non_null(strstr(first, "\n[metric three]\n# "));
	assert_non_null(strstr(first, "\nSelect=unit:a\nSelect=comm:b\n"));
	assert_non_null(strstr(first, "\nFunction=x|y\n"));
	assert_non_null(strstr(first, "\nHeader=a: b c\nHeader=d: e\n"));
	assert_non_null(strstr(first, "\nLabel=x=1\nLabel=y=2\n"));
	assert_null(strstr(first, "example"));
	config_folder_write(&folder, "x.conf", first);
	load(folder.file, &config);
	second = print(&config);
	config_done(&config);
	assert_string_equal(first, second);
	free(first);
	free(second);
	config_folder_remove(&folder);
}

static int write_template(const char *path)
{
	struct output *output = malloc(sizeof(*output));
	struct config_problems problems;
	struct config config;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), r = -1;

	if (output && fd >= 0 && config_load("/dev/null", 0, &config, &problems) == 0) {
		output_init_fd(output, fd);
		config_print(&config, output);
		r = output_finish(output);
		config_done(&config);
		config_problems_done(&problems);
	}
	free(output);
	return r < 0 || close(fd) < 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_installed_file_shows_the_defaults),
		cmocka_unit_test(defaults_can_be_uncommented),
		cmocka_unit_test(written_values_are_read_back),
	};

	if (argc > 1)
		return write_template(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
