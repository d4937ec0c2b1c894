/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/elf_symbol_source.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash_index.h"
#include "extract/demangle.h"
#include "symbol/elf_image.h"
#include "extract/symbol_match.h"
#include "extract/symbol_table.h"

#include <errno.h>
#include <string.h>

enum {
	MARKS_MAX = 1 << 18, /* a read each: an eighth of a second */
	REQUESTS_MAX = 1 << 20,
	/*
	 * Names read to choose between equals, of one file. Beyond it the first one stays, so that
	 * a million long names for one place cost no more than a second.
	 */
	COMPARED_BYTES_MAX = 64 * 1024 * 1024,
	READ_COST_BYTES = 256,
};

struct elf_symbol_source {
	struct symbol_source source;
	char name[SYMBOL_NAME_BYTES];
	char other_name[SYMBOL_NAME_BYTES];
};

struct resolved_name {
	uint32_t name; /* st_name */
	uint32_t function;
};

/* One call of lookup(). */
struct lookup {
	uint32_t marks_read;
	struct elf_symbol_source *source;
	struct symbol_batch *batch;
	struct symbol_table table;
	struct symbol_match match;
	size_t compared_bytes;
	int error; /* the first that comparing met */

	uint32_t *functions; /* by request; 0 unknown */
	size_t named_count;
	struct resolved_name *names; /* each once, found by name_index */
	size_t name_count, name_capacity;
	struct hash_index name_index;
};

static void lookup_done(struct lookup *lookup)
{
	symbol_table_close(&lookup->table);
	symbol_match_done(&lookup->match);
	free(lookup->functions);
	free(lookup->names);
	hash_index_done(&lookup->name_index);
}

/* Without the version: what follows an @ that is not its beginning. */
static int read_name(const struct lookup *lookup, uint32_t name, char *text, size_t *ret_length)
{
	size_t length;
	char *version;
	int r;

	r = symbol_table_read_name(&lookup->table, name, text, &length);
	if (r < 0)
		return r;
	version = length > 0 ? memchr(text + 1, '@', length - 1) : NULL;
	if (version) {
		*version = '\0';
		length = (size_t)(version - text);
	}
	*ret_length = length;
	return 0;
}

static bool prefer_name(void *context, uint32_t a, uint32_t b)
{
	struct lookup *lookup = context;
	char *name_a = lookup->source->name, *name_b = lookup->source->other_name;
	size_t length_a, length_b, underscores_a, underscores_b;
	int r;

	if (lookup->error < 0 || lookup->compared_bytes > COMPARED_BYTES_MAX)
		return false;
	r = read_name(lookup, a, name_a, &length_a);
	if (r == 0)
		r = read_name(lookup, b, name_b, &length_b);
	if (r < 0) {
		lookup->error = r;
		return false;
	}
	lookup->compared_bytes += length_a + length_b + 2 * READ_COST_BYTES;

	underscores_a = strspn(name_a, "_");
	underscores_b = strspn(name_b, "_");
	if (underscores_a != underscores_b)
		return underscores_a < underscores_b;
	if (length_a != length_b)
		return length_a < length_b;
	return strcmp(name_a, name_b) < 0;
}

/* Marks of what is code, what data and of which kind ($a, $d, $t, $x) are no functions' names. */
static int is_mapping_symbol(struct lookup *lookup, uint32_t name)
{
	const struct symbol_table *table = &lookup->table;
	char text[2];
	int r;

	switch (table->file.machine) {
	case EM_ARM:
	case EM_AARCH64:
	case EM_RISCV:
	case EM_CSKY:
		break;
	default:
		return false;
	}
	if (table->strings_bytes - name < sizeof(text))
		return false;
	if (++lookup->marks_read > MARKS_MAX)
		return -EFBIG;
	r = elf_file_read(&table->file, table->strings_offset + name, text, sizeof(text));
	if (r < 0)
		return r;
	return text[0] == '$' && text[1] && strchr("adtx", text[1]);
}

static uint16_t rank_symbol(const Elf64_Sym *symbol)
{
	uint16_t rank = ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE ? 0 : 3;

	switch (ELF64_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return rank + 3;
	case STB_WEAK:
		return rank + 2;
	default:
		return rank + 1;
	}
}

/* Symbols that name no code, or that contradict their section, are passed over. */
static int add_symbol(void *context, const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);
	struct lookup *lookup = context;
	struct symbol_candidate candidate;
	const struct symbol_section *section;
	int r;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	/* Index 0 is "undefined"; the reserved ones (SHN_ABS, SHN_COMMON) are no sections. */
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= lookup->table.section_count)
		return 0;
	if (symbol->st_name == 0 || symbol->st_name >= lookup->table.strings_bytes)
		return 0;
	section = &lookup->table.sections[symbol->st_shndx];
	candidate = (struct symbol_candidate){
		.start = symbol->st_value,
		.end = section->end,
		.name = symbol->st_name,
		.rank = rank_symbol(symbol),
		.is_guess = symbol->st_size == 0,
	};
	/* The lowest bit says that the function is Thumb code. */
	if (lookup->table.file.machine == EM_ARM && type != STT_NOTYPE)
		candidate.start &= ~UINT64_C(1);
	if (candidate.start < section->start || candidate.start >= section->end)
		return 0;
	if (!candidate.is_guess && symbol->st_size < section->end - candidate.start)
		candidate.end = candidate.start + symbol->st_size;
	if (type == STT_NOTYPE) {
		r = section->is_executable ? is_mapping_symbol(lookup, symbol->st_name) : true;
		if (r != 0)
			return r < 0 ? r : 0;
	}

	symbol_match_add(&lookup->match, &candidate);
	return lookup->error;
}

static bool is_resolved_name(const void *owner, uint32_t id, const void *key)
{
	const struct lookup *lookup = owner;
	const uint32_t *name = key;

	return lookup->names[id].name == *name;
}

static int intern_function(const struct lookup *lookup, uint32_t name, uint32_t *ret_function)
{
	_cleanup_free_ char *demangled = NULL;
	char *text = lookup->source->name;
	size_t length;
	int r;

	r = read_name(lookup, name, text, &length);
	if (r < 0)
		return r;
	demangled = demangle(text);
	return string_pool_intern(lookup->batch->strings, demangled ? demangled : text,
		demangled ? strlen(demangled) : length, ret_function);
}

static int resolve_request(void *context, size_t request, uint32_t name)
{
	struct lookup *lookup = context;
	uint64_t hash = hash_pair(name, 0);
	uint32_t id, function;
	int r;

	id = hash_index_find(&lookup->name_index, hash, is_resolved_name, lookup, &name);
	if (id == HASH_INDEX_NONE) {
		r = intern_function(lookup, name, &function);
		if (r < 0)
			return r;
		r = ARRAY_RESERVE(lookup->names, &lookup->name_capacity, lookup->name_count + 1,
			lookup->batch->request_count);
		if (r < 0)
			return r;
		r = hash_index_reserve(&lookup->name_index);
		if (r < 0)
			return r;
		id = (uint32_t)lookup->name_count++;
		lookup->names[id] = (struct resolved_name){ .name = name, .function = function };
		hash_index_insert(&lookup->name_index, hash, id);
	}
	lookup->functions[request] = lookup->names[id].function;
	lookup->named_count += lookup->functions[request] != 0;
	return 0;
}

static int store_frames(const struct lookup *lookup)
{
	struct symbol_batch *batch = lookup->batch;
	int r;

	if (lookup->named_count > UINT32_MAX - batch->frame_count)
		return -EFBIG;
	r = ARRAY_RESERVE(batch->frames, &batch->frame_capacity,
		batch->frame_count + lookup->named_count, UINT32_MAX);
	if (r < 0)
		return r;
	for (size_t i = 0; i < batch->request_count; i++) {
		struct symbol_request *request = &batch->requests[i];

		request->frame_count = 0;
		if (lookup->functions[i] == 0)
			continue;
		request->first_frame = (uint32_t)batch->frame_count;
		request->frame_count = 1;
		batch->frames[batch->frame_count++] =
			(struct symbol_frame){ .function = lookup->functions[i] };
	}
	return 0;
}

static bool is_debug_file_of(const struct symbol_binary *binary)
{
	struct elf_image image;

	return binary->debug_fd >= 0 && binary->build_id.size > 0 &&
	       elf_image_read(binary->debug_fd, &image) == 0 &&
	       build_id_equal(&image.build_id, &binary->build_id);
}

/* A table that cannot be used gives way to the next best. */
static int open_table(struct symbol_table *table, const struct symbol_binary *binary)
{
	int r, error = -ENODATA;

	if (is_debug_file_of(binary)) {
		r = symbol_table_open(table, binary->debug_fd, SHT_SYMTAB);
		if (r == 0 || r == -ENOMEM)
			return r;
	}
	if (binary->fd < 0)
		return -ENODATA;
	r = symbol_table_open(table, binary->fd, SHT_SYMTAB);
	if (r == 0 || r == -ENOMEM)
		return r;
	if (r != -ENODATA)
		error = r;
	r = symbol_table_open(table, binary->fd, SHT_DYNSYM);
	return r == -ENODATA ? error : r;
}

static int elf_symbol_source_lookup(struct symbol_source *source,
	const struct symbol_binary *binary, struct symbol_batch *batch)
{
	_cleanup_(lookup_done) struct lookup lookup = {
		.source = (struct elf_symbol_source *)source,
		.batch = batch,
	};
	int r;

	if (batch->request_count > REQUESTS_MAX)
		return -EFBIG;
	r = open_table(&lookup.table, binary);
	if (r < 0 || batch->request_count == 0)
		return r;
	lookup.functions = calloc(batch->request_count, sizeof(*lookup.functions));
	if (!lookup.functions)
		return -ENOMEM;
	r = symbol_match_init(
		&lookup.match, batch->requests, batch->request_count, prefer_name, &lookup);
	if (r < 0)
		return r;

	r = symbol_table_each(&lookup.table, add_symbol, &lookup);
	if (r < 0)
		return r;
	r = symbol_match_each(&lookup.match, resolve_request, &lookup);
	if (r == 0)
		r = lookup.error;
	return r < 0 ? r : store_frames(&lookup);
}

static void elf_symbol_source_free(struct symbol_source *source)
{
	free(source);
}

int elf_symbol_source_new(struct symbol_source **ret_source)
{
	struct elf_symbol_source *source = malloc(sizeof(*source));

	if (!source)
		return -ENOMEM;
	source->source = (struct symbol_source){
		.lookup = elf_symbol_source_lookup,
		.free = elf_symbol_source_free,
	};
	*ret_source = &source->source;
	return 0;
}
