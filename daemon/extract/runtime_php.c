/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_php.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/runtime_bounds.h"
#include "dwarf/elf_sections.h"
#include "extract/code_accessor.h"
#include "extract/elf_memory.h"
#include "extract/runtime_anchor.h"
#include "extract/runtime_loop.h"
#include "extract/symbol_table.h"
#include "extract/unwind_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	THREAD_AT = 16, /* in a thread's block (tsrm_tls_entry in TSRM.c): the thread */
	CHUNK_BYTES = 64 << 10,
	SEARCH_BYTES_MAX = 64 << 20,
	VERSION_BYTES = 8, /* "8.2.36", and what may follow */
	CODE_BYTES_MAX = 512,
};

/* Exported symbols. */
enum symbol {
	SYMBOL_GLOBALS,
	/* Only with threads. */
	SYMBOL_GLOBALS_OFFSET,
	SYMBOL_BLOCK,
	SYMBOL_LOOP,
	SYMBOL_FILENAME,
	SYMBOLS,
};
static const struct wanted_symbol wanted[SYMBOLS] = {
	[SYMBOL_GLOBALS] = { .name = "executor_globals" },
	[SYMBOL_GLOBALS_OFFSET] = { .name = "executor_globals_offset" },
	[SYMBOL_BLOCK] = { .name = "tsrm_get_ls_cache" },
	[SYMBOL_LOOP] = { .name = "execute_ex" },
	[SYMBOL_FILENAME] = { .name = "zend_get_executed_filename_ex" },
};

/* The header of its answers, which each build has among its texts. */
static const char header[] = "X-Powered-By: PHP/";

/* Where a generator (zend_generator in Zend/zend_generators.h) points to its frame (execute_data)
 * and to the generator that it awaits (node.parent), and has execute_fake and flags. */
struct generator {
	uint16_t frame_at, awaited_at, mark_at, state_at;
};
static const struct generator generator_7_4 = { 64, 160, 200, 272 };
static const struct generator generator_8_0 = { 0 }; /* unknown */
static const struct generator generator_8_1 = { 56, 152, 184, 264 };
static const struct generator generator_8_4 = { 56, 152, 184, 272 };

/* Where the executor's globals have the innermost frame (Zend/zend_globals.h), and what differs in
 * a function (zend_op_array in Zend/zend_compile.h): the file's name, the first line, the number of
 * instructions (`last`), and where they are. */
static const struct layout {
	uint8_t major, minor;
	uint16_t frame_at, file_at, line_at, count_at, units_at;
	const struct generator *generator;
} layouts[] = {
	{ 7, 4, 488, 136, 144, 60, 64, &generator_7_4 },
	{ 8, 0, 488, 144, 152, 68, 72, &generator_8_0 },
	{ 8, 1, 488, 144, 152, 68, 72, &generator_8_1 },
	{ 8, 2, 488, 152, 160, 80, 88, &generator_8_1 },
	{ 8, 3, 488, 144, 152, 76, 80, &generator_8_1 },
	{ 8, 4, 488, 168, 176, 96, 104, &generator_8_4 },
	{ 8, 5, 512, 168, 176, 96, 104, &generator_8_4 },
	{ 8, 6, 512, 168, 176, 96, 104, &generator_8_4 },
};

struct php {
	const struct unwind_files *files;
	struct elf_memory memory;
	struct symbol_table table;
	struct wanted_symbol symbols[SYMBOLS];
	struct pilotlight_runtime runtime;
};

/* Finds the header among the read-only texts. Returns 0; -ENOTSUP; -ENOMEM; or another -errno from
 * reading. */
static int find_version(const struct elf_file *file, char ret_version[VERSION_BYTES])
{
	const size_t length = sizeof(header) - 1, overlap = length + VERSION_BYTES - 1;
	_cleanup_free_ char *chunk = malloc(CHUNK_BYTES);
	Elf64_Shdr section;
	int r;

	if (!chunk)
		return -ENOMEM;
	r = elf_sections_find(file, ".rodata", &section);
	if (r < 0)
		return r == -ENODATA ? -ENOTSUP : r;
	for (uint64_t at = 0; at + overlap < section.sh_size && at < SEARCH_BYTES_MAX;
		at += CHUNK_BYTES - overlap) {
		size_t size = CHUNK_BYTES;
		const char *found;

		if (size > section.sh_size - at)
			size = section.sh_size - at;
		r = elf_file_read(file, section.sh_offset + at, chunk, size);
		if (r < 0)
			return r;
		found = memmem(chunk, size - VERSION_BYTES, header, length);
		if (found) {
			memcpy(ret_version, found + length, VERSION_BYTES);
			return 0;
		}
	}
	return -ENOTSUP;
}

/* "8.2.36": the last number may have two digits. Distributions append to it. */
static int find_layout(struct php *php, const struct layout **ret_layout)
{
	char version[VERSION_BYTES];
	int r = find_version(&php->files->binary, version);

	if (r < 0)
		return r;
	version[VERSION_BYTES - 1] = '\0';
	if (version[1] != '.' || version[3] != '.' || version[4] < '0' || version[4] > '9')
		return -ENOTSUP;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (version[0] - '0' == layouts[i].major && version[2] - '0' == layouts[i].minor) {
			*ret_layout = &layouts[i];
			php->runtime.release = (uint32_t)layouts[i].major << 24 |
					       (uint32_t)layouts[i].minor << 16 |
					       (uint32_t)(strtoul(version + 4, NULL, 10) & 0xff)
						       << 8;
			return 0;
		}
	return -ENOTSUP;
}

/* Does the code have a displacement of this value, or one of this vaddr from its end? */
static bool uses(const uint8_t *code, size_t size, uint64_t vaddr, int32_t value, uint64_t target)
{
	int32_t displacement;

	for (size_t i = 0; i + sizeof(displacement) <= size; i++) {
		memcpy(&displacement, code + i, sizeof(displacement));
		if (displacement == value ||
			(target && vaddr + i + sizeof(displacement) + (uint64_t)displacement ==
					   target))
			return true;
	}
	return false;
}

/* The function that returns the name of the file that runs goes from the globals by the innermost
 * frame to it. So a build with other fields is refused. */
static int check_layout(const struct php *php, const struct layout *layout)
{
	const struct wanted_symbol *function = &php->symbols[SYMBOL_FILENAME];
	uint64_t globals = php->symbols[SYMBOL_GLOBALS].vaddr;
	uint64_t frame = globals ? globals + layout->frame_at : 0;
	size_t size = function->bytes < CODE_BYTES_MAX ? function->bytes : CODE_BYTES_MAX;
	uint8_t code[CODE_BYTES_MAX];
	int r;

	if (function->vaddr == 0)
		return -ENOTSUP;
	r = elf_memory_read(&php->memory, function->vaddr, code, size);
	if (r < 0)
		return r;
	return uses(code, size, function->vaddr, layout->frame_at, frame) &&
			       uses(code, size, function->vaddr, layout->file_at, 0)
		       ? 0
		       : -ENOTSUP;
}

static int describe_loop(struct php *php, const struct runtime_anchor *anchor)
{
	struct pilotlight_runtime *runtime = &php->runtime;
	const struct wanted_symbol *loop = &php->symbols[SYMBOL_LOOP];
	uint64_t rest, rest_bytes;
	int r = runtime_loop_find_rest(&php->memory, loop->vaddr, loop->bytes, &rest, &rest_bytes);

	if (r == 0)
		r = runtime_anchor_find_place(anchor, loop->vaddr, &runtime->loop_place);
	if (r == 0 && rest_bytes > 0)
		r = runtime_anchor_find_place(anchor, rest, &runtime->loop_rest_place);
	if (r < 0)
		return r;
	runtime->loop_bytes = (uint32_t)loop->bytes;
	runtime->loop_rest_bytes = (uint32_t)rest_bytes;
	return 0;
}

/* With threads: an exported function returns the thread's block, from a variable of the thread or
 * from a pthread key, and a variable says where in the block the globals are. */
static int describe_block(struct php *php, const struct runtime_anchor *anchor)
{
	const struct wanted_symbol *function = &php->symbols[SYMBOL_BLOCK];
	struct pilotlight_runtime *runtime = &php->runtime;
	uint8_t code[CODE_ACCESSOR_BYTES_MAX];
	size_t size = function->bytes < sizeof(code) ? function->bytes : sizeof(code);
	struct code_accessor accessor;
	int r;

	if (function->vaddr == 0)
		return -ENOTSUP;
	r = elf_memory_read(&php->memory, function->vaddr, code, size);
	if (r < 0)
		return r;
	code_accessor_read(code, size, function->vaddr, &accessor);
	if (accessor.result.kind != CODE_VALUE_UNKNOWN)
		r = runtime_anchor_describe_variable(anchor, &accessor.result, runtime);
	else
		r = runtime_anchor_describe_key(anchor, &accessor.argument, 0, runtime);
	if (r == 0)
		r = runtime_anchor_find_place(anchor, php->symbols[SYMBOL_GLOBALS_OFFSET].vaddr,
			&runtime->code_type_place);
	return r;
}

static int describe_anchor(
	struct php *php, const struct runtime_anchor *anchor, const struct layout *layout)
{
	struct pilotlight_runtime *runtime = &php->runtime;
	uint64_t globals = php->symbols[SYMBOL_GLOBALS].vaddr;

	if (globals != 0) {
		runtime->anchor = PILOTLIGHT_RUNTIME_GLOBAL;
		return runtime_anchor_find_place(
			anchor, globals + layout->frame_at, &runtime->anchor_place);
	}
	runtime->state_thread_at = THREAD_AT;
	runtime->state_frame_at = layout->frame_at;
	return describe_block(php, anchor);
}

static int describe(struct php *php, struct scratch *scratch)
{
	const struct runtime_anchor anchor = { php->files, &php->table };
	struct pilotlight_runtime *runtime = &php->runtime;
	const struct layout *layout = NULL;
	int r;

	r = elf_memory_open(&php->memory, &php->files->binary, scratch);
	if (r == 0)
		r = find_layout(php, &layout);
	if (r == 0)
		r = check_layout(php, layout);
	if (r == 0)
		r = describe_loop(php, &anchor);
	if (r == 0)
		r = describe_anchor(php, &anchor, layout);
	if (r < 0)
		return r == -ENODATA ? -ENOTSUP : r;
	runtime->code_file_at = layout->file_at;
	runtime->code_first_line_at = layout->line_at;
	runtime->code_lines_at = layout->count_at;
	runtime->code_units_at = layout->units_at;
	runtime->coroutine_frame_at = layout->generator->frame_at;
	runtime->task_coroutine_at = layout->generator->awaited_at;
	runtime->state_mark_at = layout->generator->mark_at;
	runtime->coroutine_state_at = layout->generator->state_at;
	return runtime_bounds_hold(runtime) ? 0 : -ENOTSUP;
}

/* Is there the loop of PHP, and its globals? Extensions only refer to them. Returns 0, or -ENODATA.
 */
static int find_php(struct php *php)
{
	int r = symbol_table_open(&php->table, &php->files->binary, SHT_DYNSYM);

	if (r == 0)
		r = symbol_table_find(&php->table, php->symbols, SYMBOLS);
	if (r == -ENOEXEC || r == -EFBIG)
		r = -ENODATA; /* damaged symbols of whatever it is */
	if (r < 0)
		return r;
	return php->symbols[SYMBOL_LOOP].vaddr != 0 &&
			       (php->symbols[SYMBOL_GLOBALS].vaddr != 0 ||
				       php->symbols[SYMBOL_GLOBALS_OFFSET].vaddr != 0)
		       ? 0
		       : -ENODATA;
}

int runtime_php_read(const struct unwind_files *files, struct scratch *scratch,
	struct pilotlight_runtime *ret_runtime)
{
	struct php php = {
		.files = files,
		.runtime = {
			.version = PILOTLIGHT_RUNTIME_VERSION,
			.language = PILOTLIGHT_RUNTIME_PHP,
			.group = PILOTLIGHT_RUNTIME_GROUP_TOP,
			.lines = PILOTLIGHT_RUNTIME_LINE_NUMBERS,
		},
	};
	int r;

	if (files->binary.machine != EM_X86_64)
		return -ENODATA;
	memcpy(php.symbols, wanted, sizeof(wanted));
	r = find_php(&php);
	if (r == 0)
		r = describe(&php, scratch);
	if (r == 0)
		*ret_runtime = php.runtime;
	elf_memory_done(&php.memory);
	symbol_table_close(&php.table);
	return r;
}
