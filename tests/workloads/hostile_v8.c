/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostile_v8 END: passes for Node.js 20 until CLOCK_MONOTONIC shows END seconds; abuse
 * runtime-objects runs it. It publishes the numbers that V8 publishes, and runs generated code in
 * frames whose functions are made up: they lie about their lengths, lead in circles, are others in
 * each sample, and change while they are read.
 */
#include "hostile.h"

#include <sys/mman.h>

enum {
	FRAMES = 120,
	WORK_STEPS = 300000,
	OBJECT = 1, /* the tag of a pointer to an object */
	NUMBER_SHIFT = 32,
	TEXT_BYTES = 8,
	FUNCTIONS = 8, /* in optimized code */
	POSITION_BYTES = 4096,
};

/* Objects. */
struct map {
	uint64_t map;
	uint32_t reserved;
	uint16_t type, reserved_too;
};
struct function {
	uint64_t map, reserved[2], shared;
};
struct shared {
	uint64_t map, data, name, feedback, script, reserved, number;
};
struct scope {
	uint64_t map, flags, parameters, locals, name, number, inferred, start;
};
struct script {
	uint64_t map, source, name, reserved[4], line_ends, id;
};
struct string {
	uint64_t map;
	uint32_t hash, length;
	union {
		char characters[TEXT_BYTES];
		uint64_t first;
	};
	uint64_t second;
};
struct array {
	uint64_t map, length, values[FRAMES];
};

struct code {
	uint64_t map, relocations, deopt, positions, reserved;
	const uint8_t *start;
	uint32_t flags, reserved_too, size;
};
struct inlinings {
	uint64_t map, length;
	struct {
		uint64_t position, function;
	} pairs[FUNCTIONS];
};
struct positions {
	uint64_t map, length;
	uint8_t bytes[POSITION_BYTES];
};

enum { CODE_TYPE = 245, WEAK_TYPE = 240, BYTES_TYPE = 190, OPTIMIZED_KIND = 13 };
/* Of the deoptimization data. */
enum { COUNT = 1, LITERALS, OWN = 6, INLININGS };
enum { FUNCTION_TYPE = 2066, SHARED_TYPE = 262, SCOPE_TYPE = 261, SCRIPT_TYPE = 167 };
enum { ARRAY_TYPE = 175, STRING_TYPE = 8, JOINED_TYPE = 9, PART_TYPE = 11, SAME_TYPE = 13 };

/* What the profiler looks for. */
#define NUMBER(name, value) const int32_t name = value
NUMBER(v8dbg_HeapObjectTag, OBJECT);
NUMBER(v8dbg_HeapObjectTagMask, 3);
NUMBER(v8dbg_SmiTag, 0);
NUMBER(v8dbg_SmiTagMask, 1);
NUMBER(v8dbg_SmiShiftSize, NUMBER_SHIFT - 1);
NUMBER(v8dbg_TaggedSize, 8);
NUMBER(v8dbg_FirstNonstringType, 128);
NUMBER(v8dbg_StringRepresentationMask, 7);
NUMBER(v8dbg_SeqStringTag, 0);
NUMBER(v8dbg_ConsStringTag, 1);
NUMBER(v8dbg_ExternalStringTag, 2);
NUMBER(v8dbg_SlicedStringTag, 3);
NUMBER(v8dbg_ThinStringTag, 5);
NUMBER(v8dbg_StringEncodingMask, 8);
NUMBER(v8dbg_OneByteStringTag, 8);
NUMBER(v8dbg_TwoByteStringTag, 0);
NUMBER(v8dbg_class_HeapObject__map__Map, 0);
NUMBER(v8dbg_type_Code__CODE_TYPE, CODE_TYPE);
NUMBER(v8dbg_class_Map__instance_type__uint16_t, offsetof(struct map, type));
NUMBER(v8dbg_type_JSFunction__JS_FUNCTION_TYPE, FUNCTION_TYPE);
NUMBER(v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE, SHARED_TYPE);
NUMBER(v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE, SCOPE_TYPE);
NUMBER(v8dbg_type_Script__SCRIPT_TYPE, SCRIPT_TYPE);
NUMBER(v8dbg_type_FixedArray__FIXED_ARRAY_TYPE, ARRAY_TYPE);
NUMBER(v8dbg_class_JSFunction__shared__SharedFunctionInfo, offsetof(struct function, shared));
NUMBER(v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object, offsetof(struct shared, name));
NUMBER(v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject,
	offsetof(struct shared, script));
NUMBER(v8dbg_class_SharedFunctionInfo__flags__int, offsetof(struct shared, number));
NUMBER(v8dbg_class_Script__source__Object, offsetof(struct script, source));
NUMBER(v8dbg_class_Script__name__Object, offsetof(struct script, name));
NUMBER(v8dbg_class_Script__line_ends__Object, offsetof(struct script, line_ends));
NUMBER(v8dbg_class_Script__eval_from_position__SMI, offsetof(struct script, line_ends) + 24);
NUMBER(v8dbg_class_FixedArrayBase__length__SMI, offsetof(struct array, length));
NUMBER(v8dbg_class_FixedArray__data__uintptr_t, offsetof(struct array, values));
NUMBER(v8dbg_class_String__length__int32_t, offsetof(struct string, length));
NUMBER(v8dbg_class_SeqOneByteString__chars__char, offsetof(struct string, characters));
NUMBER(v8dbg_class_SeqTwoByteString__chars__char, offsetof(struct string, characters));
NUMBER(v8dbg_class_ConsString__first__String, offsetof(struct string, first));
NUMBER(v8dbg_class_ConsString__second__String, offsetof(struct string, second));
NUMBER(v8dbg_class_SlicedString__parent__String, offsetof(struct string, first));
NUMBER(v8dbg_class_SlicedString__offset__SMI, offsetof(struct string, second));
NUMBER(v8dbg_class_ThinString__actual__String, offsetof(struct string, first));
NUMBER(v8dbg_class_ExternalString__resource__Object, offsetof(struct string, first));
NUMBER(v8dbg_off_fp_function, -16);
NUMBER(v8dbg_off_fp_context, -8);
NUMBER(v8dbg_scopeinfo_idx_ncontextlocals, 2);
NUMBER(v8dbg_scopeinfo_idx_first_vars, 3);
NUMBER(_ZN2v88internal7Version6major_E, 11);
NUMBER(_ZN2v88internal7Version6minor_E, 3);
NUMBER(_ZN2v88internal7Version6build_E, 244);
NUMBER(v8_Default_embedded_blob_code_size_, 16);
__asm__(".text\n.globl v8_Default_embedded_blob_code_\nv8_Default_embedded_blob_code_:\n.fill 16, "
	"1, 0xc3\n");

/* void (*)(uint64_t count, void *frame): counts down to 0 with that frame pointer. */
static const uint8_t counter[] = {
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xf5, /* mov %rsi, %rbp */
	0x48, 0xff, 0xcf, /* dec %rdi */
	0x75, 0xfb,	  /* jnz to the dec */
	0x5d,		  /* pop %rbp */
	0xc3,		  /* ret */
};
enum { BEHIND_COUNT = 9 };

/* What V8 generates has a pointer to its code before its instructions, which are aligned. */
struct generated {
	uint64_t reserved[6], map, code;
	uint8_t instructions[64];
};
_Static_assert(sizeof(counter) <= sizeof(((struct generated *)NULL)->instructions), "it fits");

struct frame {
	uint64_t function, context;
	const void *next, *address; /* the frame pointer leads here */
};

struct program {
	struct map function_map, shared_map, scope_map, script_map, array_map;
	struct map string_map, joined_map, part_map, same_map;
	struct map code_map, weak_map, bytes_map;
	struct string name, file, joined, part, same;
	struct array line_ends;
	struct script script;
	struct scope scopes[FRAMES];
	struct shared shared[FRAMES];
	struct function functions[FRAMES];
	struct code codes[FRAMES];
	struct array deopts[FRAMES], literals;
	struct inlinings inlinings;
	struct positions positions;
};

static struct program programs[THREADS / 2];
static struct generated (*generated)[FRAMES]; /* for each program */

static uint64_t object(const void *at)
{
	return (uint64_t)(uintptr_t)at + OBJECT;
}

/* Numbers and addresses that lead on, to nothing, and to where no program may read. */
static uint64_t draw_tagged(uint64_t *random, const struct program *program)
{
	static const uint64_t odd[] = { 0, 1, UINT64_MAX, 0xffff888000000001, 0x7ffffffff001,
		0x8000000000000001, 1ULL << 60, 0x7fffffffULL << 32, 0xffffffffULL << 32,
		75ULL << 32, (1ULL << 22) << 32, 2 };

	if (draw(random, 3) > 0)
		return object((const uint64_t *)(const void *)program +
			      draw(random, sizeof(*program) / sizeof(uint64_t)));
	return odd[draw(random, sizeof(odd) / sizeof(odd[0]))];
}

static void set_map(struct map *map, unsigned type)
{
	*map = (struct map){ .map = object(map), .type = (uint16_t)type };
}

static void set_text(struct string *string, const struct map *map, const char *text)
{
	*string = (struct string){ .map = object(map), .length = (uint32_t)strlen(text) };
	memcpy(string->characters, text, string->length);
}

static void set_maps(struct program *program)
{
	set_map(&program->function_map, FUNCTION_TYPE);
	set_map(&program->shared_map, SHARED_TYPE);
	set_map(&program->scope_map, SCOPE_TYPE);
	set_map(&program->script_map, SCRIPT_TYPE);
	set_map(&program->array_map, ARRAY_TYPE);
	set_map(&program->string_map, STRING_TYPE);
	set_map(&program->joined_map, JOINED_TYPE);
	set_map(&program->part_map, PART_TYPE);
	set_map(&program->same_map, SAME_TYPE);
	set_map(&program->code_map, CODE_TYPE);
	set_map(&program->weak_map, WEAK_TYPE);
	set_map(&program->bytes_map, BYTES_TYPE);
}

/* Each function in it calls the next. */
static void begin_code(struct program *program)
{
	program->literals.map = object(&program->weak_map);
	program->literals.length = (uint64_t)FUNCTIONS << NUMBER_SHIFT;
	program->inlinings.map = program->positions.map = object(&program->bytes_map);
	program->inlinings.length = (uint64_t)sizeof(program->inlinings.pairs) << NUMBER_SHIFT;
	program->positions.length = (uint64_t)POSITION_BYTES << NUMBER_SHIFT;
	memcpy(program->positions.bytes, "\2\x80\x80\x80\x80\x20", 6);
	for (uint64_t i = 0; i < FUNCTIONS; i++) {
		program->literals.values[i] = object(&program->shared[i]);
		program->inlinings.pairs[i].position = i << 31;
		program->inlinings.pairs[i].function = i;
	}
	for (uint64_t i = 0; i < FRAMES; i++) {
		generated[program - programs][i].map = object(&program->code_map);
		generated[program - programs][i].code = object(&program->codes[i]);
		program->codes[i] = (struct code){
			.map = object(&program->code_map),
			.deopt = object(&program->deopts[i]),
			.positions = object(&program->positions),
			.start = generated[program - programs][i].instructions,
			.flags = OPTIMIZED_KIND,
			.size = sizeof(counter),
		};
		program->deopts[i].map = object(&program->array_map);
		program->deopts[i].length = (uint64_t)FRAMES << NUMBER_SHIFT;
		program->deopts[i].values[COUNT] = (uint64_t)FUNCTIONS << NUMBER_SHIFT;
		program->deopts[i].values[LITERALS] = object(&program->literals);
		program->deopts[i].values[OWN] = object(&program->shared[i]);
		program->deopts[i].values[INLININGS] = object(&program->inlinings);
	}
}

/* All is as it should be. */
static void begin_program(struct program *program)
{
	memset(program, 0, sizeof(*program));
	set_maps(program);
	set_text(&program->name, &program->string_map, "abuser");
	set_text(&program->file, &program->string_map, "abuse.js");
	program->line_ends.map = object(&program->array_map);
	program->line_ends.length = (uint64_t)FRAMES << NUMBER_SHIFT;
	program->script = (struct script){
		.map = object(&program->script_map),
		.source = object(&program->file),
		.name = object(&program->file),
		.line_ends = object(&program->line_ends),
		.id = 1ULL << NUMBER_SHIFT,
	};
	for (uint64_t i = 0; i < FRAMES; i++) {
		program->line_ends.values[i] = i << NUMBER_SHIFT;
		program->scopes[i] = (struct scope){
			.map = object(&program->scope_map),
			.name = object(&program->name),
			.inferred = object(&program->name),
			.start = i << NUMBER_SHIFT,
		};
		program->shared[i] = (struct shared){
			.map = object(&program->shared_map),
			.name = object(&program->scopes[i]),
			.script = object(&program->script),
			.number = i << NUMBER_SHIFT,
		};
		program->functions[i] = (struct function){
			.map = object(&program->function_map),
			.shared = object(&program->shared[i]),
		};
	}
	begin_code(program);
}

/* Strings that are made of themselves. */
static void make_circles(struct program *program, uint64_t *random)
{
	struct string *const strings[] = { &program->joined, &program->part, &program->same };
	const struct map *const maps[] = { &program->joined_map, &program->part_map,
		&program->same_map };

	for (size_t i = 0; i < 3; i++) {
		*strings[i] = (struct string){
			.map = object(maps[i]),
			.length = 100,
			.first = object(strings[draw(random, 3)]),
			.second = object(strings[draw(random, 3)]),
		};
	}
	program->script.name = object(strings[draw(random, 3)]);
	program->script.source = object(strings[draw(random, 3)]);
	program->script.line_ends = 0;
	for (size_t i = 0; i < FRAMES; i++)
		program->scopes[i].name = object(strings[draw(random, 3)]);
}

static void make_lengths_lie(struct program *program, uint64_t *random)
{
	static const uint32_t lengths[] = { 0, 1, 127, 128, 129, 4096, 65536, 1 << 22, 1 << 28,
		(1 << 28) + 1, INT32_MAX, UINT32_MAX };
	const size_t count = sizeof(lengths) / sizeof(lengths[0]);

	program->name.length = lengths[draw(random, count)];
	program->file.length = lengths[draw(random, count)];
	program->line_ends.length = (uint64_t)lengths[draw(random, count)] << NUMBER_SHIFT;
	if (draw(random, 2))
		program->script.line_ends = 0;
	for (size_t i = 0; i < FRAMES; i++) {
		program->scopes[i].locals = (uint64_t)lengths[draw(random, count)] << NUMBER_SHIFT;
		program->scopes[i].start = (uint64_t)lengths[draw(random, count)] << NUMBER_SHIFT;
	}
}

/* Optimized code that is other code in each sample, and whose calls lead in circles. */
static void make_code_lie(struct program *program, uint64_t *random)
{
	for (size_t i = 0; i < POSITION_BYTES; i++)
		program->positions.bytes[i] = (uint8_t)draw(random, 256);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		program->inlinings.pairs[i].position = draw(random, FUNCTIONS + 1) << 31;
		program->inlinings.pairs[i].function = draw(random, FUNCTIONS) - 1;
	}
	program->positions.length = draw(random, 2 * POSITION_BYTES) << NUMBER_SHIFT;
	for (size_t i = 0; i < FRAMES; i++) {
		program->codes[i].size = draw(random, 2) ? sizeof(counter) : UINT32_MAX;
		program->deopts[i].values[COUNT] = draw(random, 2 * FUNCTIONS) << NUMBER_SHIFT;
		if (draw(random, 4) == 0)
			generated[program - programs][i].code = draw_tagged(random, program);
	}
	program->literals.values[draw(random, FUNCTIONS)] = draw_tagged(random, program);
}

/* Functions that no sample has seen yet. */
static void make_new_functions(struct program *program, uint64_t *random)
{
	program->script.id = draw(random, INT32_MAX) << NUMBER_SHIFT;
	program->name.characters[5] = (char)('0' + draw(random, 10));
	for (size_t i = 0; i < FRAMES; i++)
		program->scopes[i].start = draw(random, INT32_MAX) << NUMBER_SHIFT;
}

static void make_rubbish(struct program *program, uint64_t *random)
{
	uint64_t *words = (uint64_t *)(void *)program;

	for (size_t i = 0; i < FRAMES; i++)
		words[draw(random, sizeof(*program) / sizeof(uint64_t))] =
			draw_tagged(random, program);
}

/* Runs the generated code with the functions' frames above it, and the real callers behind them. */
static NOINLINE void run(const struct program *program)
{
	const struct generated *code = generated[program - programs];
	struct frame frames[FRAMES];

	for (size_t i = 0; i < FRAMES; i++)
		frames[i] = (struct frame){
			.function = object(&program->functions[i]),
			.context = object(program),
			.next = i + 1 < FRAMES ? (void *)&frames[i + 1].next
					       : __builtin_frame_address(0),
			/* The code of the first one runs. */
			.address = code[(i + 1) % FRAMES].instructions + BEHIND_COUNT,
		};
	((void (*)(uint64_t, const void *))(uintptr_t)code->instructions)(
		WORK_STEPS, &frames[0].next);
	/* The frames have to stay until here. */
	__asm__ volatile("" : : "r"(frames) : "memory");
}

static void *run_thread(void *argument)
{
	static void (*const makers[])(struct program * program, uint64_t * random) = { make_circles,
		make_lengths_lie, make_code_lie, make_new_functions, make_rubbish };
	const size_t number = (size_t)(uintptr_t)argument;
	struct program *program = &programs[number / 2];
	uint64_t random = number + (uint64_t)getpid();

	while (goes_on()) {
		if (number % 2) {
			make_rubbish(program, &random);
			continue;
		}
		begin_program(program);
		makers[draw(&random, sizeof(makers) / sizeof(makers[0]))](program, &random);
		run(program);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	void *memory = mmap(NULL, sizeof(programs) / sizeof(programs[0]) * sizeof(*generated),
		PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	end_s = number_argument(argc, argv, 1, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	generated = memory;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		for (size_t j = 0; j < FRAMES; j++)
			memcpy(generated[i][j].instructions, counter, sizeof(counter));
	return run_threads(run_thread);
}
