/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/runtime_hotspot.h"

#include "base/array.h"
#include "base/runtime_bounds.h"
#include "extract/elf_memory.h"
#include "extract/runtime_anchor.h"
#include "extract/symbol_table.h"
#include "extract/unwind_files.h"
#include "pilotlight/runtime_hotspot.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	ENTRIES_MAX = 4096,
	NAME_BYTES = 64,
	CODE_CHUNK_BYTES = 64 << 10,
	STORE_BYTES = 11, /* movq $IMM, OFFSET(%rip) */
	STORE_OFFSET_AT = 3,
	STORE_NUMBER_AT = 7,
	WORD_BYTES = 8,
	/* Words from the frame pointer; since JDK 9 there is one more before the bytecode's. */
	FRAME_SENDER = -1,
	FRAME_METHOD = -3,
	FRAME_BYTECODE = -8,
	FRAME_BYTECODE_BEFORE_9 = -7,
	RELEASE_NO_ZEROS = 20,
	BOUNDARIES_BYTES = 16, /* of a VirtualSpace: the lowest and the highest address */
	PC_SCOPE_AT = 4,       /* of a PcDesc, which begins with the offset of an instruction */
	PC_BYTES = 16,
};

/* As published: gHotSpotVMStructs is an array of the first, gHotSpotVMTypes of the second. */
struct struct_entry {
	uint64_t type, field, kind;
	uint32_t is_static, reserved;
	uint64_t offset, address;
};
struct type_entry {
	uint64_t type, super;
	uint32_t is[4]; /* what kind of type it is */
	uint64_t size;
};
_Static_assert(
	sizeof(struct struct_entry) == 48 && sizeof(struct type_entry) == 40, "as published");

/* Numbers that say so, which must be these. */
static const struct {
	const char *name;
	uint64_t value;
} layout[] = {
	{ "gHotSpotVMStructEntryTypeNameOffset", offsetof(struct struct_entry, type) },
	{ "gHotSpotVMStructEntryFieldNameOffset", offsetof(struct struct_entry, field) },
	{ "gHotSpotVMStructEntryIsStaticOffset", offsetof(struct struct_entry, is_static) },
	{ "gHotSpotVMStructEntryOffsetOffset", offsetof(struct struct_entry, offset) },
	{ "gHotSpotVMStructEntryAddressOffset", offsetof(struct struct_entry, address) },
	{ "gHotSpotVMStructEntryArrayStride", sizeof(struct struct_entry) },
	{ "gHotSpotVMTypeEntryTypeNameOffset", offsetof(struct type_entry, type) },
	{ "gHotSpotVMTypeEntrySizeOffset", offsetof(struct type_entry, size) },
	{ "gHotSpotVMTypeEntryArrayStride", sizeof(struct type_entry) },
};

/* What the tables say that is no field of the description as it is. */
enum other {
	HEAPS,	 /* a variable */
	HEAP,	 /* the same to JDK 8 */
	RELEASE, /* a variable */
	MAP_LOW, /* of a VirtualSpace */
	MAP_HIGH,
	CODE_BEGIN,  /* of a CodeBlob: an address, ... */
	CODE_OFFSET, /* ... or an offset */
	ARRAY_BYTES, /* of the part that all arrays have; the data's address follows */
	PC_OFFSET,   /* of a PcDesc */
	PC_SCOPE,
	PC_SIZE,
	/* Of an nmethod: what the compiler has put into it. Offsets, but for the second. */
	SCOPES_OFFSET,
	SCOPES_BEGIN, /* an address */
	SCOPES_PCS,
	DEPENDENCIES,
	METADATA,
	/* Addresses from which such offsets count. */
	IMMUTABLE,
	MUTABLE,
	RELOCATIONS_BYTES, /* metadata follows in MUTABLE */
	BLOB_DATA,
	OTHERS,
};
#define NOT_FOUND UINT64_MAX

/* Several names of one field are of different versions. */
static const struct wanted {
	const char *type, *field; /* NULL: the size of the type */
	bool is_other;
	uint16_t place; /* in the description, or enum other */
} wanted[] = {
#define FIELD(type, field, place)                                                      \
	{                                                                              \
		type, field, false, offsetof(struct pilotlight_runtime_hotspot, place) \
	}
	FIELD("GrowableArrayBase", "_len", array_length_at),
	FIELD("GenericGrowableArray", "_len", array_length_at),
	FIELD("CodeHeap", "_memory", heap_memory_at),
	FIELD("CodeHeap", "_segmap", heap_map_at),
	FIELD("CodeHeap", "_log2_segment_size", heap_shift_at),
	FIELD("HeapBlock::Header", "_used", block_used_at),
	FIELD("HeapBlock", NULL, block_bytes),
	FIELD("CodeBlob", "_name", blob_name_at),
	FIELD("CodeBlob", "_size", blob_size_at),
	FIELD("CodeBlob", "_frame_size", blob_frame_at),
	FIELD("CodeBlob", "_frame_complete_offset", blob_complete_at),
	FIELD("nmethod", "_method", blob_method_at),
	FIELD("CompiledMethod", "_method", blob_method_at),
	FIELD("nmethod", "_compile_id", blob_number_at),
	FIELD("Method", "_constMethod", method_const_at),
	FIELD("ConstMethod", "_constants", const_pool_at),
	FIELD("ConstMethod", "_constMethod_size", const_size_at),
	FIELD("ConstMethod", "_flags", const_flags_at),
	FIELD("ConstMethod", "_flags._flags", const_flags_at),
	FIELD("ConstMethod", "_code_size", const_code_at),
	FIELD("ConstMethod", "_name_index", const_name_at),
	FIELD("ConstMethod", "_signature_index", const_signature_at),
	FIELD("ConstMethod", NULL, const_bytes),
	FIELD("ConstantPool", "_pool_holder", pool_class_at),
	FIELD("ConstantPool", NULL, pool_bytes),
	FIELD("ConstantPool", "_source_file_name_index", pool_source_at),
	FIELD("InstanceKlass", "_source_file_name_index", class_source_at),
	FIELD("InstanceKlass", "_constants", class_pool_at),
	FIELD("Klass", "_name", class_name_at),
	FIELD("Symbol", "_length", symbol_length_at),
	FIELD("Symbol", "_body", symbol_text_at),
	FIELD("Symbol", "_body[0]", symbol_text_at),
#undef FIELD
	{ "CodeCache", "_heaps", true, HEAPS },
	{ "CodeCache", "_heap", true, HEAP },
	{ "Abstract_VM_Version", "_vm_major_version", true, RELEASE },
	{ "VirtualSpace", "_low_boundary", true, MAP_LOW },
	{ "VirtualSpace", "_high_boundary", true, MAP_HIGH },
	{ "CodeBlob", "_code_begin", true, CODE_BEGIN },
	{ "CodeBlob", "_code_offset", true, CODE_OFFSET },
	{ "GrowableArrayBase", NULL, true, ARRAY_BYTES },
	{ "GenericGrowableArray", NULL, true, ARRAY_BYTES },
	{ "PcDesc", "_pc_offset", true, PC_OFFSET },
	{ "PcDesc", "_scope_decode_offset", true, PC_SCOPE },
	{ "PcDesc", NULL, true, PC_SIZE },
	{ "nmethod", "_scopes_data_offset", true, SCOPES_OFFSET },
	{ "CompiledMethod", "_scopes_data_begin", true, SCOPES_BEGIN },
	{ "nmethod", "_scopes_pcs_offset", true, SCOPES_PCS },
	{ "nmethod", "_dependencies_offset", true, DEPENDENCIES },
	{ "nmethod", "_metadata_offset", true, METADATA },
	{ "nmethod", "_immutable_data", true, IMMUTABLE },
	{ "CodeBlob", "_mutable_data", true, MUTABLE },
	{ "CodeBlob", "_relocation_size", true, RELOCATIONS_BYTES },
	{ "CodeBlob", "_data_offset", true, BLOB_DATA },
};

/* A table of the library, as it is once the library has started. */
struct image {
	uint64_t vaddr;
	size_t bytes;
	uint8_t *contents;
};

struct hotspot {
	const struct unwind_files *files;
	struct elf_memory memory;
	struct symbol_table table;
	char name[SYMBOL_NAME_BYTES];
	uint64_t structs, types; /* the variables that point to the tables; 0: not found */
	bool is_wrong;		 /* a number is not what it must be */
	struct image images[2];
	uint8_t code[CODE_CHUNK_BYTES];
	uint64_t others[OTHERS];
	struct pilotlight_runtime_hotspot runtime;
};

static int visit_symbol(void *context, const Elf64_Sym *symbol)
{
	struct hotspot *hotspot = context;
	uint64_t number;
	size_t length;
	int r;

	if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT ||
		symbol->st_size != WORD_BYTES)
		return 0;
	r = symbol_table_read_name(&hotspot->table, symbol->st_name, hotspot->name, &length);
	if (r < 0)
		return r;
	if (strcmp(hotspot->name, "gHotSpotVMStructs") == 0)
		hotspot->structs = symbol->st_value;
	if (strcmp(hotspot->name, "gHotSpotVMTypes") == 0)
		hotspot->types = symbol->st_value;
	for (size_t i = 0; i < ARRAY_SIZE(layout); i++) {
		if (strcmp(hotspot->name, layout[i].name) != 0)
			continue;
		r = elf_memory_read(&hotspot->memory, symbol->st_value, &number, sizeof(number));
		hotspot->is_wrong |= r == 0 && number != layout[i].value;
		/* Stored at the start, like the offsets. */
		if (r == -ENODATA)
			r = 0;
	}
	return r;
}

/* Reads a table whose length is not known, and what lies behind it. */
static int read_image(
	struct hotspot *hotspot, uint64_t variable, size_t stride, struct image *image)
{
	int r = elf_memory_read_pointer(&hotspot->memory, variable, &image->vaddr);

	if (r < 0)
		return r == -ENODATA ? -ENOTSUP : r;
	image->contents = calloc(ENTRIES_MAX, stride);
	if (!image->contents)
		return -ENOMEM;
	for (size_t i = 0; i < ENTRIES_MAX && r == 0; i++) {
		r = elf_memory_read(&hotspot->memory, image->vaddr + i * stride,
			image->contents + i * stride, stride);
		if (r == 0)
			image->bytes += stride;
	}
	return r == -ENODATA ? 0 : r;
}

static void patch(struct hotspot *hotspot, uint64_t vaddr, uint64_t word)
{
	for (size_t i = 0; i < ARRAY_SIZE(hotspot->images); i++) {
		const struct image *image = &hotspot->images[i];

		if (vaddr >= image->vaddr && vaddr - image->vaddr < image->bytes &&
			image->bytes - (vaddr - image->vaddr) >= sizeof(word))
			memcpy(image->contents + (vaddr - image->vaddr), &word, sizeof(word));
	}
}

static void relocate(struct hotspot *hotspot)
{
	const Elf64_Rela *relocations = hotspot->memory.relocations.items;

	for (size_t i = 0; i < hotspot->memory.relocations.count; i++)
		if (ELF64_R_TYPE(relocations[i].r_info) == R_X86_64_RELATIVE)
			patch(hotspot, relocations[i].r_offset, (uint64_t)relocations[i].r_addend);
}

/* Applies the stores in a chunk of code. `at`: the vaddr of its first byte. */
static void apply_stores(struct hotspot *hotspot, uint64_t at, size_t size)
{
	static const uint8_t store[] = { 0x48, 0xc7, 0x05 };
	const uint8_t *code = hotspot->code, *found = code;
	int32_t offset, number;

	while (size - (size_t)(found - code) >= STORE_BYTES) {
		found = memchr(found, store[0], size - (size_t)(found - code) - STORE_BYTES + 1);
		if (!found)
			return;
		if (memcmp(found, store, sizeof(store)) == 0) {
			memcpy(&offset, found + STORE_OFFSET_AT, sizeof(offset));
			memcpy(&number, found + STORE_NUMBER_AT, sizeof(number));
			patch(hotspot,
				at + (uint64_t)(found - code) + STORE_BYTES +
					(uint64_t)(int64_t)offset,
				(uint64_t)(int64_t)number);
		}
		found++;
	}
}

static int find_stores(struct hotspot *hotspot)
{
	const struct code_segments *code = &hotspot->files->code;
	int r = 0;

	for (size_t i = 0; i < code->count && r == 0; i++) {
		const struct pilotlight_symbol_segment *segment = &code->segments[i];

		for (uint64_t at = 0; at < segment->file_bytes && r == 0;
			at += CODE_CHUNK_BYTES - STORE_BYTES + 1) {
			size_t size = segment->file_bytes - at < CODE_CHUNK_BYTES
					      ? (size_t)(segment->file_bytes - at)
					      : CODE_CHUNK_BYTES;

			r = elf_file_read(
				&hotspot->files->binary, segment->offset + at, hotspot->code, size);
			if (r == 0)
				apply_stores(hotspot, segment->vaddr + at, size);
		}
	}
	return r;
}

/* Reads a text that is at most so long. Returns false if there is none. */
static bool read_text(const struct hotspot *hotspot, uint64_t vaddr, char text[NAME_BYTES])
{
	return vaddr != 0 && elf_memory_read(&hotspot->memory, vaddr, text, NAME_BYTES) == 0 &&
	       memchr(text, '\0', NAME_BYTES);
}

/* Two that disagree void the description. */
static bool set(struct hotspot *hotspot, size_t i, uint64_t value)
{
	uint16_t *field = (void *)((uint8_t *)&hotspot->runtime + wanted[i].place);

	if (wanted[i].is_other) {
		hotspot->others[wanted[i].place] = value;
		return true;
	}
	if (value > PILOTLIGHT_RUNTIME_AT_MAX ||
		(*field != PILOTLIGHT_RUNTIME_NONE && *field != value))
		return false;
	*field = (uint16_t)value;
	return true;
}

static bool take_fields(struct hotspot *hotspot)
{
	const struct image *image = &hotspot->images[0];
	char type[NAME_BYTES], field[NAME_BYTES], kind[NAME_BYTES];
	bool is_good = true;

	for (size_t at = 0; at < image->bytes && is_good; at += sizeof(struct struct_entry)) {
		struct struct_entry entry;

		memcpy(&entry, image->contents + at, sizeof(entry));
		if (entry.type == 0)
			break;
		if (!read_text(hotspot, entry.type, type) ||
			!read_text(hotspot, entry.field, field))
			continue;
		if (strcmp(field, "_frame_complete_offset") == 0 &&
			read_text(hotspot, entry.kind, kind) && strcmp(kind, "int16_t") == 0)
			hotspot->runtime.flags |= PILOTLIGHT_HOTSPOT_SHORT_COMPLETE;
		for (size_t i = 0; i < ARRAY_SIZE(wanted) && is_good; i++)
			if (wanted[i].field && strcmp(wanted[i].field, field) == 0 &&
				strcmp(wanted[i].type, type) == 0)
				is_good = set(
					hotspot, i, entry.is_static ? entry.address : entry.offset);
	}
	return is_good;
}

static bool take_sizes(struct hotspot *hotspot)
{
	const struct image *image = &hotspot->images[1];
	char type[NAME_BYTES];
	bool is_good = true;

	for (size_t at = 0; at < image->bytes && is_good; at += sizeof(struct type_entry)) {
		struct type_entry entry;

		memcpy(&entry, image->contents + at, sizeof(entry));
		if (entry.type == 0)
			break;
		if (!read_text(hotspot, entry.type, type))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(wanted) && is_good; i++)
			if (!wanted[i].field && strcmp(wanted[i].type, type) == 0)
				is_good = set(hotspot, i, entry.size);
	}
	return is_good;
}

/* The code cache's heaps. */
static int describe_heaps(struct hotspot *hotspot)
{
	const struct runtime_anchor places = { hotspot->files, &hotspot->table };
	struct pilotlight_runtime_hotspot *runtime = &hotspot->runtime;
	const uint64_t *others = hotspot->others;
	bool has_heaps = others[HEAPS] != NOT_FOUND;

	if (has_heaps == (others[HEAP] != NOT_FOUND) || others[MAP_LOW] == NOT_FOUND ||
		others[MAP_HIGH] != others[MAP_LOW] + WORD_BYTES ||
		others[MAP_LOW] > PILOTLIGHT_RUNTIME_AT_MAX)
		return -ENOTSUP;
	runtime->heap_memory_at += (uint16_t)others[MAP_LOW];
	runtime->heap_map_at += (uint16_t)others[MAP_LOW];
	if (!has_heaps) {
		runtime->flags |= PILOTLIGHT_HOTSPOT_ONE_HEAP;
		runtime->array_length_at = runtime->array_data_at = PILOTLIGHT_RUNTIME_NONE;
	} else if (others[ARRAY_BYTES] > PILOTLIGHT_RUNTIME_AT_MAX) {
		return -ENOTSUP;
	} else {
		runtime->array_data_at = (uint16_t)others[ARRAY_BYTES];
	}
	runtime->frame_sender_at = FRAME_SENDER * WORD_BYTES;
	runtime->frame_method_at = FRAME_METHOD * WORD_BYTES;
	runtime->frame_bytecode_at =
		(has_heaps ? FRAME_BYTECODE : FRAME_BYTECODE_BEFORE_9) * WORD_BYTES;
	return runtime_anchor_find_place(
		&places, others[has_heaps ? HEAPS : HEAP], &runtime->heaps_place);
}

/* Where the tables of a compiled method are. To JDK 22 they are in the blob, one behind the other;
 * from 23 on they are on the heap of C, and from 25 on the metadata is, too. */
static bool describe_tables(const uint64_t *others, struct pilotlight_runtime_hotspot *described)
{
	bool is_apart = others[IMMUTABLE] != NOT_FOUND, is_mutable = others[MUTABLE] != NOT_FOUND;
	uint64_t scopes = others[SCOPES_OFFSET];
	const struct {
		uint64_t offset;
		uint16_t *field;
		bool is_there;
	} fields[] = {
		{ others[IMMUTABLE], &described->scopes_base_at, is_apart },
		{ others[SCOPES_PCS], &described->scopes_pcs_at, true },
		{ is_apart ? scopes : others[DEPENDENCIES], &described->scopes_pcs_end_at, true },
		{ scopes != NOT_FOUND ? scopes : others[SCOPES_BEGIN], &described->scopes_data_at,
			true },
		{ others[MUTABLE], &described->metadata_base_at, is_mutable },
		{ others[is_mutable ? RELOCATIONS_BYTES : METADATA], &described->metadata_at,
			true },
		{ others[BLOB_DATA], &described->data_at, is_apart && !is_mutable },
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!fields[i].is_there)
			continue;
		if (fields[i].offset == 0 || fields[i].offset > PILOTLIGHT_RUNTIME_AT_MAX ||
			fields[i].offset + described->block_bytes >
				PILOTLIGHT_HOTSPOT_BLOCK_MAX - WORD_BYTES)
			return false;
		*fields[i].field = (uint16_t)fields[i].offset;
	}
	if (scopes == NOT_FOUND)
		described->flags |= PILOTLIGHT_HOTSPOT_SCOPES_ADDRESS;
	if (is_apart && !is_mutable)
		described->flags |= PILOTLIGHT_HOTSPOT_SHORT_METADATA;
	return true;
}

/* Without them, compiled methods are shown without what the compiler has put into them. */
static void describe_scopes(struct hotspot *hotspot)
{
	const uint64_t *others = hotspot->others;
	struct pilotlight_runtime_hotspot described = hotspot->runtime;

	if (others[PC_OFFSET] == 0 && others[PC_SCOPE] == PC_SCOPE_AT &&
		others[PC_SIZE] == PC_BYTES && describe_tables(others, &described))
		hotspot->runtime = described;
}

static int describe_release(struct hotspot *hotspot)
{
	uint32_t release = 0;
	int r = 0;

	if (hotspot->others[RELEASE] != NOT_FOUND)
		r = elf_memory_read(
			&hotspot->memory, hotspot->others[RELEASE], &release, sizeof(release));
	if (r < 0 && r != -ENODATA)
		return r;
	/* Of JDK 8 it is the version of the virtual machine. */
	hotspot->runtime.release =
		hotspot->runtime.flags & PILOTLIGHT_HOTSPOT_ONE_HEAP ? 8 : release;
	if (hotspot->runtime.release >= RELEASE_NO_ZEROS)
		hotspot->runtime.flags |= PILOTLIGHT_HOTSPOT_NO_ZEROS;
	return 0;
}

static int describe(struct hotspot *hotspot)
{
	struct pilotlight_runtime_hotspot *runtime = &hotspot->runtime;
	bool is_offset;

	if (!take_fields(hotspot) || !take_sizes(hotspot))
		return -ENOTSUP;
	is_offset = hotspot->others[CODE_OFFSET] != NOT_FOUND;
	if (is_offset == (hotspot->others[CODE_BEGIN] != NOT_FOUND) ||
		hotspot->others[is_offset ? CODE_OFFSET : CODE_BEGIN] > PILOTLIGHT_RUNTIME_AT_MAX)
		return -ENOTSUP;
	runtime->blob_code_at = (uint16_t)hotspot->others[is_offset ? CODE_OFFSET : CODE_BEGIN];
	if (is_offset)
		runtime->flags |= PILOTLIGHT_HOTSPOT_CODE_OFFSET;
	return 0;
}

static int read_tables(struct hotspot *hotspot)
{
	int r;

	r = read_image(hotspot, hotspot->structs, sizeof(struct struct_entry), &hotspot->images[0]);
	if (r == 0)
		r = read_image(
			hotspot, hotspot->types, sizeof(struct type_entry), &hotspot->images[1]);
	if (r < 0)
		return r;
	relocate(hotspot);
	return find_stores(hotspot);
}

static int read_library(struct hotspot *hotspot, struct scratch *scratch)
{
	const struct elf_file *file = &hotspot->files->binary;
	int r = symbol_table_open(&hotspot->table, file, SHT_DYNSYM);

	hotspot->memory.file = file;
	if (r == 0)
		r = symbol_table_each(&hotspot->table, visit_symbol, hotspot);
	if (r < 0)
		return r;
	if (hotspot->structs == 0 || hotspot->types == 0)
		return -ENODATA;
	if (hotspot->is_wrong)
		return -ENOTSUP;
	r = elf_memory_open(&hotspot->memory, file, scratch);
	if (r == 0)
		r = read_tables(hotspot);
	if (r == 0)
		r = describe(hotspot);
	if (r == 0)
		r = describe_heaps(hotspot);
	if (r == 0)
		describe_scopes(hotspot);
	return r == 0 ? describe_release(hotspot) : r;
}

static void init(struct hotspot *hotspot, const struct unwind_files *files)
{
	struct pilotlight_runtime_hotspot *runtime = &hotspot->runtime;
	size_t fields = offsetof(struct pilotlight_runtime_hotspot, frame_method_at);

	hotspot->files = files;
	for (size_t i = 0; i < OTHERS; i++)
		hotspot->others[i] = NOT_FOUND;
	_Static_assert(PILOTLIGHT_RUNTIME_NONE == 0xffff, "as memset() sets it");
	memset((uint8_t *)runtime + fields, 0xff, sizeof(*runtime) - fields);
	runtime->version = PILOTLIGHT_RUNTIME_VERSION;
	runtime->language = PILOTLIGHT_RUNTIME_HOTSPOT;
}

static void done(struct hotspot *hotspot)
{
	for (size_t i = 0; i < ARRAY_SIZE(hotspot->images); i++)
		free(hotspot->images[i].contents);
	elf_memory_done(&hotspot->memory);
	symbol_table_close(&hotspot->table);
	free(hotspot);
}

int runtime_hotspot_read(const struct unwind_files *files, struct scratch *scratch,
	struct pilotlight_runtime *ret_runtime)
{
	struct pilotlight_runtime runtime = { .version = 0 };
	struct hotspot *hotspot;
	int r;

	if (files->binary.machine != EM_X86_64)
		return -ENODATA;
	hotspot = calloc(1, sizeof(*hotspot));
	if (!hotspot)
		return -ENOMEM;
	init(hotspot, files);
	r = read_library(hotspot, scratch);
	/* Damaged symbols of whatever it is. */
	if ((r == -ENOEXEC || r == -EFBIG) && hotspot->structs == 0)
		r = -ENODATA;
	memcpy(&runtime, &hotspot->runtime, sizeof(hotspot->runtime));
	if (r == 0 && !runtime_bounds_hold(&runtime))
		r = -ENOTSUP;
	if (r == 0)
		*ret_runtime = runtime;
	done(hotspot);
	return r;
}
