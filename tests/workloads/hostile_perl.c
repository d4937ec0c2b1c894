/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostile_perl END: passes for Perl 5.36 with threads until CLOCK_MONOTONIC shows END seconds;
 * abuse runtime-objects runs it. It exports what Perl exports, and runs calls of its loop whose
 * contexts and subroutines are made up: they lead in circles and out of their arrays, name
 * themselves, are others in each sample, and change while they are read.
 */
#include "hostile.h"

enum {
	NESTINGS = 4,
	CONTEXTS = 60, /* in each */
	CALLS = 8,     /* of the loop, in each other; each runs as many frames */
	GROUP = NESTINGS * CONTEXTS / CALLS,
	TEXT_BYTES = 24,
	FAR = 1 << 20, /* contexts beyond the array */
	WORK_STEPS = 300000,
	SUB = 9,
	KINDS = 256,
	GLOB = 9, /* types of values, in the flags */
	PACKAGE = 12 | 0x02000000,
	CODE = 13,
	TYPES = 16,
};

struct name {
	uint32_t hash, length;
	char text[TEXT_BYTES]; /* a zero and flags are behind it */
};
struct value {
	const void *body;
	uint32_t references, flags;
	uint64_t other;
};
struct package_body {
	uint64_t reserved[4];
	const void *name;
	uint64_t reserved_too[2];
	uint32_t reserved_three, names;
};
struct glob_body {
	uint64_t reserved[4];
	const void *name, *package;
};
struct statement {
	const void *next;
	uint64_t reserved[3];
	uint32_t reserved_too, line;
	uint64_t reserved_three;
	const char *file;
};
struct code_body {
	uint64_t reserved[4];
	const void *package, *start, *root, *glob;
	const char *file;
	uint64_t reserved_too[2];
	uint32_t number, flags;
};
struct context {
	uint8_t kind, reserved[15];
	const void *statement;
	uint64_t reserved_too[3];
	const void *returns_to; /* none: C has called */
	int32_t previous, reserved_three;
	uint64_t reserved_four;
	const void *code;
	uint64_t reserved_five[3];
};
struct nesting {
	uint64_t reserved;
	const void *contexts, *outer;
	uint64_t reserved_too;
	int32_t last, room, inner, kind;
};
struct interpreter {
	uint64_t reserved;
	const void *operation;
	uint64_t reserved_too[24];
	const void *statement;
	uint64_t reserved_three;
	const void *nesting;
};
_Static_assert(sizeof(struct context) == 104, "as in Perl");
_Static_assert(offsetof(struct code_body, number) == 88, "as in Perl");
_Static_assert(offsetof(struct interpreter, statement) == 0xd0, "far from the operation");
_Static_assert(offsetof(struct interpreter, nesting) == 0xe0, "two words behind the statement");

struct program {
	struct name package_name, name;
	char file[TEXT_BYTES];
	struct package_body package_body;
	struct value package;
	struct glob_body glob_body;
	struct value glob;
	struct statement statements[CONTEXTS];
	struct code_body bodies[CONTEXTS];
	struct value codes[CONTEXTS];
	struct context contexts[NESTINGS][CONTEXTS];
	struct nesting nestings[NESTINGS]; /* the first is the innermost */
	struct interpreter interpreter;
};

/* What the profiler looks for. */
typedef void (*operation)(struct interpreter *interpreter);
extern const uint8_t PL_revision, PL_version, PL_subversion;
extern const operation PL_ppaddr[2];
extern const char *const PL_op_name[2];
extern pthread_key_t PL_thr_key;
const uint8_t PL_revision = 5, PL_version = 36, PL_subversion = 0;
pthread_key_t PL_thr_key;
void Perl_runops_standard(uint64_t calls);
void perl_run(void);
void Perl_pp_nextstate(struct interpreter *interpreter);
void Perl_pp_entertry(struct interpreter *interpreter);
const operation PL_ppaddr[2] = { Perl_pp_nextstate, Perl_pp_entertry };
const char *const PL_op_name[2] = { "nextstate", "entertry" };

static struct program programs[THREADS / 2];

void Perl_pp_nextstate(struct interpreter *interpreter)
{
	const struct nesting *nesting = interpreter->nesting;

	interpreter->statement = interpreter->operation;
	interpreter->operation = nesting->contexts;
}

/* As the function that goes on with a group after an eval, it calls the loop by a pointer. */
static NOINLINE void run_catching(void (*loop)(uint64_t calls), uint64_t calls)
{
	loop(calls);
	__asm__ volatile("" : : : "memory");
}

/* It is only read. */
void Perl_pp_entertry(struct interpreter *interpreter)
{
	run_catching(Perl_runops_standard, interpreter->reserved);
}

NOINLINE void Perl_runops_standard(uint64_t calls)
{
	uint64_t steps = WORK_STEPS;

	if (calls > 1)
		Perl_runops_standard(calls - 1);
	else
		__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(steps) : : "cc");
	/* The calls have to stay. */
	__asm__ volatile("" : : : "memory");
}

/* The outermost call runs the main program, which is a group of its own. */
NOINLINE void perl_run(void)
{
	Perl_runops_standard(CALLS + 1);
	__asm__ volatile("" : : : "memory");
}

static void set_name(struct name *name, const char *text)
{
	*name = (struct name){ .length = (uint32_t)strlen(text) };
	memcpy(name->text, text, name->length);
}

static void begin_codes(struct program *program)
{
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		program->statements[i] = (struct statement){
			.next = &program->statements[i],
			.line = i,
			.file = program->file,
		};
		program->bodies[i] = (struct code_body){
			.package = &program->package,
			.start = &program->statements[i],
			.root = &program->bodies[i],
			.glob = &program->glob,
			.file = program->file,
			.number = i,
		};
		program->codes[i] = (struct value){ .body = &program->bodies[i], .flags = CODE };
	}
}

static void begin_contexts(struct program *program)
{
	for (int32_t i = 0; i < NESTINGS; i++) {
		for (int32_t j = 0; j < CONTEXTS; j++)
			program->contexts[i][j] = (struct context){
				.kind = SUB,
				.statement = &program->statements[j],
				.returns_to = j % GROUP > 0 ? program->statements : NULL,
				.previous = j - 1,
				.code = &program->codes[j],
			};
		program->nestings[i] = (struct nesting){
			.contexts = program->contexts[i],
			.outer = i + 1 < NESTINGS ? &program->nestings[i + 1] : NULL,
			.last = CONTEXTS - 1,
			.room = CONTEXTS,
			.inner = CONTEXTS - 1,
		};
	}
}

/* All is as it should be. */
static void begin_program(struct program *program)
{
	memset(program, 0, sizeof(*program));
	set_name(&program->package_name, "abuser");
	set_name(&program->name, "abuser");
	(void)strcpy(program->file, "abuse.pl");
	program->package_body = (struct package_body){ .name = &program->package_name };
	program->package = (struct value){ .body = &program->package_body, .flags = PACKAGE };
	program->glob_body =
		(struct glob_body){ .name = &program->name, .package = &program->package };
	program->glob = (struct value){ .body = &program->glob_body, .flags = GLOB };
	begin_codes(program);
	begin_contexts(program);
	program->interpreter.statement = program->statements;
	program->interpreter.nesting = program->nestings;
	(void)pthread_setspecific(PL_thr_key, &program->interpreter);
}

/* A value that is its own body, name and package. */
static void make_circles(struct program *program, uint64_t *random)
{
	program->nestings[draw(random, NESTINGS)].outer =
		&program->nestings[draw(random, NESTINGS)];
	program->package_body.name = &program->package;
	program->glob_body.package = draw(random, 2) ? &program->glob : &program->package;
	program->package.body = draw(random, 2) ? &program->package : program->package.body;
	for (size_t i = draw(random, CONTEXTS); i < CONTEXTS; i += 1 + draw(random, 9)) {
		struct context *context = &program->contexts[draw(random, NESTINGS)][i];

		context->previous = (int32_t)draw(random, CONTEXTS) - 1;
		context->returns_to = draw(random, 2) ? context : NULL;
		program->codes[i].body =
			draw(random, 2) ? (const void *)&program->codes[i] : context;
	}
}

/* Contexts that are not in the array, and names beyond the memory. */
static void make_numbers_lie(struct program *program, uint64_t *random)
{
	struct nesting *nesting = &program->nestings[draw(random, NESTINGS)];

	nesting->inner = (int32_t)draw_length(random);
	nesting->last = draw(random, 2) ? nesting->inner : (int32_t)draw_length(random);
	nesting->room = draw(random, 2) ? nesting->inner : (int32_t)draw(random, FAR);
	program->name.length = (uint32_t)draw_length(random);
	program->package_name.length = (uint32_t)draw_length(random);
	program->package_body.names = (uint32_t)draw(random, 3);
	for (size_t i = 0; i < CONTEXTS; i++) {
		program->statements[i].line = (uint32_t)draw_length(random);
		program->bodies[i].file = program->file + draw_length(random);
		program->bodies[i].number = (uint32_t)draw_length(random);
	}
}

/* Contexts of other kinds, subroutines that are none, and names that are no text. */
static void make_kinds_lie(struct program *program, uint64_t *random)
{
	for (size_t i = draw(random, CONTEXTS); i < CONTEXTS; i += 1 + draw(random, 9)) {
		program->contexts[draw(random, NESTINGS)][i].kind = (uint8_t)draw(random, KINDS);
		program->codes[i].flags = (uint32_t)draw(random, TYPES);
		program->bodies[i].flags = (uint32_t)draw(random, UINT32_MAX);
	}
	program->glob.flags = draw(random, 2) ? GLOB : (uint32_t)draw(random, TYPES);
	program->nestings[draw(random, NESTINGS)].kind = (int32_t)draw(random, TYPES);
	memset(program->file, 'a', sizeof(program->file));
}

/* Subroutines that no sample has seen yet. */
static void make_new_codes(struct program *program, uint64_t *random)
{
	program->name.text[5] = (char)('a' + draw(random, 26));
	for (size_t i = 0; i < CONTEXTS; i++) {
		program->bodies[i].root = (const char *)program + draw(random, UINT32_MAX);
		program->bodies[i].number = (uint32_t)draw(random, UINT32_MAX);
	}
}

static void make_rubbish(struct program *program, uint64_t *random)
{
	make_rubbish_of(program, sizeof(*program), random);
}

static void *run_thread(void *argument)
{
	static void (*const makers[])(struct program * program, uint64_t * random) = { make_circles,
		make_numbers_lie, make_kinds_lie, make_new_codes, make_rubbish };
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
		perl_run();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	end_s = number_argument(argc, argv, 1, 0);
	return pthread_key_create(&PL_thr_key, NULL) == 0 ? run_threads(run_thread) : 1;
}
