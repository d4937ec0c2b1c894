/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk of PHP's frames, compiled for the host, on the PHP of this machine. A program tells the
 * frames that it sees, and the walk must find them all, with their names and lines. The variable
 * TEST_PHP is a command that runs one more PHP.
 */
#include "tests/extract/interpreter_child.h"

#include "base/array.h"
#include "bpf/runtime_php.bpf.h"
#include "extract/code_instruction.h"
#include "extract/runtime_php.h"
#include "symbol/runtime_code.h"

#include <stdlib.h>

static struct runtime_span spans[RUNTIME_SPANS];

/* Calls of the loop: one of the script, two by functions of C, three by generators, one by an
 * iterator, two by magic methods. A fiber makes one more. */
enum { LOOP_CALLS = 9 };

/* Stops the program. */
static void begin(struct runtime_walk *walk)
{
	struct user_regs_struct registers;

	seize(child, &registers);
	*walk = (struct runtime_walk){
		.base = base,
		.thread = registers.fs_base,
		.registers = { registers.r15, registers.r14 },
	};
}

/* What the step's function is called. */
static void copy(struct runtime_walk *walk, struct runtime_code *code)
{
	static struct pilotlight_runtime_code record;

	memset(&record, 0xff, sizeof(record));
	assert_true(php_copy_code(walk, &described, &record));
	assert_int_equal(runtime_code_parse(&record, runtime_code_words(&record) * 8, code), 0);
}

/* Checks the frame against a line "frame LINE NAME FILE", in whose name blanks are tildes. */
static void check_frame(
	const struct runtime_step *step, const struct runtime_code *code, const char *line)
{
	char name[NAME_BYTES], file[LINE_BYTES];
	size_t length = strlen(code->name);
	int place;

	assert_int_equal(sscanf(line, "frame %d %255s %4095[^\n]", &place, name, file), 3);
	for (char *blank = strchr(name, '~'); blank; blank = strchr(blank, '~'))
		*blank = ' ';
	if (length > PILOTLIGHT_RUNTIME_TEXT_MAX) {
		assert_string_equal(code->name + PILOTLIGHT_RUNTIME_TEXT_MAX, "…");
		name[PILOTLIGHT_RUNTIME_TEXT_MAX] = '\0';
		length = PILOTLIGHT_RUNTIME_TEXT_MAX;
	}
	assert_int_equal(strlen(name), length);
	assert_memory_equal(code->name, name, length);
	assert_string_equal(code->file, strcmp(file, "-") == 0 ? "" : file);
	assert_int_equal(runtime_code_line(code, step->unit), place);
}

/* A frame that cannot be read now must not be left out: then a group might be missing. */
static void check_hidden(struct runtime_walk walk, uint64_t function)
{
	enum runtime_end end = php_begin(&walk, spans, &described);
	struct runtime_step step;

	hidden = function;
	for (size_t i = 0; end == RUNTIME_ON && i < FRAMES_MAX; i++)
		end = php_next(&walk, spans, &described, &step);
	hidden = 0;
	assert_int_equal(end, RUNTIME_UNREADABLE);
}

/* Nor must a generator. One that awaits itself has no end, which changes the program for good. */
static void check_delegation(struct runtime_walk walk)
{
	enum runtime_end end = php_begin(&walk, spans, &described);
	struct iovec local = { &walk.generator, sizeof(walk.generator) }, remote = local;
	struct runtime_step step;
	size_t steps = 0;

	for (size_t i = 0; end == RUNTIME_ON && walk.generators == 0 && i < FRAMES_MAX; i++)
		end = php_next(&walk, spans, &described, &step);
	assert_int_equal(end, RUNTIME_ON);
	hidden = walk.generator + described.coroutine_frame_at;
	php_begin_generators(&walk, PHP_GENERATORS_MAX);
	assert_int_equal(php_next(&walk, spans, &described, &step), RUNTIME_UNREADABLE);
	hidden = 0;
	remote.iov_base = (void *)(uintptr_t)(walk.generator + described.task_coroutine_at);
	assert_int_equal(process_vm_writev(child, &local, 1, &remote, 1, 0), local.iov_len);
	php_begin_generators(&walk, PHP_GENERATORS_MAX);
	for (end = RUNTIME_ON; end == RUNTIME_ON && steps < FRAMES_MAX; steps++)
		end = php_next(&walk, spans, &described, &step);
	assert_int_equal(end, RUNTIME_UNREADABLE);
	assert_int_equal(steps, PHP_GENERATORS_MAX / PHP_GENERATORS);
}

/* The innermost method is another one if its class has another name. */
static void check_class(struct runtime_walk walk)
{
	enum runtime_end end = php_begin(&walk, spans, &described);
	struct runtime_step step, other;
	uint64_t class = 0;

	for (size_t i = 0; end == RUNTIME_ON && class == 0 && i < FRAMES_MAX; i++) {
		end = php_next(&walk, spans, &described, &step);
		if (step.code)
			class = runtime_code_word(&walk, PHP_CLASS_AT);
	}
	assert_int_not_equal(class, 0);
	hidden = class + PHP_CLASS_NAME_AT;
	end = php_begin(&walk, spans, &described);
	do {
		assert_int_equal(end, RUNTIME_ON);
		end = php_next(&walk, spans, &described, &other);
	} while (other.code != step.code);
	hidden = 0;
	assert_int_not_equal(other.check, step.check);
}

/* Walks all frames, of which `output` tells. The innermost one has gone on since. */
static void check_frames(FILE *output, bool has_fiber)
{
	static struct runtime_code code;
	struct runtime_walk walk;
	struct runtime_step step;
	enum runtime_end end;
	size_t frames = 0, groups = 0;
	char line[LINE_BYTES];
	uint64_t last = 0;

	find_interpreter("php", runtime_php_read);
	begin(&walk);
	end = php_begin(&walk, spans, &described);
	for (size_t i = 0; end == RUNTIME_ON && i < FRAMES_MAX; i++) {
		end = php_next(&walk, spans, &described, &step);
		assert_int_not_equal(end, RUNTIME_UNREADABLE);
		groups += step.mark != 0;
		if (!step.code)
			continue;
		last = runtime_last_seen(&walk)->address;
		copy(&walk, &code);
		assert_non_null(fgets(line, sizeof(line), output));
		if (frames++ > 0)
			check_frame(&step, &code, line);
		else
			assert_true(step.unit >= 32 && step.unit <= 35);
	}
	assert_int_equal(walk.has_left, has_fiber);
	check_hidden(walk, last);
	check_class(walk);
	check_delegation(walk);
	assert_int_equal(end, RUNTIME_ROOT);
	assert_non_null(fgets(line, sizeof(line), output));
	assert_string_equal(line, "end\n");
	assert_true(frames >= 90);
	assert_int_equal(groups, LOOP_CALLS + has_fiber);
}

static void check_program(const char *path, const char *argument)
{
	_cleanup_close_ int input = -1;
	FILE *output = start_child(
		"exec $0 -n tests/extract/runtime_php_walk_test.php $1", path, argument, &input);
	char byte = (char)fgetc(output);

	assert_int_equal(ungetc(byte, output), 'f');
	check_frames(output, argument[0] != '\0');
	end_child(output);
}

static void check_all(const char *argument, const char *versions)
{
	const char *commands[] = { "/usr/bin/php", getenv("TEST_PHP") };
	size_t checked = 0;
	char test[LINE_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(commands) && commands[i]; i++) {
		(void)snprintf(test, sizeof(test),
			"%s -n -r 'exit((int)!preg_match(\"/^(%s)/\", PHP_VERSION));' 2>/dev/null",
			commands[i], versions);
		if (system(test) != 0)
			continue;
		check_program(commands[i], argument);
		checked++;
	}
	if (checked == 0) {
		print_message("needs PHP %s\n", versions);
		skip();
	}
}

static void all_frames_of_a_real_php_are_found(void **state)
{
	check_all("", "7[.]4|8[.][0-6]");
}

static void so_are_those_of_a_fiber(void **state)
{
	check_all("fiber", "8[.][1-6]");
}

/* The memory is that of the test: `values` has its type in the word before `awaited`. */
static void a_generator_that_awaits_ends_no_group(void **state)
{
	enum { ELSE = PHP_FRAME_TOP, GENERATOR = PHP_FRAME_TOP | PHP_FRAME_IS_GENERATOR };
	static struct {
		uint64_t values, values_type, awaited;
		uint8_t state;
	} generator;
	static const struct {
		uint64_t flags, values_type, hidden_at;
		uint8_t state;
		bool ends;
	} cases[] = {
		{ 0, PHP_UNDEFINED, 0, PHP_GENERATOR_RUNS, false },
		{ ELSE, PHP_OBJECT, 0, 0, true },
		{ GENERATOR, PHP_UNDEFINED, 0, PHP_GENERATOR_RUNS, true },
		{ GENERATOR, PHP_UNDEFINED, 0, 0, false },
		{ GENERATOR, PHP_OBJECT, 0, 0, false },
		{ GENERATOR, PHP_OBJECT, 0, PHP_GENERATOR_RUNS, false },
		{ GENERATOR, PHP_UNDEFINED, offsetof(typeof(generator), state), 0, true },
		{ GENERATOR, PHP_OBJECT, offsetof(typeof(generator), values_type),
			PHP_GENERATOR_RUNS, true },
	};
	struct pilotlight_runtime runtime = {
		.task_coroutine_at = offsetof(typeof(generator), awaited),
		.coroutine_state_at = offsetof(typeof(generator), state),
	};
	const uint64_t address = (uintptr_t)&generator;

	child = getpid();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		generator.values_type = cases[i].values_type;
		generator.state = cases[i].state;
		hidden = cases[i].hidden_at ? address + cases[i].hidden_at : 0;
		assert_int_equal(php_ends_group(&runtime, address, cases[i].flags), cases[i].ends);
	}
	hidden = 0;
	runtime.coroutine_state_at = 0;
	assert_true(php_ends_group(&runtime, address, GENERATOR));
}

static int load_decoder(void **state)
{
	return code_instruction_load(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_frames_of_a_real_php_are_found),
		cmocka_unit_test(so_are_those_of_a_fiber),
		cmocka_unit_test(a_generator_that_awaits_ends_no_group),
	};

	return cmocka_run_group_tests(tests, load_decoder, NULL);
}
