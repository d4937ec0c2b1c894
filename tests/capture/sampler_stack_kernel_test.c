/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BPF stack of the sampler and the functions that it calls stays within 512 bytes. Kernels
 * since 6.13 give some programs a private stack per subprogram, and so accept what older ones
 * refuse. The bound is computed here as in check_max_stack_depth() in kernel/bpf/verifier.c of
 * Linux 6.1.
 */
#include "base/array.h"
#include "sampler.skel.h"
#include "tests/harness/privilege.h"

#include <bpf/libbpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	MAX_SUBPROGRAMS = 256,
	STACK_BYTES = 512,
	STACK_UNIT = 32, /* each subprogram's is rounded up to it */
	LOG_BYTES = 1 << 20,
	LOG_STATISTICS = 4, /* BPF_LOG_STATS, of the verifier's own header */
};

struct subprogram {
	size_t first, end; /* instructions */
	uint32_t stack_bytes;
	bool is_entered;
};

struct program {
	const struct bpf_insn *insns;
	size_t insn_count;
	struct subprogram subprograms[MAX_SUBPROGRAMS];
	size_t count;
};

struct loading {
	const char *program;
	/* The verifier removes subprograms that a configuration never calls. Without it, none. */
	bool is_configured;
};

static const struct loading loadings[] = {
	{ .program = "sample_cpu", .is_configured = true },
	{ .program = "heap_malloc" },
	{ .program = "heap_return" },
	{ .program = "heap_report_alloc" },
};

static struct sampler *load(const struct loading *loading, char *log)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .kernel_log_level = LOG_STATISTICS,
		.kernel_log_buf = log, .kernel_log_size = LOG_BYTES);
	struct sampler *sampler = sampler__open_opts(&options);
	struct bpf_program *program;

	assert_non_null(sampler);
	sampler->rodata->wants_kernel = true;
	sampler->rodata->wants_walks = true;
	/* The verifier does not report the depth of subprograms that are never called. */
	sampler->rodata->chooses_cgroups = true;
	if (!loading->is_configured)
		assert_int_equal(bpf_map__set_map_flags(sampler->maps.rodata, 0), 0);
	bpf_object__for_each_program(program, sampler->obj)(void) bpf_program__set_autoload(
		program, strcmp(bpf_program__name(program), loading->program) == 0);
	if (sampler__load(sampler) < 0)
		fail_msg("%s", log);
	return sampler;
}

/* The instruction that this one calls, or passes as a callback; 0 if none. */
static size_t callee_of(const struct program *program, size_t at)
{
	const struct bpf_insn *insn = &program->insns[at];
	bool is_call = insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL,
	     is_function =
		     insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg == BPF_PSEUDO_FUNC;

	return is_call || is_function ? (size_t)((int64_t)at + 1 + insn->imm) : 0;
}

static bool is_first(const struct program *program, size_t at)
{
	if (at == 0)
		return true;
	for (size_t i = 0; i < program->insn_count; i++)
		if (callee_of(program, i) == at)
			return true;
	return false;
}

/* Subprograms in the order of their instructions, which the verifier numbers them by. */
static void find_subprograms(struct program *program)
{
	for (size_t i = 0; i < program->insn_count; i++) {
		if (!is_first(program, i))
			continue;
		assert_true(program->count < MAX_SUBPROGRAMS);
		if (program->count > 0)
			program->subprograms[program->count - 1].end = i;
		program->subprograms[program->count++] =
			(struct subprogram){ .first = i, .end = program->insn_count };
	}
}

/* From the verifier's "stack depth 112+384+0". */
static void read_depths(struct program *program, const char *log)
{
	const char *at = strstr(log, "stack depth ");

	assert_non_null(at);
	at += strlen("stack depth ");
	for (size_t i = 0; i < program->count; i++) {
		char *end;

		program->subprograms[i].stack_bytes = (uint32_t)strtoul(at, &end, 10);
		assert_true(end > at && *end == (i + 1 < program->count ? '+' : '\n'));
		at = end + 1;
	}
}

static struct subprogram *subprogram_at(struct program *program, size_t first)
{
	for (size_t i = 0; i < program->count; i++)
		if (program->subprograms[i].first == first)
			return &program->subprograms[i];
	fail_msg("no subprogram begins at instruction %zu", first);
	return NULL;
}

static uint32_t deepest(struct program *program, struct subprogram *subprogram)
{
	uint32_t bytes = subprogram->stack_bytes > 0 ? subprogram->stack_bytes : 1, below = 0;

	assert_false(subprogram->is_entered); /* recursion */
	subprogram->is_entered = true;
	for (size_t i = subprogram->first; i < subprogram->end; i++) {
		size_t callee = callee_of(program, i);

		if (callee > 0) {
			uint32_t depth = deepest(program, subprogram_at(program, callee));

			below = depth > below ? depth : below;
		}
	}
	subprogram->is_entered = false;
	return below + (bytes + STACK_UNIT - 1) / STACK_UNIT * STACK_UNIT;
}

static void check(const struct loading *loading, char *log)
{
	struct program program = { 0 };
	struct sampler *sampler = load(loading, log);
	const struct bpf_program *loaded =
		bpf_object__find_program_by_name(sampler->obj, loading->program);
	uint32_t bytes;

	program.insns = bpf_program__insns(loaded);
	program.insn_count = bpf_program__insn_cnt(loaded);
	find_subprograms(&program);
	assert_true(program.count > 1);
	read_depths(&program, log);
	bytes = deepest(&program, &program.subprograms[0]);
	print_message("# %s: %u bytes of stack\n", loading->program, bytes);
	assert_in_range(bytes, STACK_UNIT, STACK_BYTES);
	sampler__destroy(sampler);
}

static void call_chains_fit_into_the_stack(void **state)
{
	char *log;

	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		skip();
	}
	log = calloc(1, LOG_BYTES);
	assert_non_null(log);
	for (size_t i = 0; i < ARRAY_SIZE(loadings); i++)
		check(&loadings[i], log);
	free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call_chains_fit_into_the_stack),
	};

	return cmocka_run_group_tests_name("sampler_stack_kernel", tests, NULL, NULL);
}
