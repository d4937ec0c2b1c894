/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_go.h"

#include "base/array.h"
#include "dwarf/cfi_program.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum {
	WORD_BYTES = 8,
	DEPTH_MAX = (1 << 30) + 64, /* runtime.call1073741824() */
	STORE_BYTES_MAX = 8,	    /* of the instruction that saves the frame pointer */
	CODE_PUSH_RBP = 0x55,
	WINDOW_BYTES = 64 * 1024,
};

/* Reads the code in windows, because functions come in order. */
struct code_window {
	const struct elf_file *file;
	uint64_t offset;
	size_t count;
	uint8_t bytes[WINDOW_BYTES];
};

struct collection {
	struct unwind_go *go;
	const struct unwind_files *files;
	struct go_table *table;
	struct code_window code;
};

void unwind_go_done(struct unwind_go *go)
{
	scratch_array_done(&go->rows);
	*go = (struct unwind_go){ 0 };
}

/* Functions that go without the rules of others, by their names. */
static enum unwind_go_kind kind_of(const char *name)
{
	static const struct {
		const char *name;
		enum unwind_go_kind kind;
	} kinds[] = {
		{ "_rt0_amd64", UNWIND_GO_ROOT },
		{ "_rt0_amd64_linux", UNWIND_GO_ROOT },
		{ "runtime.rt0_go", UNWIND_GO_ROOT },
		{ "runtime.goexit", UNWIND_GO_ROOT },
		{ "runtime.mstart", UNWIND_GO_ROOT },
		{ "runtime.sigreturn", UNWIND_GO_SIGNAL },
		{ "runtime.sigreturn__sigaction", UNWIND_GO_SIGNAL },
		{ "runtime.asmcgocall", UNWIND_GO_SWITCHED },
		{ "runtime.asmcgocall_no_g", UNWIND_GO_SWITCHED },
		{ "runtime.callCgoMmap", UNWIND_GO_SWITCHED },
		{ "runtime.callCgoMunmap", UNWIND_GO_SWITCHED },
		{ "runtime.callCgoSigaction", UNWIND_GO_SWITCHED },
		{ "runtime.cgocallback", UNWIND_GO_SWITCHED },
		{ "runtime.mcall", UNWIND_GO_SWITCHED },
		{ "runtime.morestack", UNWIND_GO_SWITCHED },
		{ "runtime.nanotime1", UNWIND_GO_SWITCHED },
		{ "runtime.systemstack", UNWIND_GO_SWITCHED },
		{ "runtime.vgetrandom1", UNWIND_GO_SWITCHED },
		{ "runtime.walltime", UNWIND_GO_SWITCHED },
		{ "time.now", UNWIND_GO_SWITCHED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(name, kinds[i].name) == 0)
			return kinds[i].kind;
	return UNWIND_GO_PLAIN;
}

/* Adds a row; rows come in order. Omits a row that says the same as the row before. */
static int add_row(struct unwind_go *go, uint32_t offset, enum unwind_go_kind kind, uint32_t depth)
{
	const struct unwind_go_row row = { .offset = offset, .depth = depth, .kind = kind };
	struct unwind_go_row *rows = go->rows.items;
	size_t count = go->rows.count;

	while (count > 0 && rows[count - 1].offset >= offset)
		count--;
	go->rows.count = count;
	if (count > 0 && rows[count - 1].kind == kind && rows[count - 1].depth == depth)
		return 0;
	return scratch_array_append(&go->rows, &row, sizeof(row));
}

/* Reads code at a file offset. Beyond the end of the file there are zeros. */
static int read_code(struct code_window *code, uint64_t offset, uint8_t *bytes, size_t size)
{
	memset(bytes, 0, size);
	if (offset < code->offset || offset + size > code->offset + code->count) {
		size_t count = sizeof(code->bytes);
		int r;

		if (offset >= code->file->size_bytes)
			return 0;
		if (count > code->file->size_bytes - offset)
			count = (size_t)(code->file->size_bytes - offset);
		r = elf_file_read(code->file, offset, code->bytes, count);
		if (r < 0)
			return r;
		code->offset = offset;
		code->count = count;
	}
	if (size > code->offset + code->count - offset)
		size = (size_t)(code->offset + code->count - offset);
	memcpy(bytes, code->bytes + (offset - code->offset), size);
	return 0;
}

/* Returns the length of an instruction that stores rbp at `distance` from rsp; 0: it is another. */
static uint32_t store_bytes(const uint8_t code[STORE_BYTES_MAX], uint32_t distance)
{
	uint32_t long_distance;

	if (code[0] != 0x48 || code[1] != 0x89 || code[3] != 0x24)
		return 0;
	memcpy(&long_distance, code + 4, sizeof(long_distance));
	if (code[2] == 0x2c)
		return distance == 0 ? 4 : 0;
	if (code[2] == 0x6c)
		return code[4] == distance ? 5 : 0;
	return code[2] == 0xac && long_distance == distance ? 8 : 0;
}

/* State of the current function. */
struct progress {
	uint32_t start;		  /* file offset */
	enum unwind_go_kind kind; /* by its name */
	bool has_frame;		  /* a row with a depth was seen */
	bool is_saved;		  /* it saves the frame pointer */
	bool has_rows;
};

/*
 * Looks whether the function saves the frame pointer: compilers do it by the instruction that first
 * moves the stack pointer, or by the next one, or not at all. Sets *offset to where it is saved.
 */
static int begin_frame(
	struct collection *collection, struct progress *progress, uint32_t *offset, uint32_t depth)
{
	uint8_t before, code[STORE_BYTES_MAX];
	uint32_t stored;
	int r;

	progress->has_frame = true;
	r = read_code(&collection->code, *offset - 1, &before, sizeof(before));
	if (r == 0)
		r = read_code(&collection->code, *offset, code, sizeof(code));
	if (r < 0)
		return r;
	stored = store_bytes(code, depth - WORD_BYTES);
	progress->is_saved = stored > 0 || (depth == WORD_BYTES && before == CODE_PUSH_RBP);
	if (stored > 0)
		r = add_row(collection->go, *offset, UNWIND_GO_PLAIN, depth);
	*offset += stored;
	return r;
}

static int add_value(
	struct collection *collection, struct progress *progress, uint32_t offset, uint32_t depth)
{
	int r = 0;

	if (depth >= WORD_BYTES && !progress->has_frame && offset > progress->start)
		r = begin_frame(collection, progress, &offset, depth);
	if (r < 0)
		return r;
	if (depth == 0 || !progress->is_saved)
		return add_row(collection->go, offset, UNWIND_GO_PLAIN, depth);
	if (progress->kind == UNWIND_GO_SWITCHED)
		return add_row(collection->go, offset, UNWIND_GO_SWITCHED, 0);
	return add_row(collection->go, offset, UNWIND_GO_SAVED, depth);
}

/*
 * Runs the program of a function. Before Go 1.21, functions that change stacks had no frame
 * themselves: the frame pointer is then their caller's, whose return address is found.
 */
static int run_function(struct collection *collection, const struct go_function *function,
	struct progress *progress)
{
	struct unwind_go *go = collection->go;
	struct go_program program;
	uint64_t start, end;
	int32_t depth;
	int r, error;

	go_program_init(&program, collection->table, function, function->stack_program);
	while ((r = go_program_next(&program, &start, &end, &depth)) > 0) {
		uint32_t offset = progress->start + (uint32_t)(start - function->start);

		progress->has_rows = true;
		/* Negative: a function of Go has its return address in a register. */
		if (depth < 0 || depth > DEPTH_MAX)
			error = add_row(go, offset, UNWIND_GO_NOTHING, 0);
		else
			error = add_value(collection, progress, offset, (uint32_t)depth);
		if (error < 0)
			return error;
	}
	if (r < 0) {
		go->failed++;
		progress->has_rows = false;
		return add_row(go, progress->start, UNWIND_GO_NOTHING, 0);
	}
	if (!progress->has_rows)
		return add_row(go, progress->start, UNWIND_GO_NOTHING, 0);
	if (progress->kind == UNWIND_GO_SWITCHED && !progress->is_saved)
		return add_row(go, progress->start, UNWIND_GO_SWITCHED, 0);
	return 0;
}

static int add_function(struct collection *collection, const struct go_function *function)
{
	struct unwind_go *go = collection->go;
	const char *name = go_table_name(collection->table, function->name);
	struct progress progress = { .kind = name ? kind_of(name) : UNWIND_GO_PLAIN };
	uint64_t size = function->end - function->start;
	uint32_t bytes;
	int r;

	if (!unwind_files_find_offset(
		    collection->files, function->start, &progress.start, &bytes) ||
		size > bytes) {
		go->failed++;
		return 0;
	}
	switch (progress.kind) {
	case UNWIND_GO_ROOT:
		progress.has_rows = true;
		r = add_row(go, progress.start, UNWIND_GO_ROOT, 0);
		break;
	case UNWIND_GO_SIGNAL:
		/* No call led there: the address before it is looked up. */
		progress.has_rows = true;
		r = add_row(go, progress.start - (progress.start > 0), UNWIND_GO_SIGNAL, 0);
		break;
	default:
		r = run_function(collection, function, &progress);
		break;
	}
	if (r < 0)
		return r;
	go->function_count += progress.has_rows;
	go->code_bytes += progress.has_rows ? size : 0;
	/* The next function begins here, or none does. */
	return add_row(go, progress.start + (uint32_t)size, UNWIND_GO_NOTHING, 0);
}

static int read_functions(struct unwind_go *go, const struct unwind_files *files,
	struct go_table *table, struct scratch *scratch)
{
	struct collection collection = {
		.go = go, .files = files, .table = table, .code.file = &files->binary
	};
	struct go_function function;
	uint64_t end = 0;
	int r;

	r = scratch_array_init(&go->rows, scratch, sizeof(struct unwind_go_row), UINT32_MAX);
	for (uint32_t i = 0; r == 0 && i < table->function_count; i++) {
		if (go_table_function(table, i, &function) < 0 || function.start < end) {
			go->failed++;
			continue;
		}
		end = function.end;
		r = add_function(&collection, &function);
	}
	return r;
}

int unwind_go_read(struct unwind_go *go, const struct unwind_files *files, struct scratch *scratch)
{
	struct go_table table = { 0 };
	int r = -ENODATA;

	if (files->binary.machine == EM_X86_64)
		r = go_table_open(&table, &files->binary, scratch);
	if (r == 0)
		r = read_functions(go, files, &table, scratch);
	else if (r == -ENOEXEC || r == -ENODATA)
		r = 0;
	go_table_close(&table);
	if (r != -EFBIG)
		return r;
	unwind_go_done(go);
	return 0;
}

struct pilotlight_unwind_rule unwind_go_rule(const struct unwind_go_row *row)
{
	const uint8_t *registers = cfi_registers_x86_64.numbers;
	struct pilotlight_unwind_rule rule = { .kind = PILOTLIGHT_UNWIND_STOP };

	switch (row->kind) {
	case UNWIND_GO_NOTHING:
		break;
	case UNWIND_GO_ROOT:
		rule.kind = PILOTLIGHT_UNWIND_ROOT;
		break;
	case UNWIND_GO_SIGNAL:
		rule.kind = PILOTLIGHT_UNWIND_SIGNAL;
		break;
	case UNWIND_GO_SWITCHED:
		rule.kind = PILOTLIGHT_UNWIND_SWITCHED;
		rule.base = registers[CFI_FRAME_POINTER];
		rule.offset = 2 * WORD_BYTES;
		break;
	case UNWIND_GO_PLAIN:
	case UNWIND_GO_SAVED:
		rule.kind = PILOTLIGHT_UNWIND_CFA;
		rule.base = registers[CFI_STACK_POINTER];
		rule.offset = (int32_t)row->depth + WORD_BYTES;
		break;
	}
	if (row->kind == UNWIND_GO_SWITCHED || row->kind == UNWIND_GO_SAVED) {
		rule.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_CFA;
		rule.frame_pointer_offset = -2 * WORD_BYTES;
	}
	return rule;
}
