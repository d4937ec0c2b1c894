/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions, lines and symbols in any order and with any overlap. For each address, the file must
 * agree with a model that searches everything. */
#include "tests/extract/symbol_model.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum {
	OPERATION_BYTES = 6,
	OPERATION_COUNT = 10,
	BASE = 0x1000,
	SPAN = 288,
};

static const struct symbol_builder_code code = {
	.segments = {
		{ .vaddr = BASE + 160, .memory_bytes = 96, .file_bytes = 96, .offset = 160 },
		{ .vaddr = BASE, .memory_bytes = 128, .file_bytes = 128 },
		{ .vaddr = BASE + 256, .memory_bytes = 32, .file_bytes = 10, .offset = 256 },
	},
	.segment_count = 3,
};

/* Most addresses are code, some are just outside of it and a few far away. */
static uint64_t vaddr_of(const uint8_t *operation)
{
	switch (operation[0]) {
	case 0xff:
		return UINT64_MAX - operation[1] % 4;
	case 0xfe:
		return operation[1];
	case 0xfd:
		return BASE + (1ULL << 32) + operation[1];
	default:
		return BASE - 4 + operation[0] + operation[1] % 2 * 64;
	}
}

static int choose_name(struct symbol_model *model, struct symbol_builder *builder, uint8_t choice,
	size_t *ret_name)
{
	static const char *const names[] = { "", "main", "_Z3foov", "foo()",
		"_ZN3barIiE3bazEv.cold", "\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd", "_", "mainly" };
	char numbered[16];

	if (choice < sizeof(names) / sizeof(names[0]))
		return model_add_name(
			model, builder, names[choice], strlen(names[choice]), ret_name);
	(void)snprintf(numbered, sizeof(numbered), "name %u", choice % 32U);
	return model_add_name(model, builder, numbered, strlen(numbered), ret_name);
}

static int choose_place(struct symbol_model *model, struct symbol_builder *builder, uint8_t choice,
	uint64_t *ret_place)
{
	char path[16];
	uint32_t file;
	int r;

	(void)snprintf(path, sizeof(path), "/src/%u.c", choice % 4U);
	r = model_add_file(model, builder, path, choice % 5 == 4 ? 0 : strlen(path), &file);
	if (r == 0)
		*ret_place = choice == 0 ? 0 : symbol_place_pack(file, choice / 32U, choice % 2U);
	return r;
}

/* {kind, start, start, length or frame, name or place, flags} */
static int run(struct symbol_model *model, struct symbol_builder *builder, const uint8_t *operation)
{
	uint64_t vaddr = vaddr_of(operation + 1), place = 0;
	uint64_t end = vaddr + operation[3];
	size_t name = 0;
	int r = choose_name(model, builder, operation[4], &name);

	if (r == 0)
		r = choose_place(model, builder, operation[4], &place);
	if (r < 0)
		return r;
	switch (operation[0] % OPERATION_COUNT) {
	case 0:
		r = model_end_function(model, builder);
		return r < 0 ? r : model_begin_function(model, builder, name);
	case 1:
	case 2:
		return model_add_inlined(model, builder, operation[5], name, place);
	case 3:
	case 4:
		return model_add_range(model, builder, operation[5], vaddr, end);
	case 5:
		return model_add_range(model, builder, 0, vaddr, end);
	case 6:
		return model_add_symbol(model, builder, vaddr, end, name, operation[5] % 4 == 0);
	case 7:
	case 8:
		return model_add_row(model, builder, vaddr, place);
	default:
		return model_end_sequence(model, builder, vaddr);
	}
}

static bool knows_something(const struct symbol_model *model)
{
	for (uint64_t vaddr = BASE; vaddr < BASE + SPAN; vaddr++)
		if (model_find_function(model, vaddr) != MODEL_FRAMES_MAX ||
			model_find_symbol(model, vaddr) || model_find_place(model, vaddr) != 0)
			return true;
	return false;
}

static int open_written(struct symbol_builder *builder, int fd, struct symbol_file **ret_file)
{
	const struct symbol_identity identity = {
		.kind = PILOTLIGHT_SYMBOL_BUILD_ID,
		.id = { .bytes = { 1, 2, 3 }, .size = 3 },
	};
	int r = symbol_builder_write(
		builder, &identity, PILOTLIGHT_SYMBOL_RANK_BINARY, 62, "/usr/bin/a program", fd);

	if (r < 0)
		return r;
	r = symbol_file_open(fd, ret_file);
	assert(r == 0);
	return 0;
}

static void build(struct symbol_model *model, struct scratch *scratch, int output_fd,
	const uint8_t *bytes, size_t size)
{
	_cleanup_(symbol_builder_freep) struct symbol_builder *builder = NULL;
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	int r = symbol_builder_new(&code, scratch, &builder);

	model_init(model, &code);
	for (size_t i = 0; r == 0 && i + OPERATION_BYTES <= size; i += OPERATION_BYTES)
		r = run(model, builder, bytes + i);
	if (r == 0)
		r = model_end_function(model, builder);
	if (r == 0)
		r = model_end_sequence(model, builder, 0);
	if (r == 0)
		r = open_written(builder, output_fd, &file);
	if (r == -ENODATA)
		assert(!knows_something(model));
	else if (r < 0)
		assert(r == -EFBIG);
	else
		model_check(model, file, BASE - 8, BASE + SPAN + 8);
	/* No input is large enough to reach the bounds of the file. */
	assert(r != -EFBIG || scratch->limit_bytes < (1U << 22));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct symbol_model model;
	_cleanup_close_ int scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	_cleanup_close_ int output_fd = memfd_create("output", MFD_CLOEXEC);
	struct scratch scratch;

	if (size == 0 || scratch_fd < 0 || output_fd < 0)
		return 0;
	/* Sometimes too small. */
	scratch_init(&scratch, scratch_fd, bytes[0] < 32 ? bytes[0] * 65536ULL : 1ULL << 30, 0);
	build(&model, &scratch, output_fd, bytes + 1, size - 1);
	return 0;
}
