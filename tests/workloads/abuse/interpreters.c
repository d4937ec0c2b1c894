/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * This program passes for CPython 3.15: it has the section, the symbols and the function that an
 * interpreter is known by, and publishes a layout of its own. Its frames and code objects are made
 * up by the attacks. Each runs functions on its native stack, so that there are places to claim.
 */
#include "abuse.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	RELEASE = 0x030f00f0,
	OWNER_MARK = 3,
	FRAMES = 250, /* one sample takes 255 */
	TEXT_BYTES = 24,
	TABLE_BYTES = 4096,
	CODES = 1000000,
	SHIFTING_WORDS = 1 << 13,
	WORK_US = 300,
};

/* The layout. */
struct object {
	uint64_t references;
	const void *type;
};
struct string {
	struct object object;
	uint64_t length, hash;
	uint8_t state;
	uint8_t reserved[7];
	char ascii[TEXT_BYTES];
};
struct table {
	struct object object;
	uint64_t size, hash;
	uint8_t bytes[TABLE_BYTES];
};
struct code_object {
	struct object object;
	const void *file, *name, *lines;
	int32_t first_line, reserved;
	uint8_t units[8];
};
struct frame {
	const void *code;
	const void *previous;
	const void *instruction;
	uint64_t owner;
};
struct state {
	uint64_t thread;
	const void *frame;
};

/* What the profiler looks for. */
struct member {
	const char *name;
	uint64_t type, offset, flags;
	const char *text;
};
static struct member members[] = {
	{ "co_filename", 6, offsetof(struct code_object, file), 1, NULL },
	{ "co_qualname", 6, offsetof(struct code_object, name), 1, NULL },
	{ "co_firstlineno", 1, offsetof(struct code_object, first_line), 1, NULL },
	{ "co_linetable", 6, offsetof(struct code_object, lines), 1, NULL },
	{ NULL, 0, 0, 0, NULL },
};
struct type {
	uint64_t words_before[4];
	uint64_t basic_size; /* at 32 */
	uint64_t words_between[25];
	struct member *members; /* at 240 */
	uint64_t words_behind[20];
};
struct type PyCode_Type = { .basic_size = offsetof(struct code_object, units), .members = members };
const uint32_t Py_Version = RELEASE;
/* As struct _Py_DebugOffsets of 3.15, of which only these are read. */
__attribute__((section(".PyRuntime"))) uint64_t _PyRuntime[128] = {
	[0] = 0x7970677562656478, /* "xdebugpy" */
	[1] = RELEASE,
	[208 / 8] = offsetof(struct state, frame),
	[240 / 8] = offsetof(struct state, thread),
	[320 / 8] = offsetof(struct frame, previous),
	[328 / 8] = offsetof(struct frame, code),
	[336 / 8] = offsetof(struct frame, instruction),
	[352 / 8] = offsetof(struct frame, owner),
	[384 / 8] = offsetof(struct code_object, file),
	[400 / 8] = offsetof(struct code_object, name),
	[408 / 8] = offsetof(struct code_object, lines),
	[416 / 8] = offsetof(struct code_object, first_line),
	[448 / 8] = offsetof(struct code_object, units),
	[472 / 8] = offsetof(struct object, type),
	[696 / 8] = offsetof(struct table, size),
	[704 / 8] = offsetof(struct table, bytes),
	[720 / 8] = offsetof(struct string, state),
	[728 / 8] = offsetof(struct string, length),
	[736 / 8] = offsetof(struct string, ascii),
};
static __thread struct state *current;

/* Its code says where the state is. */
struct state *PyGILState_GetThisThreadState(void);
struct state *PyGILState_GetThisThreadState(void)
{
	return current;
}

static struct state *begin_thread(struct state *state)
{
	state->thread = (uint64_t)(uintptr_t)__builtin_thread_pointer();
	current = state;
	return state;
}

static void set_text(struct string *string, const char *text)
{
	*string = (struct string){ .length = strlen(text), .hash = UINT64_MAX, .state = 1 << 2 };
	string->state |= 1 << 5 | 1 << 6; /* compact, ASCII */
	memcpy(string->ascii, text, string->length);
}

static void set_code(struct code_object *code, const struct string *name, const struct string *file,
	const struct table *table)
{
	*code = (struct code_object){
		.object.type = &PyCode_Type,
		.file = file,
		.name = name,
		.lines = table,
		.first_line = 1,
	};
}

/* A chain of one group: frame 0 is the innermost, the last is the mark. */
static void chain(struct frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		frames[i].previous = i + 1 < count ? &frames[i + 1] : NULL;
		frames[i].owner = i + 1 < count ? 0 : OWNER_MARK;
	}
}

__attribute__((noinline)) static void run(void)
{
	abuse_work(WORK_US);
}

struct program {
	struct string name, file;
	struct table table;
	struct code_object code;
	struct frame frames[FRAMES];
	struct state state;
};

static void begin_program(struct program *program)
{
	*program = (struct program){ .table.size = TABLE_BYTES };
	set_text(&program->name, "abuser");
	set_text(&program->file, "abuse.py");
	set_code(&program->code, &program->name, &program->file, &program->table);
	for (size_t i = 0; i < FRAMES; i++)
		program->frames[i].code = &program->code;
	chain(program->frames, FRAMES);
	program->state.frame = program->frames;
	begin_thread(&program->state);
}

/* The frames lead back to some frame, with marks between them anywhere on the stack, or not. */
void python_circle(struct abuse *abuse)
{
	struct program program; /* on the stack, as frames that are marks are */

	begin_program(&program);
	while (abuse_goes_on(abuse)) {
		chain(program.frames, FRAMES);
		program.frames[FRAMES - 1].previous = &program.frames[abuse_draw(abuse, FRAMES)];
		for (size_t i = abuse_draw(abuse, FRAMES); i < FRAMES;
			i += 1 + abuse_draw(abuse, 3))
			program.frames[i].owner = abuse_draw(abuse, 8);
		run();
	}
}

/* Addresses that lead on, to nothing, and to where no program may read. */
static uint64_t draw_word(struct abuse *abuse, const uint64_t *words, size_t count)
{
	static const uint64_t odd[] = { 0, 1, UINT64_MAX, 0xffff888000000000, 0x7ffffffff000,
		0x8000000000000000, 1 << 28, 0x100000001 };

	if (abuse_draw(abuse, 3) > 0)
		return (uint64_t)(uintptr_t)&words[abuse_draw(abuse, count)];
	return odd[abuse_draw(abuse, sizeof(odd) / sizeof(odd[0]))];
}

static uint64_t shifting[SHIFTING_WORDS];

static void change(struct abuse *abuse)
{
	while (abuse_goes_on(abuse))
		__atomic_store_n(&shifting[abuse_draw(abuse, SHIFTING_WORDS)],
			draw_word(abuse, shifting, SHIFTING_WORDS), __ATOMIC_RELAXED);
}

/* Anew when another thread has spoilt it, which takes a moment. */
static void run_changing(struct abuse *abuse)
{
	struct program *program = (struct program *)(void *)shifting;
	struct state state;

	begin_thread(&state);
	while (abuse_goes_on(abuse)) {
		begin_program(program);
		state.frame = program->frames;
		current = &state;
		run();
	}
}

static void change_or_run(struct abuse *abuse)
{
	static int threads;

	if (__atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED) % 2)
		change(abuse);
	else
		run_changing(abuse);
}

/* All of it changes while it is read. */
void python_changing(struct abuse *abuse)
{
	_Static_assert(sizeof(struct program) <= sizeof(shifting), "room");
	abuse_threads(abuse, 4, change_or_run);
}

/* Strings and tables that are longer than the memory, of no width, or across its end. */
void python_lengths(struct abuse *abuse)
{
	static const uint64_t lengths[] = { 0, 1, 127, 128, 129, 4095, 4096, 4097, 1 << 28,
		(1 << 28) + 1, 1ULL << 62, INT64_MAX, UINT64_MAX };
	const size_t count = sizeof(lengths) / sizeof(lengths[0]);
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct program program;
	uint8_t *end =
		mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (end == MAP_FAILED || mprotect(end + 2 * page, page, PROT_NONE) < 0)
		abuse_fail("mmap");
	end += 2 * page;
	begin_program(&program);
	while (abuse_goes_on(abuse)) {
		size_t at = 8 * abuse_draw(abuse, page / 8);
		struct string *name = (struct string *)(void *)(end - sizeof(*name) - at % 64);

		set_text(name, "abuser");
		name->length = lengths[abuse_draw(abuse, count)];
		name->state = (uint8_t)abuse_draw(abuse, 256);
		program.code.name = name;
		program.file.length = lengths[abuse_draw(abuse, count)];
		program.code.lines =
			abuse_draw(abuse, 2) ? (void *)&program.table : (void *)(end - 32 - at);
		program.table.size = lengths[abuse_draw(abuse, count)];
		program.code.first_line = (int32_t)lengths[abuse_draw(abuse, count)];
		for (size_t i = 0; i < FRAMES; i++)
			program.frames[i].instruction =
				(const char *)&program.code + lengths[abuse_draw(abuse, count)];
		run();
	}
}

struct named_object {
	struct code_object code;
	struct string name;
};

/* A million code objects with a name each and the longest table of lines, others in each sample. */
void python_codes(struct abuse *abuse)
{
	struct named_object *codes = mmap(NULL, CODES * sizeof(*codes), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct program program;
	size_t next = 0;

	if (codes == MAP_FAILED)
		abuse_fail("mmap");
	begin_program(&program);
	while (abuse_goes_on(abuse)) {
		for (size_t i = 0; i < FRAMES; i++, next++) {
			struct named_object *one = &codes[next % CODES];

			set_text(&one->name, "abuser");
			one->name.ascii[6] = (char)('0' + abuse_draw(abuse, 10));
			one->name.length = 7;
			set_code(&one->code, &one->name, &program.file, &program.table);
			one->code.first_line = (int32_t)(next + 1);
			program.frames[i].code = &one->code;
		}
		run();
	}
}

/* A binary is taken for one runtime, so others are other programs, beside this one. */
static void run_beside(const struct abuse *abuse, const char *program)
{
	char path[PATH_MAX], end[32], *name;
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - strlen(program) - 1);

	if (size < 0)
		abuse_fail("/proc/self/exe");
	path[size] = '\0';
	name = strrchr(path, '/') + 1;
	(void)strcpy(name, program);
	(void)snprintf(end, sizeof(end), "%.3f", abuse->end);
	(void)execl(path, path, end, (char *)NULL);
	abuse_fail(path);
}

void runtime_objects(struct abuse *abuse)
{
	static const char *const programs[] = { "hostile_jvm", "hostile_v8", "hostile_php",
		"hostile_ruby", "hostile_perl" };
	const size_t last = sizeof(programs) / sizeof(programs[0]) - 1;

	for (size_t i = 0; i < last; i++) {
		pid_t pid = abuse_fork(abuse);

		if (pid < 0)
			abuse_fail("fork");
		if (pid == 0)
			run_beside(abuse, programs[i]);
	}
	run_beside(abuse, programs[last]);
}
