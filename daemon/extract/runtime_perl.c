/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_perl.h"

#include "base/runtime_bounds.h"
#include "extract/elf_memory.h"
#include "extract/runtime_anchor.h"
#include "extract/runtime_loop.h"
#include "extract/symbol_table.h"
#include "extract/unwind_files.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
	/* Versions with odd numbers were never released. */
	REVISION = 5,
	VERSION_FIRST = 32,
	VERSION_LAST = 42,
	VERSION_NAMES = 36, /* packages have their names in themselves */
	NAME_AT = 32,
	/* In an interpreter: the operation. The statement is behind some variables that builds may
	 * lack, and the nesting behind it. */
	OPERATION_AT = 8,
	STATEMENT_FIRST = 0x80,
	STATEMENT_LAST = 0xf0,
	NESTING_DISTANCE = 16,
	CODE_BYTES_MAX = 256,
	OPERATIONS_MAX = 512,
};

/* Exported symbols. From 5.38 on, functions that run operations are only in a table. */
enum symbol {
	SYMBOL_REVISION,
	SYMBOL_VERSION,
	SYMBOL_SUBVERSION,
	SYMBOL_LOOP,
	SYMBOL_MAIN,
	SYMBOL_FUNCTIONS, /* of operations, and their names */
	SYMBOL_NAMES,
	SYMBOL_KEY, /* only with threads */
	/* And without them, variables. */
	SYMBOL_OP,
	SYMBOL_CURCOP,
	SYMBOL_CURSTACKINFO,
	SYMBOL_STATEMENT, /* the function that begins one */
	SYMBOL_TRY,
	SYMBOLS,
};
static const struct wanted_symbol wanted[SYMBOLS] = {
	[SYMBOL_REVISION] = { .name = "PL_revision" },
	[SYMBOL_VERSION] = { .name = "PL_version" },
	[SYMBOL_SUBVERSION] = { .name = "PL_subversion" },
	[SYMBOL_LOOP] = { .name = "Perl_runops_standard" },
	[SYMBOL_MAIN] = { .name = "perl_run" },
	[SYMBOL_FUNCTIONS] = { .name = "PL_ppaddr" },
	[SYMBOL_NAMES] = { .name = "PL_op_name" },
	[SYMBOL_KEY] = { .name = "PL_thr_key" },
	[SYMBOL_OP] = { .name = "PL_op" },
	[SYMBOL_CURCOP] = { .name = "PL_curcop" },
	[SYMBOL_CURSTACKINFO] = { .name = "PL_curstackinfo" },
	[SYMBOL_STATEMENT] = { .name = "Perl_pp_nextstate" },
	[SYMBOL_TRY] = { .name = "Perl_pp_entertry" },
};

struct perl {
	const struct unwind_files *files;
	struct elf_memory memory;
	struct symbol_table table;
	struct wanted_symbol symbols[SYMBOLS];
	struct pilotlight_runtime runtime;
};

static int read_version(struct perl *perl)
{
	struct pilotlight_runtime *runtime = &perl->runtime;
	uint8_t numbers[SYMBOL_SUBVERSION + 1];
	int r = 0;

	for (int i = SYMBOL_REVISION; r == 0 && i <= SYMBOL_SUBVERSION; i++)
		r = elf_memory_read(&perl->memory, perl->symbols[i].vaddr, &numbers[i], 1);
	if (r < 0)
		return r;
	if (numbers[SYMBOL_REVISION] != REVISION || numbers[SYMBOL_VERSION] < VERSION_FIRST ||
		numbers[SYMBOL_VERSION] > VERSION_LAST || numbers[SYMBOL_VERSION] % 2 != 0)
		return -ENOTSUP;
	runtime->release = (uint32_t)numbers[SYMBOL_REVISION] << 24 |
			   (uint32_t)numbers[SYMBOL_VERSION] << 16 |
			   (uint32_t)numbers[SYMBOL_SUBVERSION] << 8;
	runtime->code_name_at =
		numbers[SYMBOL_VERSION] < VERSION_NAMES ? PILOTLIGHT_RUNTIME_NONE : NAME_AT;
	return 0;
}

/* Looks for the function of an operation in the table, unless it is exported. */
static int find_operation(struct perl *perl, enum symbol symbol, const char *name)
{
	const struct wanted_symbol *names = &perl->symbols[SYMBOL_NAMES];
	uint64_t count = names->bytes / sizeof(uint64_t);
	struct wanted_symbol *function = &perl->symbols[symbol];
	uint64_t at = 0, text = 0;
	int r = 0;

	if (function->vaddr != 0)
		return 0;
	if (count > OPERATIONS_MAX)
		count = OPERATIONS_MAX;
	for (; at < count * sizeof(text); at += sizeof(text)) {
		r = elf_memory_read_pointer(&perl->memory, names->vaddr + at, &text);
		if (r < 0 || elf_memory_has_text(&perl->memory, text, name))
			break;
	}
	if (at == count * sizeof(text))
		return -ENOTSUP;
	if (r == 0)
		r = elf_memory_read_pointer(&perl->memory,
			perl->symbols[SYMBOL_FUNCTIONS].vaddr + at, &function->vaddr);
	return r < 0 ? r : runtime_loop_measure(&perl->memory, function->vaddr, &function->bytes);
}

/* Does the code have this displacement? */
static bool uses(const uint8_t *code, size_t size, int32_t wanted_displacement)
{
	int32_t displacement;

	for (size_t i = 0; i + sizeof(displacement) <= size; i++) {
		memcpy(&displacement, code + i, sizeof(displacement));
		if (displacement == wanted_displacement)
			return true;
	}
	return false;
}

/* What begins a statement notes it, and then uses the nesting. */
static int find_statement(struct perl *perl)
{
	const struct wanted_symbol *function = &perl->symbols[SYMBOL_STATEMENT];
	size_t size = function->bytes < CODE_BYTES_MAX ? function->bytes : CODE_BYTES_MAX;
	uint8_t code[CODE_BYTES_MAX];
	int found = 0;
	int r = elf_memory_read(&perl->memory, function->vaddr, code, size);

	if (r < 0)
		return r;
	for (int at = STATEMENT_FIRST; at <= STATEMENT_LAST - NESTING_DISTANCE; at += 8) {
		if (!uses(code, size, at) || !uses(code, size, at + NESTING_DISTANCE))
			continue;
		if (found != 0)
			return -ENOTSUP;
		found = at;
	}
	perl->runtime.state_thread_at = OPERATION_AT;
	perl->runtime.state_mark_at = (uint16_t)found;
	perl->runtime.state_frame_at = (uint16_t)(found + NESTING_DISTANCE);
	return found != 0 ? 0 : -ENOTSUP;
}

/* They lie close together, and the first is where the state is. */
static int describe_variables(struct perl *perl, const struct runtime_anchor *anchor)
{
	uint16_t *const offsets[] = { &perl->runtime.state_thread_at, &perl->runtime.state_mark_at,
		&perl->runtime.state_frame_at };
	uint64_t first = UINT64_MAX;

	for (int i = SYMBOL_OP; i <= SYMBOL_CURSTACKINFO; i++) {
		if (perl->symbols[i].vaddr == 0)
			return -ENOTSUP;
		if (perl->symbols[i].vaddr < first)
			first = perl->symbols[i].vaddr;
	}
	for (int i = SYMBOL_OP; i <= SYMBOL_CURSTACKINFO; i++) {
		uint64_t distance = perl->symbols[i].vaddr - first;

		if (distance > PILOTLIGHT_RUNTIME_CODE_MAX - sizeof(uint64_t))
			return -ENOTSUP;
		*offsets[i - SYMBOL_OP] = (uint16_t)distance;
	}
	perl->runtime.anchor = PILOTLIGHT_RUNTIME_GLOBAL;
	return runtime_anchor_find_place(anchor, first, &perl->runtime.anchor_place);
}

static int describe_state(struct perl *perl, const struct runtime_anchor *anchor)
{
	int r;

	if (perl->symbols[SYMBOL_KEY].vaddr == 0)
		return describe_variables(perl, anchor);
	r = find_statement(perl);
	return r < 0 ? r
		     : runtime_anchor_describe(anchor, PILOTLIGHT_RUNTIME_KEY,
			       perl->symbols[SYMBOL_KEY].vaddr, 0, &perl->runtime);
}

/* An eval goes on in another call of the loop, made by a function that is not exported. */
static int describe_loop(struct perl *perl, const struct runtime_anchor *anchor)
{
	struct pilotlight_runtime *runtime = &perl->runtime;
	const struct wanted_symbol *loop = &perl->symbols[SYMBOL_LOOP];
	const struct wanted_symbol *try = &perl->symbols[SYMBOL_TRY];
	const struct wanted_symbol *main = &perl->symbols[SYMBOL_MAIN];
	uint64_t rest, rest_bytes;
	int r = runtime_loop_find_caller(&perl->memory, try->vaddr, try->bytes, &rest, &rest_bytes);

	if (r == 0 && (rest_bytes == 0 || main->bytes > PILOTLIGHT_RUNTIME_AT_MAX))
		return -ENOTSUP;
	if (r == 0)
		r = runtime_anchor_find_place(anchor, loop->vaddr, &runtime->loop_place);
	if (r == 0)
		r = runtime_anchor_find_place(anchor, rest, &runtime->loop_rest_place);
	if (r == 0)
		r = runtime_anchor_find_place(anchor, main->vaddr, &runtime->code_type_place);
	if (r < 0)
		return r;
	runtime->loop_bytes = (uint32_t)loop->bytes;
	runtime->loop_rest_bytes = (uint32_t)rest_bytes;
	runtime->code_units_at = (uint16_t)main->bytes;
	return 0;
}

static int describe(struct perl *perl, struct scratch *scratch)
{
	const struct runtime_anchor anchor = { perl->files, &perl->table };
	int r = elf_memory_open(&perl->memory, &perl->files->binary, scratch);

	if (r == 0)
		r = read_version(perl);
	if (r == 0)
		r = find_operation(perl, SYMBOL_STATEMENT, "nextstate");
	if (r == 0)
		r = find_operation(perl, SYMBOL_TRY, "entertry");
	if (r == 0)
		r = describe_state(perl, &anchor);
	if (r == 0)
		r = describe_loop(perl, &anchor);
	if (r < 0)
		return r == -ENODATA ? -ENOTSUP : r;
	return runtime_bounds_hold(&perl->runtime) ? 0 : -ENOTSUP;
}

/* Is there all of what Perl has with and without threads? Its modules only refer to it. Returns 0,
 * or -ENODATA. */
static int find_perl(struct perl *perl)
{
	int r = symbol_table_open(&perl->table, &perl->files->binary, SHT_DYNSYM);

	if (r == 0)
		r = symbol_table_find(&perl->table, perl->symbols, SYMBOLS);
	if (r == -ENOEXEC || r == -EFBIG)
		r = -ENODATA; /* damaged symbols of whatever it is */
	for (int i = 0; r == 0 && i < SYMBOL_KEY; i++)
		if (perl->symbols[i].vaddr == 0)
			r = -ENODATA;
	return r;
}

int runtime_perl_read(const struct unwind_files *files, struct scratch *scratch,
	struct pilotlight_runtime *ret_runtime)
{
	struct perl perl = {
		.files = files,
		.runtime = {
			.version = PILOTLIGHT_RUNTIME_VERSION,
			.language = PILOTLIGHT_RUNTIME_PERL,
			.group = PILOTLIGHT_RUNTIME_GROUP_CATCH,
			.lines = PILOTLIGHT_RUNTIME_LINE_NUMBERS,
		},
	};
	int r;

	if (files->binary.machine != EM_X86_64)
		return -ENODATA;
	memcpy(perl.symbols, wanted, sizeof(wanted));
	r = find_perl(&perl);
	if (r == 0)
		r = describe(&perl, scratch);
	if (r == 0)
		*ret_runtime = perl.runtime;
	elf_memory_done(&perl.memory);
	symbol_table_close(&perl.table);
	return r;
}
