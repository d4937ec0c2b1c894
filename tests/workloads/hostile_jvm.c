/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostile_jvm END: passes for HotSpot of JDK 17 until CLOCK_MONOTONIC shows END seconds; abuse
 * runtime-objects runs it. It publishes tables as HotSpot does, and runs generated code whose
 * methods are made up: they contain each other sixty levels deep, lie about their lengths, are
 * others in each sample, and change while they are read.
 */
#include "hostile.h"

#include <sys/mman.h>

enum {
	CALLS = 60,
	SCOPES = 63, /* one call contains so many methods; one less is the bound of a reader */
	METHODS = 200,
	WORK_STEPS = 300000,
	TEXT_BYTES = 26,
	HEAP_BYTES = 4096,
	SEGMENT_SHIFT = 7,
	MORE = 192, /* a byte of a number from here on has a successor */
};

struct symbol {
	uint32_t hash;
	uint16_t length;
	char text[TEXT_BYTES];
};
struct class
{
	uint64_t reserved;
	const void *name, *pool;
};
struct pool {
	uint64_t reserved;
	const void *class;
	uint16_t source, reserved_too[3];
	const void *symbols[4];
};
struct const_method {
	uint64_t reserved;
	const void *pool;
	uint32_t words;
	uint16_t flags, code_bytes, name, signature;
	uint16_t reserved_too[2];
	uint8_t code[32]; /* and the lines */
};
struct method {
	uint64_t reserved;
	const void *constant;
};
struct pc {
	int32_t offset, scope, reserved[2];
};

/* In the heap of code. */
struct block {
	uint64_t segments;
	uint8_t is_used, reserved[7];
	struct blob {
		uint64_t reserved;
		const void *name;
		int32_t bytes, frame_words, complete, pcs, pcs_end, metadata, number, reserved_too;
		const void *code, *method, *scopes;
	} blob;
	uint8_t code[64];
};
struct space {
	const void *low, *high;
};
struct heap {
	uint64_t reserved;
	struct space memory, map;
	int32_t shift, reserved_too;
};
struct array {
	int32_t length, reserved;
	const void *data;
};

struct program {
	struct symbol class_name, name, signature, source;
	struct class class;
	struct pool pool;
	struct const_method constants[METHODS];
	struct method methods[METHODS];
	const void *metadata[METHODS];
	struct pc pcs[4];
	uint8_t scopes[16 * SCOPES];
};

/* What the profiler looks for. */
static struct array *heaps;
static int release = 17;
static struct entry {
	const char *type, *field, *kind;
	uint64_t is_static, offset;
	const void *address;
} structs[] = {
#define FIELD(type, field, at)                  \
	{                                       \
		type, field, "int", 0, at, NULL \
	}
	FIELD("ConstantPool", "_pool_holder", offsetof(struct pool, class)),
	FIELD("ConstantPool", "_source_file_name_index", offsetof(struct pool, source)),
	FIELD("InstanceKlass", "_constants", offsetof(struct class, pool)),
	FIELD("Klass", "_name", offsetof(struct class, name)),
	FIELD("Method", "_constMethod", offsetof(struct method, constant)),
	FIELD("ConstMethod", "_constants", offsetof(struct const_method, pool)),
	FIELD("ConstMethod", "_constMethod_size", offsetof(struct const_method, words)),
	FIELD("ConstMethod", "_flags", offsetof(struct const_method, flags)),
	FIELD("ConstMethod", "_code_size", offsetof(struct const_method, code_bytes)),
	FIELD("ConstMethod", "_name_index", offsetof(struct const_method, name)),
	FIELD("ConstMethod", "_signature_index", offsetof(struct const_method, signature)),
	FIELD("Symbol", "_length", offsetof(struct symbol, length)),
	FIELD("Symbol", "_body", offsetof(struct symbol, text)),
	FIELD("VirtualSpace", "_low_boundary", offsetof(struct space, low)),
	FIELD("VirtualSpace", "_high_boundary", offsetof(struct space, high)),
	FIELD("GrowableArrayBase", "_len", offsetof(struct array, length)),
	FIELD("CodeHeap", "_memory", offsetof(struct heap, memory)),
	FIELD("CodeHeap", "_segmap", offsetof(struct heap, map)),
	FIELD("CodeHeap", "_log2_segment_size", offsetof(struct heap, shift)),
	FIELD("HeapBlock::Header", "_used", offsetof(struct block, is_used)),
	FIELD("CodeBlob", "_name", offsetof(struct blob, name)),
	FIELD("CodeBlob", "_size", offsetof(struct blob, bytes)),
	FIELD("CodeBlob", "_frame_size", offsetof(struct blob, frame_words)),
	FIELD("CodeBlob", "_frame_complete_offset", offsetof(struct blob, complete)),
	FIELD("CodeBlob", "_code_begin", offsetof(struct blob, code)),
	FIELD("CompiledMethod", "_method", offsetof(struct blob, method)),
	FIELD("CompiledMethod", "_scopes_data_begin", offsetof(struct blob, scopes)),
	FIELD("nmethod", "_scopes_pcs_offset", offsetof(struct blob, pcs)),
	FIELD("nmethod", "_dependencies_offset", offsetof(struct blob, pcs_end)),
	FIELD("nmethod", "_metadata_offset", offsetof(struct blob, metadata)),
	FIELD("nmethod", "_compile_id", offsetof(struct blob, number)),
	FIELD("PcDesc", "_pc_offset", offsetof(struct pc, offset)),
	FIELD("PcDesc", "_scope_decode_offset", offsetof(struct pc, scope)),
#undef FIELD
	{ "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", 1, 0, &heaps },
	{ "Abstract_VM_Version", "_vm_major_version", "int", 1, 0, &release },
	{ NULL, NULL, NULL, 0, 0, NULL },
};
static struct type {
	const char *name, *super;
	uint32_t is[4];
	uint64_t bytes;
} types[] = {
	{ "ConstantPool", NULL, { 0 }, offsetof(struct pool, symbols) },
	{ "ConstMethod", NULL, { 0 }, offsetof(struct const_method, code) },
	{ "GrowableArrayBase", NULL, { 0 }, offsetof(struct array, data) },
	{ "HeapBlock", NULL, { 0 }, offsetof(struct block, blob) },
	{ "PcDesc", NULL, { 0 }, sizeof(struct pc) },
	{ NULL, NULL, { 0 }, 0 },
};
extern struct entry *gHotSpotVMStructs;
extern struct type *gHotSpotVMTypes;
struct entry *gHotSpotVMStructs = structs;
struct type *gHotSpotVMTypes = types;

/* void (*)(uint64_t count, uint64_t calls): calls itself so often, and counts down to 0. */
static const uint8_t counter[] = {
	0x55,			      /* push %rbp */
	0x48, 0x85, 0xf6,	      /* test %rsi, %rsi */
	0x74, 0x0a,		      /* jz to the second dec */
	0x48, 0xff, 0xce,	      /* dec %rsi */
	0xe8, 0xf2, 0xff, 0xff, 0xff, /* call the beginning */
	0x5d,			      /* pop %rbp */
	0xc3,			      /* ret */
	0x48, 0xff, 0xcf,	      /* dec %rdi */
	0x75, 0xfb,		      /* jnz to the dec */
	0x5d,			      /* pop %rbp */
	0xc3,			      /* ret */
};
enum { BEHIND_CALL = 14, AT_COUNT = 16, FRAME_WORDS = 2 };

static struct program programs[THREADS / 2];
static struct block *blocks[THREADS / 2]; /* each has a program */
static uint8_t map[HEAP_BYTES >> SEGMENT_SHIFT];

static void set_symbol(struct symbol *symbol, const char *text)
{
	*symbol = (struct symbol){ .length = (uint16_t)strlen(text) };
	memcpy(symbol->text, text, symbol->length);
}

static uint8_t *put_number(uint8_t *at, uint32_t number)
{
	while (number >= MORE) {
		*at++ = (uint8_t)(MORE + number % 64);
		number = number / 64 - MORE / 64;
	}
	*at++ = (uint8_t)number;
	return at;
}

/* A chain of scopes of `count` methods, the first of which contains all others. Returns the offset
 * of the last. */
static int32_t put_scopes(struct program *program, uint32_t count)
{
	uint8_t *at = program->scopes + 1;
	uint32_t caller = 0, scope = 0;

	for (uint32_t i = 0; i < count; i++, caller = scope) {
		scope = (uint32_t)(at - program->scopes);
		at = put_number(at, caller);
		at = put_number(at, i % METHODS + 1);
		at = put_number(at, 1 + i % 8);
	}
	return (int32_t)scope;
}

static int32_t from_blob(const struct block *block, const void *to)
{
	return (int32_t)((const uint8_t *)to - (const uint8_t *)&block->blob);
}

static void set_scopes(struct program *program, uint32_t count)
{
	int32_t scope = put_scopes(program, count);

	program->pcs[0] = (struct pc){ -1, 0, { 0 } };
	program->pcs[1] = (struct pc){ BEHIND_CALL, scope, { 0 } };
	program->pcs[2] = (struct pc){ AT_COUNT + 5, scope, { 0 } };
	program->pcs[3] = (struct pc){ INT32_MAX, 0, { 0 } };
}

/* All is as it should be. */
static void begin_program(struct program *program, struct block *block)
{
	static const char name[] = "nmethod";

	memset(program, 0, sizeof(*program));
	set_symbol(&program->class_name, "abuser");
	set_symbol(&program->name, "abuse");
	set_symbol(&program->signature, "()V");
	set_symbol(&program->source, "abuser.java");
	program->class = (struct class){ 0, &program->class_name, &program->pool };
	program->pool = (struct pool){ .class = &program->class, .source = 3 };
	program->pool.symbols[1] = &program->name;
	program->pool.symbols[2] = &program->signature;
	program->pool.symbols[3] = &program->source;
	for (size_t i = 0; i < METHODS; i++) {
		program->constants[i] = (struct const_method){ .pool = &program->pool,
			.words = sizeof(struct const_method) / 8,
			.flags = 1,
			.code_bytes = 8,
			.name = 1,
			.signature = 2 };
		program->constants[i].code[8] = (uint8_t)(1 + i);
		program->methods[i].constant = &program->constants[i];
		program->metadata[i] = &program->methods[i];
	}
	set_scopes(program, SCOPES);
	block->is_used = 1;
	block->blob = (struct blob){ .name = name,
		.bytes = sizeof(*block) - offsetof(struct block, blob),
		.frame_words = FRAME_WORDS,
		.complete = 1,
		.pcs = from_blob(block, program->pcs),
		.pcs_end = from_blob(block, program->pcs + 4),
		.metadata = from_blob(block, program->metadata),
		.code = block->code,
		.method = &program->methods[0],
		.scopes = program->scopes };
}

/* More methods in each other than are read, or callers that are none. */
static void make_circles(struct program *program, struct block *block, uint64_t *random)
{
	(void)block;
	set_scopes(program, (uint32_t)draw(random, 3 * SCOPES));
	for (size_t i = draw(random, 8); i < 8; i++)
		program->scopes[draw(random, sizeof(program->scopes))] = (uint8_t)draw(random, 256);
	program->pcs[draw(random, 4)].scope = (int32_t)draw(random, sizeof(program->scopes));
}

static void make_lengths_lie(struct program *program, struct block *block, uint64_t *random)
{
	static const uint32_t lengths[] = { 0, 1, 127, 128, 129, 511, 512, 513, 4096, 65535,
		INT32_MAX, UINT32_MAX };
	const size_t count = sizeof(lengths) / sizeof(lengths[0]);

	program->name.length = (uint16_t)lengths[draw(random, count)];
	program->class_name.length = (uint16_t)lengths[draw(random, count)];
	program->source.length = (uint16_t)lengths[draw(random, count)];
	block->blob.pcs_end = (int32_t)lengths[draw(random, count)];
	block->blob.metadata = (int32_t)lengths[draw(random, count)];
	for (size_t i = 0; i < METHODS; i++) {
		program->constants[i].words = lengths[draw(random, count)];
		program->constants[i].code_bytes = (uint16_t)lengths[draw(random, count)];
		program->constants[i].code[8] = (uint8_t)draw(random, 256);
	}
}

/* Methods that no sample has seen yet. */
static void make_new_methods(struct program *program, struct block *block, uint64_t *random)
{
	(void)block;
	for (size_t i = 0; i < 5; i++)
		program->name.text[i] = (char)('a' + draw(random, 26));
	program->signature.text[1] = (char)('A' + draw(random, 26));
}

static void make_rubbish(struct program *program, struct block *block, uint64_t *random)
{
	(void)block;
	make_rubbish_of(program, sizeof(*program), random);
}

static void *run_thread(void *argument)
{
	static void (*const makers[])(struct program *, struct block *,
		uint64_t *) = { make_circles, make_lengths_lie, make_new_methods, make_rubbish };
	const size_t number = (size_t)(uintptr_t)argument;
	struct program *program = &programs[number / 2];
	struct block *block = blocks[number / 2];
	uint64_t random = number + (uint64_t)getpid();

	while (goes_on()) {
		if (number % 2) {
			make_rubbish(program, block, &random);
			continue;
		}
		begin_program(program, block);
		/* As other code, or as code that was seen and says something else now. */
		block->blob.number = (int32_t)draw(&random, 4);
		makers[draw(&random, sizeof(makers) / sizeof(makers[0]))](program, block, &random);
		((void (*)(uint64_t, uint64_t))(uintptr_t)block->code)(WORK_STEPS, CALLS);
	}
	return NULL;
}

/* The programs have to be within 2 GiB of the code, as in HotSpot, where they are in its heap. */
static void make_heap(void)
{
	static struct heap heap;
	static const void *data[] = { &heap };
	static struct array array = { 1, 0, data };
	uint8_t *wish = (uint8_t *)(((uintptr_t)programs & ~4095UL) - (64 << 20));
	uint8_t *memory = mmap(wish, HEAP_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory != wish) {
		(void)fprintf(stderr, "no memory near the programs\n");
		exit(1);
	}
	memset(map, 0xff, sizeof(map));
	for (size_t i = 0; i < THREADS / 2; i++) {
		size_t at = i * (HEAP_BYTES / 2);

		for (uint8_t hop = 0; hop < 4; hop++)
			map[(at >> SEGMENT_SHIFT) + hop] = hop;
		blocks[i] = (struct block *)(void *)(memory + at);
		memcpy(blocks[i]->code, counter, sizeof(counter));
	}
	heap = (struct heap){ 0, { memory, memory + HEAP_BYTES }, { map, map + sizeof(map) },
		SEGMENT_SHIFT, 0 };
	heaps = &array;
}

int main(int argc, char **argv)
{
	end_s = number_argument(argc, argv, 1, 0);
	make_heap();
	return run_threads(run_thread);
}
