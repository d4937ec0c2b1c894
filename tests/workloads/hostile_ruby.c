/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostile_ruby END: passes for Ruby 3.1 until CLOCK_MONOTONIC shows END seconds; abuse
 * runtime-objects runs it. It exports what Ruby exports, and runs calls of its loop whose frames
 * and instruction sequences are made up: they lead out of the stack, lie about their lengths, are
 * others in each sample, and change while they are read. Generated code, such as YJIT's, runs in
 * these calls; on its stack are words that pass for return addresses.
 */
#include "hostile.h"

#include <sys/mman.h>

enum {
	FRAMES = 240,
	CALLS = 8, /* of the loop, in each other; each runs as many frames */
	TEXT_BYTES = 24,
	UNITS = 40,
	ENTRIES = 20,
	INDEX_WORDS = 5, /* for so many units */
	WORK_STEPS = 300000,
	SEQUENCE = 0x1a | 7 << 12,
	STRING = 5 | 1 << 13, /* its characters are elsewhere */
	ARRAY = 7 | 1 << 13,  /* its elements are in it */
	FINISH = 0x20,	      /* flags of frames */
	NATIVE = 0x80,
	PUSHED = 3,
	CODE_BYTES = 1 << 16,
};

struct string {
	uint64_t flags, class, length;
	const void *characters;
	uint64_t reserved;
	char text[TEXT_BYTES];
};
struct array {
	uint64_t flags, class;
	const void *values[3];
};
struct entry {
	uint32_t line, reserved[2];
};
struct body {
	uint32_t kind, unit_count;
	const void *units;
	uint64_t reserved[6];
	const void *file;
	uint64_t reserved_too;
	const void *name;
	uint64_t first_line; /* and a tag */
	uint64_t reserved_three[3];
	const void *entries;
	uint64_t reserved_four;
	uint32_t entry_count, reserved_five;
	const void *index;
};
struct sequence {
	uint64_t flags, reserved;
	const struct body *body;
};
struct frame {
	const void *next;
	uint64_t reserved;
	const void *sequence;
	uint64_t reserved_too;
	const void *flags;
	uint64_t reserved_three[2];
	uint64_t code; /* to which it returns */
};
struct state {
	const void *stack;
	uint64_t words;
	const void *frame;
	uint64_t reserved[3];
	const void *thread;
};
_Static_assert(offsetof(struct body, name) == 80 && offsetof(struct body, entries) == 120,
	"as in Ruby 3.1");
_Static_assert(sizeof(struct frame) == 64, "as in Ruby 3.1");

struct program {
	struct string name, file;
	struct array path;
	uint64_t units[UNITS], index[INDEX_WORDS], flags[FRAMES + 1];
	struct entry entries[ENTRIES];
	struct body bodies[FRAMES];
	struct sequence sequences[FRAMES];
	struct frame frames[FRAMES + 1]; /* the outermost runs nothing */
	struct state state;
};

/* What the profiler looks for. */
extern const char ruby_version[6];
extern const int ruby_patchlevel;
const char ruby_version[6] = "3.1.2";
const int ruby_patchlevel = 20;
const void *rb_thread_current(void);
const void *rb_iseq_label(const struct sequence *sequence);
void rb_vm_exec(uint64_t calls);

/* push %rsi, %rdx, %rcx; 1: dec %rdi; jnz 1b; pop %rcx, %rdx, %rsi; ret */
static const uint8_t instructions[] = { 0x56, 0x52, 0x51, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x59, 0x5a,
	0x5e, 0xc3 };
static void (*code)(uint64_t steps, uint64_t first, uint64_t second, uint64_t third);
static __thread uint64_t pushed[PUSHED];

static __thread struct state *current;
static struct program programs[THREADS / 2];

const void *rb_thread_current(void)
{
	return current->thread;
}

const void *rb_iseq_label(const struct sequence *sequence)
{
	return sequence->body->name;
}

/* The rest of the loop is known by its length. */
static NOINLINE void run_core(uint64_t calls)
{
	__asm__ volatile("jmp 1f\n\t.fill 9000, 1, 0x90\n1:");
	if (calls > 1)
		rb_vm_exec(calls - 1);
	else
		code(WORK_STEPS, pushed[0], pushed[1], pushed[2]);
	/* The calls have to stay. */
	__asm__ volatile("" : : : "memory");
}

NOINLINE void rb_vm_exec(uint64_t calls)
{
	run_core(calls);
	__asm__ volatile("" : : : "memory");
}

static void set_text(struct string *string, const char *text)
{
	*string = (struct string){
		.flags = STRING,
		.length = strlen(text),
		.characters = string->text,
	};
	memcpy(string->text, text, string->length);
}

static void begin_frames(struct program *program)
{
	for (size_t i = 0; i < FRAMES; i++) {
		program->flags[i] = i % (FRAMES / CALLS) == FRAMES / CALLS - 1 ? FINISH : 0;
		program->frames[i] = (struct frame){
			.next = &program->units[1 + i % UNITS],
			.sequence = &program->sequences[i],
			.flags = &program->flags[i],
			.code = i % 5 == 0 ? (uintptr_t)code : 0,
		};
	}
	program->state.stack = program->frames;
	program->state.words = sizeof(program->frames) / sizeof(uint64_t);
	program->state.frame = program->frames;
	current = &program->state;
	memset(pushed, 0, sizeof(pushed));
}

/* All is as it should be. */
static void begin_program(struct program *program)
{
	memset(program, 0, sizeof(*program));
	set_text(&program->name, "abuser");
	set_text(&program->file, "abuse.rb");
	program->path = (struct array){ .flags = ARRAY, .values = { &program->file } };
	for (uint32_t i = 0; i < ENTRIES; i++)
		program->entries[i].line = i;
	for (uint32_t i = 0; i < FRAMES; i++) {
		program->bodies[i] = (struct body){
			.unit_count = UNITS,
			.units = program->units,
			.file = &program->path,
			.name = &program->name,
			.first_line = 2 * i + 1,
			.entries = program->entries,
			.entry_count = ENTRIES,
			.index = program->index,
		};
		program->sequences[i] = (struct sequence){ SEQUENCE, 0, &program->bodies[i] };
	}
	begin_frames(program);
}

/* Frames beyond the stack, and paths that are their own elements. */
static void make_circles(struct program *program, uint64_t *random)
{
	program->state.frame = &program->frames[draw(random, 2 * FRAMES)];
	program->state.words = draw(random, 2) ? draw_length(random) : program->state.words;
	program->path.values[0] = &program->path;
	for (size_t i = draw(random, FRAMES); i < FRAMES; i += 1 + draw(random, 9)) {
		program->flags[i] ^= draw(random, 2) ? FINISH : NATIVE;
		program->sequences[i].body = (const void *)&program->sequences[i];
	}
}

static void make_lengths_lie(struct program *program, uint64_t *random)
{
	program->name.length = draw_length(random);
	program->file.length = draw_length(random);
	for (size_t i = 0; i < FRAMES; i++) {
		program->bodies[i].unit_count = (uint32_t)draw_length(random);
		program->bodies[i].entry_count = (uint32_t)draw_length(random);
		program->bodies[i].first_line = draw_length(random);
		program->frames[i].next = (const char *)program->units + draw_length(random);
	}
}

/* Tables that say other lines in each sample. */
static void make_lines_lie(struct program *program, uint64_t *random)
{
	for (size_t i = 0; i < INDEX_WORDS; i++)
		program->index[i] = draw(random, UINT64_MAX);
	for (size_t i = 0; i < ENTRIES; i++)
		program->entries[i].line = (uint32_t)draw(random, UINT32_MAX);
}

/* Sequences that no sample has seen yet. */
static void make_new_sequences(struct program *program, uint64_t *random)
{
	program->name.text[5] = (char)('a' + draw(random, 26));
	for (size_t i = 0; i < FRAMES; i++)
		program->bodies[i].first_line = draw(random, INT32_MAX);
}

/* Words of the stack that are behind calls, or nearly so, and frames that return anywhere. */
static void make_callers_lie(struct program *program, uint64_t *random)
{
	uintptr_t beginnings[] = { (uintptr_t)rb_vm_exec, (uintptr_t)run_core,
		(uintptr_t)rb_thread_current, (uintptr_t)code, (uintptr_t)program };

	for (size_t i = 0; i < PUSHED; i++)
		pushed[i] = beginnings[draw(random, 5)] + draw(random, 64);
	for (size_t i = 0; i < FRAMES; i += 1 + draw(random, 4))
		program->frames[i].code = (uintptr_t)code + draw_length(random);
}

static void make_rubbish(struct program *program, uint64_t *random)
{
	make_rubbish_of(program, sizeof(*program), random);
}

static void *run_thread(void *argument)
{
	static void (*const makers[])(struct program * program, uint64_t * random) = { make_circles,
		make_lengths_lie, make_lines_lie, make_new_sequences, make_callers_lie,
		make_rubbish };
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
		rb_vm_exec(CALLS);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	void *memory = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory, instructions, sizeof(instructions));
	memcpy(&code, &memory, sizeof(code));
	end_s = number_argument(argc, argv, 1, 0);
	return run_threads(run_thread);
}
