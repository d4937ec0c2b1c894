/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/commands.h"

#include "tests/harness/failing_allocation.h"
#include "tests/tools/command_run.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* --- every command ---------------------------------------------------------------------------- */

static bool is_within_80_columns(const char *text)
{
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (strcspn(text, "\n") > 80)
			return false;
	return true;
}

static void check_help(const struct command *command)
{
	char line[128], usage[128], option[64];

	(void)snprintf(usage, sizeof(usage), "usage: pilotlight%s%s ", *command->name ? " " : "",
		command->name);
	for (int i = 0; i < 2; i++) {
		(void)snprintf(line, sizeof(line), "%s%s%s", command->name,
			*command->name ? " " : "", i == 0 ? "--help" : "-h");
		assert_int_equal(command_run(&pilotlight_command, line), 0);
		assert_memory_equal(ran.out, usage, strlen(usage));
		assert_string_equal(ran.err, "");
	}
	assert_true(is_within_80_columns(ran.out));
	for (size_t t = 0; t < COMMAND_TABLES_MAX && command->options[t]; t++)
		for (const struct option_row *row = command->options[t]; row->kind; row++) {
			(void)snprintf(option, sizeof(option), "%s%s", row->name ? "--" : "-",
				row->name ? row->name : (char[]){ row->letter, '\0' });
			assert_true(!row->help || strstr(ran.out, option));
		}
	for (size_t i = 0; command->commands && command->commands[i]; i++)
		assert_non_null(strstr(ran.out, command->commands[i]->summary));
	for (size_t i = 0; command->commands && command->commands[i]; i++)
		check_help(command->commands[i]);
}

static void every_command_explains_itself(void **state)
{
	check_help(&pilotlight_command);
}

static const struct {
	const char *name, *arguments, *sentence;
} misuses[] = {
	{ "", "frobnicate", "there is no command 'frobnicate'; see" },
	{ "", "recrod", "there is no command 'recrod'; did you mean 'record'?" },
	{ "symbols", "lsit", "did you mean 'list'?" },
	{ "", "help recrod", "there is no command 'recrod'; did you mean 'record'?" },
	{ "", "help doctor symbols", "doctor has no commands, such as 'symbols'" },
	{ "record", "--durration=3", "no option '--durration=3'; did you mean '--duration'?" },
	{ "record", "--unwind=atuo", "takes auto|fp, not 'atuo'; did you mean 'auto'?" },
	{ "symbols", "frobnicate", "there is no command 'symbols frobnicate'" },
	{ "doctor", "--nonsense", "there is no option '--nonsense'" },
	{ "doctor", "x", "doctor takes options alone, not 'x'" },
	{ "symbols add", "", "symbols add needs a file" },
	{ "symbols add", "-j 0 x", "-j takes a number from 1 to 64, not '0'" },
	{ "symbols add", "-j 65 x", "not '65'" },
	{ "symbols add", "-j 1K x", "not '1K'" },
	{ "symbols add", "-j x x", "not 'x'" },
	{ "symbols add", "--memory 1M x", "--memory takes 16M or more, not '1M'" },
	{ "symbols add", "--memory much x", "--memory takes a number of bytes" },
	{ "symbols add", "--timeout 0 x", "from 1 to 86400, not '0'" },
	{ "symbols add", "--timeout 86401 x", "not '86401'" },
	{ "symbols add", "--timeout 1s x", "not '1s'" },
	{ "symbols add", "--debug x one two", "and there is also 'two'" },
	{ "symbols add", "--nonsense x", "'--nonsense'" },
	{ "symbols fetch", "", "symbols fetch needs a build-id" },
	{ "symbols fetch", "a b", "no further argument, such as 'b'" },
	{ "symbols fetch", "--timeout 0 12345678", "not '0'" },
	{ "symbols fetch", "--timeout x 12345678", "not 'x'" },
	{ "symbols fetch", "--timeout 1M 12345678", "not '1M'" },
	{ "symbols fetch", "--timeout 86401 12345678", "not '86401'" },
	{ "symbols fetch", "--urls", "--urls needs URLS" },
	{ "symbols list", "--sort size", "--sort takes used|name, not 'size'" },
	{ "symbols list", "--sort", "--sort needs used|name" },
	{ "symbols list", "x", "'x'" },
	{ "symbols list", "--cache ", "--cache takes DIR, not ''" },
	{ "symbols lookup", "", "needs a build-id" },
	{ "symbols lookup", "--nonsense 12345a", "'--nonsense'" },
	{ "symbols lookup", "--cache", "--cache needs DIR" },
	{ "symbols prune", "--max-bytes", "--max-bytes needs SIZE" },
	{ "symbols prune", "--max-bytes x", "not 'x'" },
	{ "symbols prune", "--max-bytes 1.5G", "not '1.5G'" },
	{ "symbols prune", "--max-bytes 99999999999T", "--max-bytes takes" },
	{ "symbols prune", "--max-bytes -1", "not '-1'" },
	{ "symbols prune", "x", "'x'" },
	{ "symbols show", "", "symbols show needs a build-id" },
	{ "symbols show", "1234 5678", "'5678'" },
	{ "symbols verify", "x", "'x'" },
	{ "symbols verify", "--remove=x", "--remove takes no value" },
	{ "jit dump", "", "jit dump needs a jitdump file" },
	{ "jit dump", "a b", "'b'" },
	{ "jit dump", "-x", "there is no option '-x'" },
	{ "jit list", "x", "'x'" },
	{ "jit list", "--at 5", "'--at'" },
	{ "jit symbols", "", "jit symbols needs a jitdump file or a perf map" },
	{ "jit symbols", "--at 5s x", "--at takes ns, or seconds with a point" },
	{ "jit symbols", "--at -1 x", "not '-1'" },
	{ "jit symbols", "--at", "--at needs TIME" },
	{ "jit tail", "", "jit tail needs the PID of a process" },
	{ "jit tail", "x", "not 'x'" },
	{ "jit tail", "0", "not '0'" },
	{ "jit tail", "12x", "not '12x'" },
	{ "jit tail", "99999999999999", "not '99999999999999'" },
	{ "jit tail", "-n 5 1", "-n takes all, not '5'" },
	{ "jit tail", "1 2", "'2'" },
	{ "jit verify", "", "jit verify needs a jitdump file" },
};

/* The line is refused with this sentence, before anything is done. */
static void wrong_use_is_refused(void **state)
{
	for (size_t i = 0; i < sizeof(misuses) / sizeof(misuses[0]); i++) {
		char line[256], help[128];

		(void)snprintf(line, sizeof(line), "%s%s%s", misuses[i].name,
			*misuses[i].name && *misuses[i].arguments ? " " : "", misuses[i].arguments);
		(void)snprintf(help, sizeof(help), "; see `pilotlight%s%s --help`\n",
			*misuses[i].name ? " " : "", misuses[i].name);
		assert_int_equal(command_run(&pilotlight_command, line), EXIT_USAGE);
		if (!command_run_complained(misuses[i].sentence) || !strstr(ran.err, help))
			fail_msg("'%s' is answered by '%s'", line, ran.err);
		assert_string_equal(ran.out, "");
	}
}

static void a_group_without_a_command_shows_its_help(void **state)
{
	static const char *const lines[] = { "", "symbols", "jit" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(command_run(&pilotlight_command, lines[i]), EXIT_USAGE);
		assert_memory_equal(ran.err, "usage: pilotlight", 17);
		assert_string_equal(ran.out, "");
	}
}

/* --- one with an option of each kind ---------------------------------------------------------- */

struct example {
	struct invocation base;
	bool is_set, is_default;
	const char *string, *choice;
	uint32_t number;
	uint64_t bytes, duration_ns;
	int taken, result;
};

static struct example seen;

static int take(void *invocation, const struct option_row *option, const char *value)
{
	struct example *example = invocation;

	example->taken += atoi(value);
	return strcmp(option->name, "fail") == 0 ? -ENOLINK : 0;
}

static void prepare(void *invocation)
{
	struct example *example = invocation;

	example->is_default = true;
}

static int run_example(void *invocation)
{
	seen = *(struct example *)invocation;
	output_string(&((struct invocation *)invocation)->output, "ran\n");
	(void)command_flush(invocation);
	return seen.is_default ? 7
			       : fault_set(&((struct invocation *)invocation)->fault, -EIO, "x");
}

#define FIELD(member) .offset = offsetof(struct example, member)
static const struct option_row rows[] = {
	{ 's', "set", NULL, "A flag.", OPTION_SET, FIELD(is_set) },
	{ 0, "no-default", NULL, "Another.", OPTION_CLEAR, FIELD(is_default) },
	{ 't', "text", "TEXT", "A text.", OPTION_STRING, FIELD(string) },
	{ 0, "choice", "one|three", "A choice.", OPTION_CHOICE, FIELD(choice) },
	{ 'n', "number", "N", "A number.", OPTION_NUMBER, FIELD(number), .min = 2, .max = 9 },
	{ 0, "bytes", "SIZE", "A size.", OPTION_BYTES, FIELD(bytes) },
	{ 0, "time", "TIME", "A time.", OPTION_DURATION, FIELD(duration_ns), .min = 1,
		.max = 2000000000 },
	{ 0, "take", "N", "A call.", OPTION_CALL, .take = take },
	{ 0, "fail", "N", "A call that fails.", OPTION_CALL, .take = take },
	{ 0 },
};
static const struct command example = {
	.name = "example",
	.summary = "",
	.synopsis = "",
	.description = "",
	.options = { rows },
	.has_json = true,
	.arguments_max = 2,
	.bytes = sizeof(struct example),
	.prepare = prepare,
	.run = run_example,
};

static void values_are_stored_by_their_kind(void **state)
{
	assert_int_equal(command_run(&example, ""), 7);
	assert_true(seen.is_default && !seen.is_set && !seen.base.is_json && !seen.string);
	assert_int_equal(command_run(&example,
				 "-s -tx --choice three -n 9 a --bytes 2K --time 1.5s --take 3 "
				 "--take=4 --json -- -b"),
		7);
	assert_string_equal(ran.out, "ran\n");
	assert_true(seen.is_set && seen.base.is_json);
	assert_int_equal(seen.number, 9);
	assert_true(seen.bytes == 2048 && seen.duration_ns == 1500000000);
	assert_int_equal(seen.taken, 7);
	assert_int_equal(seen.base.argument_count, 2);
	assert_int_equal(command_run(&example, "--no-default"), EXIT_FAILURE);
	assert_string_equal(ran.err, "pilotlight: x\n");
	assert_int_equal(command_run(&example, "--fail 1"), EXIT_FAILURE);
	assert_true(command_run_complained("example failed: "));
}

static void values_out_of_range_are_refused(void **state)
{
	static const char *const lines[] = { "--choice two", "--choice on", "--choice one|three",
		"-n 1", "-n 10", "-n 2x", "-n +2", "-n 18446744073709551618", "--bytes 1KB",
		"--time 0", "--time 3s", "--time soon", "-t ", "a b c", "-s=1", "-n" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(command_run(&example, lines[i]), EXIT_USAGE);
		assert_true(command_run_complained("see `pilotlight example --help`"));
	}
}

static void bytes_have_units(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint64_t bytes;
	} cases[] = {
		{ "0", 0, 0 },
		{ "4096", 0, 4096 },
		{ "1K", 0, 1024 },
		{ "3m", 0, 3 << 20 },
		{ "2G", 0, 2ULL << 30 },
		{ "1T", 0, 1ULL << 40 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "17179869183G", 0, 17179869183ULL << 30 },
		{ "", -EINVAL, 77 },
		{ "K", -EINVAL, 77 },
		{ "-1", -EINVAL, 77 },
		{ "+1", -EINVAL, 77 },
		{ " 1", -EINVAL, 77 },
		{ "1 ", -EINVAL, 77 },
		{ "1\v", -EINVAL, 77 },
		{ "1KB", -EINVAL, 77 },
		{ "1.5G", -EINVAL, 77 },
		{ "0x10", -EINVAL, 77 },
		{ "18446744073709551616", -ERANGE, 77 },
		{ "184467440737095516150", -ERANGE, 77 },
		{ "17179869184G", -ERANGE, 77 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t bytes = 77;

		assert_int_equal(command_parse_bytes(cases[i].text, &bytes), cases[i].result);
		assert_true(bytes == cases[i].bytes);
	}
}

static void a_failing_allocation_is_reported(void **state)
{
	fail_allocation(0);
	assert_int_equal(command_run(&example, ""), EXIT_FAILURE);
	assert_true(allocation_failed());
	assert_true(command_run_complained("example failed: Cannot allocate memory"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_command_explains_itself),
		cmocka_unit_test(wrong_use_is_refused),
		cmocka_unit_test(a_group_without_a_command_shows_its_help),
		cmocka_unit_test(values_are_stored_by_their_kind),
		cmocka_unit_test(values_out_of_range_are_refused),
		cmocka_unit_test(bytes_have_units),
		cmocka_unit_test(a_failing_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
