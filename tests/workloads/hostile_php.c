/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostile_php END: passes for PHP 8.2 until CLOCK_MONOTONIC shows END seconds; abuse
 * runtime-objects runs it. It exports what PHP exports, and runs calls of its loop whose frames and
 * functions are made up: they lead in circles, lie about their lengths, are others in each sample,
 * and change while they are read. As in PHP, all threads share one chain of frames.
 */
#include "hostile.h"

enum {
	FRAMES = 240,
	CALLS = 8, /* of the loop, in each other; each runs as many frames */
	TEXT_BYTES = 24,
	WORK_STEPS = 300000,
	STRING = 6,
	TOP = 1 << 17, /* a flag of frames */
	KIND_NATIVE = 1,
	KIND_USER = 2,
	KINDS = 5,
};

struct string {
	uint32_t references, type;
	uint64_t hash, length;
	char text[TEXT_BYTES];
};
struct class
{
	uint64_t kind;
	const void *name;
};
struct instruction {
	uint64_t reserved[3];
	uint32_t line, reserved_too;
};
struct function {
	uint8_t kind, reserved[7];
	const void *name, *class;
	uint64_t reserved_too[7];
	uint32_t count, reserved_three;
	const void *instructions;
	uint64_t reserved_four[7];
	const void *file;
	uint32_t first_line, reserved_five;
};
struct frame {
	const void *instruction;
	uint64_t reserved[2];
	const struct function *function;
	uint64_t reserved_too, flags;
	const void *previous;
};
_Static_assert(offsetof(struct function, count) == 80 && offsetof(struct function, file) == 152,
	"as in PHP 8.2");
_Static_assert(sizeof(struct frame) == 56, "as in PHP");

struct program {
	struct string name, file;
	struct class class;
	struct instruction instructions[FRAMES];
	struct function functions[FRAMES];
	struct frame frames[FRAMES];
};

/* What the profiler looks for. */
struct globals {
	uint64_t reserved[61];
	const struct frame *frame;
};
extern struct globals executor_globals;
struct globals executor_globals;
const void *zend_get_executed_filename_ex(void);
void execute_ex(const struct frame *frame, uint64_t calls);
__attribute__((used)) static const char header[] = "X-Powered-By: PHP/8.2.36";

static struct program program;

const void *zend_get_executed_filename_ex(void)
{
	return executor_globals.frame->function->file;
}

/* As PHP's, it has its frame in r14, and the instruction in r15. */
NOINLINE void execute_ex(const struct frame *frame, uint64_t calls)
{
	register const void *r14 __asm__("r14") = frame;
	register const void *r15 __asm__("r15") = frame->instruction;
	uint64_t steps = WORK_STEPS;

	if (calls > 1)
		execute_ex(frame, calls - 1);
	else
		__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(steps) : "r"(r14), "r"(r15) : "cc");
	/* The calls have to stay. */
	__asm__ volatile("" : : : "memory");
}

static void set_text(struct string *string, const char *text)
{
	*string = (struct string){ .type = STRING, .hash = 1, .length = strlen(text) };
	memcpy(string->text, text, string->length);
}

/* All is as it should be. */
static void begin_program(void)
{
	set_text(&program.name, "abuser");
	set_text(&program.file, "abuse.php");
	program.class = (struct class){ .name = &program.name };
	for (uint32_t i = 0; i < FRAMES; i++) {
		program.instructions[i] = (struct instruction){ .line = i };
		program.functions[i] = (struct function){
			.kind = KIND_USER,
			.name = &program.name,
			.class = i % 2 ? &program.class : NULL,
			.count = 1,
			.instructions = &program.instructions[i],
			.file = &program.file,
			.first_line = i,
		};
		program.frames[i] = (struct frame){
			.instruction = &program.instructions[i],
			.function = &program.functions[i],
			.flags = i % (FRAMES / CALLS) == FRAMES / CALLS - 1 ? TOP : 0,
			.previous = i + 1 < FRAMES ? &program.frames[i + 1] : NULL,
		};
	}
	executor_globals.frame = program.frames;
}

static void make_circles(uint64_t *random)
{
	program.frames[FRAMES - 1].previous = &program.frames[draw(random, FRAMES)];
	program.frames[draw(random, FRAMES)].previous = &program.frames[draw(random, FRAMES)];
	program.class.name = &program.class;
	for (size_t i = draw(random, FRAMES); i < FRAMES; i += 1 + draw(random, 9))
		program.frames[i].flags ^= TOP;
}

static void make_lengths_lie(uint64_t *random)
{
	program.name.length = draw_length(random);
	program.name.hash = draw(random, 2);
	program.file.length = draw_length(random);
	program.file.hash = draw(random, 2);
	for (size_t i = 0; i < FRAMES; i++) {
		program.functions[i].count = (uint32_t)draw_length(random);
		program.functions[i].first_line = (uint32_t)draw_length(random);
		program.instructions[i].line = (uint32_t)draw_length(random);
		program.frames[i].instruction =
			(const char *)&program.instructions[i] + draw_length(random);
	}
}

/* Functions of other kinds, of none, and frames without one. */
static void make_kinds_lie(uint64_t *random)
{
	for (size_t i = draw(random, FRAMES); i < FRAMES; i += 1 + draw(random, 9)) {
		program.functions[i].kind =
			draw(random, 2) ? KIND_NATIVE : (uint8_t)draw(random, KINDS);
		program.functions[i].name = draw(random, 4) ? &program.name : NULL;
		program.frames[i].function = draw(random, 4) ? &program.functions[i] : NULL;
	}
}

/* Functions that no sample has seen yet. */
static void make_new_functions(uint64_t *random)
{
	program.name.text[5] = (char)('a' + draw(random, 26));
	program.name.hash = *random;
	for (size_t i = 0; i < FRAMES; i++)
		program.functions[i].first_line = (uint32_t)draw(random, INT32_MAX);
}

static void make_rubbish(uint64_t *random)
{
	make_rubbish_of(&program, sizeof(program), random);
}

static void *run_thread(void *number)
{
	static void (*const makers[])(uint64_t * random) = { make_circles, make_lengths_lie,
		make_kinds_lie, make_new_functions, make_rubbish };
	uint64_t random = (uint64_t)(uintptr_t)number + (uint64_t)getpid();

	while (goes_on()) {
		if ((uintptr_t)number % 2) {
			make_rubbish(&random);
			continue;
		}
		begin_program();
		makers[draw(&random, sizeof(makers) / sizeof(makers[0]))](&random);
		execute_ex(program.frames, CALLS);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	end_s = number_argument(argc, argv, 1, 0);
	return run_threads(run_thread);
}
