/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which memory is YJIT's, and which processes are remembered as Ruby's, compiled for the host. */
#include "tests/capture/made_up_stack.h"

#include "base/array.h"
#include "bpf/remembered_walk.bpf.h"

#include <stdbool.h>

#undef __noinline
#define __noinline static __attribute__((noinline))

static __always_inline int can_copy_user(void *bytes, __u32 size, __u64 address)
{
	return size % sizeof(__u64) == 0 && can_read_own_user(bytes, size / sizeof(__u64), address);
}

#include "bpf/runtime_walk.bpf.h"

struct walker {
	struct walk walk;
	struct {
		struct runtime_walk walk;
	} runtime;
};

static struct walker made_up_walker;
static struct pilotlight_runtime made_up_ruby;
static bool is_described;
static unsigned remembered;
static __u64 remembered_at;

static const struct pilotlight_runtime *walked_runtime(const struct walker *walked)
{
	(void)walked;
	return is_described ? &made_up_ruby : NULL;
}

static __u64 walked_thread_pointer(void)
{
	return 0;
}

static void remember_runtime(struct walker *walked, __u64 place)
{
	(void)walked;
	remembered++;
	remembered_at = place;
}

static int enter_known_mapping(struct walk *walk, __u64 address)
{
	for (__u32 i = 0; i < WALK_MAPPINGS; i++)
		if (address >= walk->starts[i] && address < walk->ends[i]) {
			walk->mapping = i;
			return 1;
		}
	return 0;
}

#include "bpf/runtime_ruby_sample.bpf.h"

/* Words of the stack: the variable with the state's address, the state, its innermost frame. */
enum { VARIABLE = 4000, STATE = 4010, FRAMES = 4100, FRAME_WORDS = 8, SP = 100 };
enum { RUBY_MAPPING = 2, JIT_MAPPING = 5, JIT_BYTES = 0x10000 };
#define JIT 0x7fe000000000ULL

static void set_return(__u64 address)
{
	stack[FRAMES + FRAME_WORDS - 1] = address;
}

/* The walk is in code of YJIT, which one of Ruby's frames returns to. */
static void open_walk(void)
{
	memset(stack, 0, sizeof(stack));
	memset(&made_up_walker, 0, sizeof(made_up_walker));
	is_described = true;
	remembered = 0;
	made_up_ruby = (struct pilotlight_runtime){
		.version = PILOTLIGHT_RUNTIME_VERSION,
		.language = PILOTLIGHT_RUNTIME_RUBY,
		.anchor = PILOTLIGHT_RUNTIME_GLOBAL,
		.anchor_place = (__s64)(at(VARIABLE) - CODE_START),
		.state_frame_at = 16,
		.frame_bytes = FRAME_WORDS * sizeof(__u64),
		.loop_place = 0x1000,
		.loop_bytes = 0x100,
	};
	stack[VARIABLE] = at(STATE);
	stack[STATE + 2] = at(FRAMES);
	set_return(JIT + 8);
	stack[SP + 3] = CODE_START + 0x5000;
	made_up_walker.walk.runtime.base = CODE_START;
	made_up_walker.walk.ip = JIT + 100;
	made_up_walker.walk.sp = at(SP);
	made_up_walker.walk.starts[RUBY_MAPPING] = CODE_START;
	made_up_walker.walk.ends[RUBY_MAPPING] = CODE_END;
	made_up_walker.walk.mappings[RUBY_MAPPING].has_file = 1;
	made_up_walker.walk.starts[JIT_MAPPING] = JIT;
	made_up_walker.walk.ends[JIT_MAPPING] = JIT + JIT_BYTES;
	made_up_walker.walk.mapping = JIT_MAPPING;
}

static void assert_stays(void)
{
	assert_false(step_ruby_code(&made_up_walker));
	assert_int_equal(made_up_walker.walk.ip, JIT + 100);
	assert_int_equal(made_up_walker.walk.sp, at(SP));
}

static void a_step_leads_to_ruby(void **state)
{
	open_walk();
	assert_true(step_ruby_code(&made_up_walker));
	assert_int_equal(made_up_walker.walk.ip, CODE_START + 0x5000);
	assert_int_equal(made_up_walker.walk.sp, at(SP + 4));
	assert_int_equal(made_up_walker.walk.mapping, RUBY_MAPPING);
}

/* What is further up may be left from other calls. */
static void the_return_address_is_near(void **state)
{
	open_walk();
	stack[SP + 3] = 0;
	stack[SP + RUBY_CODE_WORDS - 1] = CODE_START + 0x5000;
	assert_true(step_ruby_code(&made_up_walker));
	open_walk();
	stack[SP + 3] = 0;
	stack[SP + RUBY_CODE_WORDS] = CODE_START + 0x5000;
	assert_stays();
}

static void memory_without_proof_is_not_yjits(void **state)
{
	open_walk();
	made_up_walker.walk.mappings[JIT_MAPPING].has_file = 1;
	assert_stays();
	open_walk();
	set_return(JIT + JIT_BYTES);
	assert_stays();
	/* There is no state, or no frame. */
	open_walk();
	stack[VARIABLE] = 0;
	assert_stays();
	open_walk();
	stack[VARIABLE] = 0x1000;
	assert_stays();
	open_walk();
	stack[STATE + 2] = 0;
	assert_stays();
}

/* While one of the frames has proved it, or none can just now. */
static void proved_memory_stays_yjits(void **state)
{
	open_walk();
	assert_true(is_yjit(&made_up_walker, JIT_MAPPING));
	set_return(0);
	assert_true(is_yjit(&made_up_walker, JIT_MAPPING));
	assert_true(step_ruby_code(&made_up_walker));
	/* Other memory is not proved by that. */
	made_up_walker.walk.starts[JIT_MAPPING + 1] = JIT + JIT_BYTES;
	made_up_walker.walk.ends[JIT_MAPPING + 1] = JIT + 2 * JIT_BYTES;
	assert_false(is_yjit(&made_up_walker, JIT_MAPPING + 1));
}

static void other_runtimes_have_no_yjit(void **state)
{
	open_walk();
	made_up_ruby.language = PILOTLIGHT_RUNTIME_PHP;
	assert_stays();
	open_walk();
	made_up_ruby.version++;
	assert_stays();
	open_walk();
	is_described = false;
	assert_stays();
	assert_int_equal(find_ruby_frame(&made_up_walker), 0);
	assert_false(leave_ruby_code(&made_up_walker, 3));
}

/* The walk must know Ruby's mapping; a return address elsewhere is none. */
static void callers_are_in_rubys_mapping(void **state)
{
	open_walk();
	made_up_walker.walk.ends[RUBY_MAPPING] = 0;
	assert_stays();
	open_walk();
	made_up_walker.walk.ends[RUBY_MAPPING] = CODE_START + 0x5000;
	assert_stays();
}

/* In later walks the leaf may be in YJIT's code, before the walk has come to Ruby. */
static void ruby_alone_is_remembered(void **state)
{
	static const enum pilotlight_runtime_language others[] = { 0, PILOTLIGHT_RUNTIME_PYTHON,
		PILOTLIGHT_RUNTIME_V8, PILOTLIGHT_RUNTIME_PHP, PILOTLIGHT_RUNTIME_PERL };

	open_walk();
	remember_ruby(&made_up_walker);
	assert_int_equal(remembered, 1);
	assert_int_equal(remembered_at, CODE_START + made_up_ruby.loop_place);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		made_up_ruby.language = others[i];
		remember_ruby(&made_up_walker);
		assert_int_equal(remembered, 1);
	}
	is_described = false;
	remember_ruby(&made_up_walker);
	assert_int_equal(remembered, 1);
}

static void nothing_is_no_walker(void **state)
{
	open_walk();
	assert_int_equal(find_ruby_frame(NULL), 0);
	assert_false(is_yjit(NULL, JIT_MAPPING));
	assert_false(leave_ruby_code(NULL, 3));
	assert_false(step_ruby_code(NULL));
	remember_ruby(NULL);
	assert_int_equal(remembered, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_leads_to_ruby),
		cmocka_unit_test(the_return_address_is_near),
		cmocka_unit_test(memory_without_proof_is_not_yjits),
		cmocka_unit_test(proved_memory_stays_yjits),
		cmocka_unit_test(other_runtimes_have_no_yjit),
		cmocka_unit_test(callers_are_in_rubys_mapping),
		cmocka_unit_test(ruby_alone_is_remembered),
		cmocka_unit_test(nothing_is_no_walker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
