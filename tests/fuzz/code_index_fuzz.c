/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The index gets facts and queries in any order and must agree with a list of all facts. An index
 * that ran out of room may know less, but it must not invent anything.
 */
#include "jit/code_index.h"
#include "jit/line_list.h"
#include "tests/jit/code_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum {
	OPERATION_BYTES = 16,
	OPERATIONS_MAX = 400,
	WRITERS = 3,
	LIMIT_BYTES = 1 << 20,
};

struct state {
	struct code_index *index;
	struct model *model;
	uint64_t horizon_ns;
	bool has_lost;	 /* history may be missing */
	bool has_failed; /* anything may be missing */
	bool has_lines;
	struct code_index_counters counters;
};

static uint64_t number(const uint8_t *bytes)
{
	uint64_t value = bytes[0] | (uint64_t)bytes[1] << 8;

	return bytes[2] & 0x80 ? UINT64_MAX - value % 512 : value % 1024;
}

static bool is_exact(const struct state *state)
{
	return !state->has_lost && !state->has_failed;
}

/* Derives from the counters which answers may be incomplete. */
static void note_losses(struct state *state)
{
	struct code_index_counters now;

	code_index_counters(state->index, &now);
	if (now.displaced > state->counters.displaced)
		state->has_failed = true;
	if (now.code_dropped > state->counters.code_dropped)
		state->has_failed = true;
	if (now.history_dropped > state->counters.history_dropped)
		state->has_lost = true;
	if (now.lines_dropped > state->counters.lines_dropped)
		state->has_lines = false;
	state->counters = now;
}

static void check_line(
	const struct state *state, uint32_t fact, uint64_t address, const struct code_found *found)
{
	const struct line_entry *line = model_line(&state->model->facts[fact], address);
	char file[16];

	if (!state->has_lines)
		return;
	assert(found->line == (line ? line->line : 0));
	assert(found->column == (line ? line->column : 0));
	assert(!found->file == (!line || line->file == 0));
	if (found->file) {
		(void)snprintf(file, sizeof(file), "file %u", line->line % 4);
		assert(strcmp(found->file, file) == 0);
	}
}

static void check(
	const struct state *state, uint64_t address, uint64_t time_ns, const struct code_view *view)
{
	struct model_found expected = { 0 };
	struct code_found found;
	bool is_found, is_expected;

	if (time_ns < state->horizon_ns)
		time_ns = state->horizon_ns;
	is_found = code_index_find(state->index, address, time_ns, view, &found);
	is_expected = model_find(state->model, address, time_ns, view, &expected);
	if (is_found) {
		assert(found.until_ns > time_ns || found.until_ns == UINT64_MAX);
		assert(model_has_told(state->model, address, time_ns, &found));
	}
	if (state->has_failed)
		return;
	if (state->has_lost && (view || time_ns < UINT64_MAX))
		return;
	assert(is_found == is_expected);
	if (!is_found)
		return;
	assert(model_is_same(&state->model->facts[expected.fact], &found));
	if (is_exact(state))
		assert(found.until_ns == expected.until_ns);
	check_line(state, expected.fact, address, &found);
}

static size_t pack_lines(struct state *state, const uint8_t *bytes, struct model_fact *fact,
	uint8_t packed[MODEL_LINES_MAX * LINE_ENTRY_BYTES_MAX])
{
	struct line_entry sorted[MODEL_LINES_MAX];
	char file[16];

	fact->line_count = bytes[0] % (MODEL_LINES_MAX + 1);
	for (size_t i = 0; i < fact->line_count; i++) {
		fact->lines[i] = (struct line_entry){
			.offset = (bytes[1] >> i) * 3U,
			.line = (bytes[2] >> i) % 8,
			.column = bytes[2] % 3,
		};
		(void)snprintf(file, sizeof(file), "file %u", fact->lines[i].line % 4);
		if (code_index_file(state->index, file, strlen(file), &fact->lines[i].file) < 0)
			fact->lines[i].file = 0;
		sorted[i] = fact->lines[i];
	}
	return line_list_pack(sorted, fact->line_count, packed);
}

/* {kind, address 3, size 3, time 3, writer, lines 3, ...} */
static void load(struct state *state, const uint8_t *operation)
{
	uint8_t packed[MODEL_LINES_MAX * LINE_ENTRY_BYTES_MAX];
	char name[MODEL_NAME_BYTES];
	struct model_fact fact = { 0 }, *told;
	struct code_load load = {
		.address = number(operation + 1),
		.size = number(operation + 4),
		.time_ns = number(operation + 7),
		.writer = operation[10] % WRITERS,
		.name = name,
		.lines = packed,
	};
	int r;

	/* Facts that ended before the horizon may be evicted, with those whose end they caused. */
	if (load.time_ns < state->horizon_ns)
		load.time_ns = state->horizon_ns;
	load.name_size = (size_t)snprintf(name, sizeof(name), "code %u", state->model->count);
	load.lines_size = pack_lines(state, operation + 11, &fact, packed);
	if (load.lines_size == 0)
		load.lines = NULL;
	/* Files may be evicted with their facts. */
	note_losses(state);
	r = code_index_load(state->index, &load);
	if (r == 0) {
		told = model_load(state->model, &load);
		told->line_count = fact.line_count;
		memcpy(told->lines, fact.lines, sizeof(fact.lines));
	} else {
		assert(r == -E2BIG || load.size == 0 ||
			load.address + (load.size - 1) < load.address);
	}
	note_losses(state);
	if (r == 0)
		check(state, load.address + (load.size - 1), load.time_ns, NULL);
}

static void move(struct state *state, const uint8_t *operation)
{
	struct code_move move = {
		.from = number(operation + 1),
		.to = number(operation + 11),
		.size = number(operation + 4),
		.time_ns = number(operation + 7),
		.writer = operation[10] % WRITERS,
	};
	struct model_found moved = { 0 };
	struct code_found found;
	bool is_found, is_sane;
	int r;

	/* Most facts name existing code, with its size. */
	if (state->model->count > 0 && (operation[14] & 3)) {
		const struct model_fact *fact =
			&state->model->facts[operation[15] % state->model->count];

		move.from = fact->address;
		move.size = fact->size;
		if (move.time_ns < fact->time_ns)
			move.time_ns = fact->time_ns;
	}
	if (move.time_ns < state->horizon_ns)
		move.time_ns = state->horizon_ns;
	is_sane = move.size > 0 && move.from + (move.size - 1) >= move.from &&
		  move.to + (move.size - 1) >= move.to;
	is_found = model_find(state->model, move.from, move.time_ns, NULL, &moved);
	if (code_index_find(state->index, move.from, move.time_ns, NULL, &found) &&
		(!is_found || !model_is_same(&state->model->facts[moved.fact], &found))) {
		/* Several answers are valid here, and the list cannot tell which one the index
		 * gives. */
		assert(!is_exact(state));
		return;
	}
	r = code_index_move(state->index, &move);
	if (is_exact(state) && r != -E2BIG) {
		bool is_there = is_found && state->model->facts[moved.fact].address == move.from;

		note_losses(state);
		if (is_exact(state))
			assert(r == (!is_sane ? -EINVAL : is_there ? 0 : -ENOENT));
	}
	if (r == 0)
		model_move(state->model, &move, moved.fact);
	note_losses(state);
}

struct walk {
	const struct state *state;
	uint64_t time_ns, last;
	bool has_last;
};

static int check_stretch(void *context, const struct code_found *found)
{
	struct walk *walk = context;
	uint64_t last = found->address + (found->size - 1);
	struct code_found at;

	assert(found->size == 0 || last >= found->address);
	assert(!walk->has_last || found->address > walk->last);
	assert(code_index_find(walk->state->index, found->address, walk->time_ns, NULL, &at));
	assert(strcmp(at.name, found->name) == 0 && at.time_ns == found->time_ns);
	assert(code_index_find(walk->state->index, last, walk->time_ns, NULL, &at));
	assert(strcmp(at.name, found->name) == 0 && at.time_ns == found->time_ns);
	walk->last = last;
	walk->has_last = true;
	return 0;
}

static void check_all(const struct state *state, uint64_t time_ns, const struct code_view *view)
{
	struct walk walk = { .state = state, .time_ns = time_ns };

	for (uint32_t i = 0; i < state->model->count; i++) {
		const struct model_fact *fact = &state->model->facts[i];

		check(state, fact->address, time_ns, view);
		check(state, fact->address + fact->size, time_ns, view);
		check(state, fact->address + fact->size / 2, UINT64_MAX, NULL);
		check(state, fact->address - 1, fact->time_ns, view);
	}
	(void)code_index_each(state->index, time_ns, NULL, check_stretch, &walk);
}

static void run(struct state *state, const uint8_t *operation)
{
	uint64_t until_ns[WRITERS - 1];
	struct code_view view = {
		.since_ns = operation[10] & 4 ? number(operation + 11) : 0,
		.until_ns = until_ns,
		.count = WRITERS - 1,
	};

	for (size_t i = 0; i < WRITERS - 1; i++) {
		until_ns[i] = operation[10] >> i & 1 ? number(operation + 11) : 0;
		if (until_ns[i] < state->horizon_ns)
			until_ns[i] = operation[10] & 8 ? 0 : state->horizon_ns;
	}
	switch (operation[0] % 16) {
	case 0:
		if (number(operation + 7) % 512 > state->horizon_ns)
			state->horizon_ns = number(operation + 7) % 512;
		code_index_retire(state->index, state->horizon_ns);
		break;
	case 1:
		(void)code_index_trim(state->index);
		note_losses(state);
		break;
	case 2:
		code_index_set_limit(state->index, 4096 + 64 * (size_t)operation[1]);
		break;
	case 3:
		code_index_set_limit(state->index, LIMIT_BYTES);
		break;
	case 4:
		check_all(state, number(operation + 7), &view);
		break;
	case 5:
	case 6:
	case 7:
		move(state, operation);
		break;
	default:
		load(state, operation);
		break;
	}
	check(state, number(operation + 4), number(operation + 7), &view);
	check(state, number(operation + 11), number(operation + 13), NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct model model;
	struct state state = { .model = &model, .has_lines = true };
	size_t count = size / OPERATION_BYTES;

	model.count = 0;
	if (code_index_new(LIMIT_BYTES, &state.index) < 0)
		return 0;
	for (size_t i = 0; i < count && i < OPERATIONS_MAX; i++)
		run(&state, bytes + i * OPERATION_BYTES);
	check_all(&state, 500, NULL);
	assert(code_index_count(state.index) <= 2 * (size_t)model.count);
	code_index_free(state.index);
	return 0;
}
