/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/code_walk.h"

#include "base/array.h"
#include "extract/code_padding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	STATES_MAX = 1 << 16,
	ALIGNMENT = 16, /* of functions */
	INSTRUCTIONS_MIN = 1 << 16,
	/* Guesses decode code again. Of git, with 1 instead of 2, 18 % would be without a rule. */
	DECODED_A_BYTE = 2,
	/* From a system call to the child's part of clone(). */
	SYSTEM_CALL_BYTES_MAX = 16,
	OVERRIDES_MAX = 4096, /* instructions of a walk; a loop that pushes would have no end */
};

/* Where the current walk must still go. */
struct edge {
	uint32_t at, state;
	uint32_t call; /* control comes from this call, if it returns */
};

/* A mark before the walk changed it. */
struct old_mark {
	uint32_t at, mark;
};

/* The state of following one edge. */
struct run {
	struct code_walk *walk;
	const struct unwind_gap *gap;
	struct code_state state;
	uint32_t at;
	uint32_t start; /* of the whole walk */
	uint32_t behind_system_call;
	bool is_certain;
	bool is_behind_call; /* right behind a call */
	bool is_weak;	     /* since a call, on a straight line */
	bool is_confirmed;
	uint32_t overridden;
};

enum step { STEP_ON, STEP_END = 1, STEP_REFUTED };

int code_walk_init(struct code_walk *walk, const struct unwind_gaps *gaps, struct scratch *scratch)
{
	size_t bytes = gaps->bytes.count;
	int r;

	*walk = (struct code_walk){ .gaps = gaps,
		.instructions_left = DECODED_A_BYTE * bytes + INSTRUCTIONS_MIN };
	r = scratch_array_init(&walk->marks, scratch, sizeof(uint32_t), bytes + 1);
	if (r == 0)
		r = scratch_array_init(&walk->edges, scratch, sizeof(struct edge), bytes + 1);
	if (r == 0)
		r = scratch_array_init(&walk->falls, scratch, sizeof(struct edge), bytes + 1);
	if (r == 0)
		r = scratch_array_init(&walk->log, scratch, sizeof(struct old_mark), SIZE_MAX);
	if (r == 0)
		r = scratch_array_init(&walk->calls, scratch, sizeof(uint32_t), SIZE_MAX);
	if (r == 0)
		r = scratch_array_reserve(&walk->marks, bytes + 1);
	return r;
}

void code_walk_done(struct code_walk *walk)
{
	scratch_array_done(&walk->marks);
	scratch_array_done(&walk->edges);
	scratch_array_done(&walk->falls);
	scratch_array_done(&walk->log);
	scratch_array_done(&walk->calls);
	free(walk->states);
	hash_index_done(&walk->state_index);
	*walk = (struct code_walk){ 0 };
}

const struct unwind_gap *code_walk_gap(const struct code_walk *walk, uint32_t at)
{
	const struct unwind_gap *items = walk->gaps->gaps.items;
	size_t low = 0, high = walk->gaps->gaps.count;

	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		if (items[middle].at <= at)
			low = middle;
		else
			high = middle;
	}
	return &items[low];
}

static uint32_t end_of(const struct unwind_gap *gap)
{
	return gap->at + (gap->end - gap->start);
}

static bool is_equal(const void *owner, uint32_t id, const void *key)
{
	const struct code_walk *walk = owner;

	return code_state_is_same(&walk->states[id], key);
}

/* Returns the mark of a state; or -errno. */
static int64_t mark_of(struct code_walk *walk, const struct code_state *state)
{
	uint64_t hash = hash_bytes(state, sizeof(*state));
	uint32_t id = hash_index_find(&walk->state_index, hash, is_equal, walk, state);
	int r;

	if (id == HASH_INDEX_NONE) {
		r = ARRAY_RESERVE(walk->states, &walk->state_capacity, walk->state_count + 1,
			(size_t)STATES_MAX);
		if (r == 0)
			r = hash_index_reserve(&walk->state_index);
		/* Only hostile code has so many. */
		if (r == -E2BIG)
			return CODE_MARK_UNKNOWN;
		if (r < 0)
			return r;
		id = (uint32_t)walk->state_count++;
		walk->states[id] = *state;
		hash_index_insert(&walk->state_index, hash, id);
	}
	return CODE_MARK_STATES + id;
}

/* Finds the place that a jump or call from `end` leads to. Returns false if it is not in a gap. */
static bool find_target(const struct run *run, uint32_t end, int64_t distance, uint32_t *ret_at)
{
	int64_t offset = (int64_t)run->gap->start + (end - run->gap->at) + distance;
	const struct unwind_gap *gap = run->gap;

	if (offset < 0 || offset > UINT32_MAX)
		return false;
	if (offset < gap->start || offset >= gap->end)
		gap = unwind_gaps_find(run->walk->gaps, (uint32_t)offset);
	if (!gap || gap->segment != run->gap->segment)
		return false;
	*ret_at = gap->at + ((uint32_t)offset - gap->start);
	return true;
}

/* The instruction at the run's place gets a new state. Returns STEP_ON or -errno. */
static int begin_instruction(struct run *run, bool is_weak)
{
	uint32_t *mark = &code_walk_marks(run->walk)[run->at];
	const struct old_mark old = { .at = run->at, .mark = *mark };
	int r = scratch_array_append(&run->walk->log, &old, sizeof(old));

	if (r < 0)
		return r;
	*mark &= CODE_MARK_IS_START;
	if (is_weak)
		*mark |= CODE_MARK_IS_WEAK;
	return STEP_ON;
}

/* Control reaches code that has a mark. Returns STEP_ON if it must be followed again. */
static int meet(struct run *run, uint32_t *mark, const struct code_state *known)
{
	struct code_state both = *known;

	if (code_state_agree(known, &run->state)) {
		run->is_confirmed |= *mark & CODE_MARK_IS_KEPT;
		if (!run->is_weak)
			*mark &= ~(uint32_t)CODE_MARK_IS_WEAK;
		return STEP_END;
	}
	if (run->is_behind_call)
		return STEP_END;
	if (*mark & CODE_MARK_IS_WEAK && !run->is_weak) {
		if (run->overridden++ >= OVERRIDES_MAX)
			return STEP_REFUTED;
		return begin_instruction(run, false);
	}
	if (*mark & CODE_MARK_IS_KEPT)
		return STEP_REFUTED;
	if (!code_state_meet(&both, &run->state))
		return STEP_REFUTED;
	run->state = both;
	if (code_state_is_same(known, &both))
		return STEP_END;
	return begin_instruction(run, *mark & CODE_MARK_IS_WEAK);
}

/* Before the instruction at the run's place: may it be followed? */
static int arrive(struct run *run)
{
	struct code_walk *walk = run->walk;
	uint32_t *mark = &code_walk_marks(walk)[run->at];

	if (*mark & CODE_MARK_IS_START && run->at != run->start) {
		if (code_state_can_leave(&run->state))
			run->is_confirmed = true;
		else if (!run->is_behind_call && !run->state.is_root)
			return STEP_REFUTED;
		return STEP_END;
	}
	switch (*mark & CODE_MARK_VALUE) {
	case CODE_MARK_NONE:
		return begin_instruction(run, run->is_weak);
	case CODE_MARK_INSIDE: /* jumps over the prefix lock lead there */
		return STEP_END;
	case CODE_MARK_UNKNOWN:
		/* A guess may be a part of the code that was not understood. */
		return run->is_certain || run->is_behind_call ? STEP_END : STEP_REFUTED;
	default:
		return meet(run, mark, code_walk_state(walk, *mark));
	}
}

static int set_mark(struct run *run, uint32_t length)
{
	struct code_walk *walk = run->walk;
	uint32_t *marks = code_walk_marks(walk);
	int64_t value = mark_of(walk, &run->state);

	if (value < 0)
		return (int)value;
	marks[run->at] |= (uint32_t)value;
	/* Instructions that overlap others are hostile, or data. */
	for (uint32_t i = 1; i < length; i++)
		if ((marks[run->at + i] & CODE_MARK_VALUE) == CODE_MARK_NONE &&
			!(marks[run->at + i] & CODE_MARK_IS_START))
			marks[run->at + i] |= CODE_MARK_INSIDE;
		else
			break;
	return 0;
}

/* Goes to the target of a jump later. */
static int add_edge(struct run *run, uint32_t end, int64_t distance)
{
	struct edge edge = { .call = 0 };
	int64_t value = mark_of(run->walk, &run->state);

	if (value < 0)
		return (int)value;
	if (!find_target(run, end, distance, &edge.at)) {
		/* To a function with call frame information, or nowhere. */
		run->is_confirmed |= code_state_can_leave(&run->state);
		return STEP_ON;
	}
	if (value == CODE_MARK_UNKNOWN)
		return STEP_ON;
	edge.state = (uint32_t)value;
	return scratch_array_append(&run->walk->edges, &edge, sizeof(edge));
}

/*
 * Does padding to the next place for a function follow? Then the call may not return. And code
 * that is really the next function would get a wrong state, which refutes nothing if it never
 * returns either.
 */
static bool may_end_function(const struct run *run, uint32_t end)
{
	uint64_t offset = (uint64_t)run->gap->start + (end - run->gap->at);
	uint32_t pad = (uint32_t)(-offset % ALIGNMENT);

	if (pad > end_of(run->gap) - end)
		pad = end_of(run->gap) - end;
	return code_padding_is_all((uint8_t *)run->walk->gaps->bytes.items + end, pad);
}

static int call(struct run *run, uint32_t end, int64_t distance)
{
	struct code_walk *walk = run->walk;
	uint32_t *marks = code_walk_marks(walk);
	const struct code_state *state;
	uint32_t target;
	uint32_t mark;

	if (!find_target(run, end, distance, &target))
		return STEP_ON;
	mark = marks[target];
	state = code_walk_state(walk, mark);
	if ((mark & CODE_MARK_VALUE) == CODE_MARK_INSIDE && !run->is_certain)
		return STEP_REFUTED;
	if (mark & CODE_MARK_IS_START)
		return STEP_ON;
	/* Code behind an entry that does not return was followed as if it were the entry's. */
	if (!run->is_certain && mark & CODE_MARK_IS_KEPT && state && !state->is_root &&
		!code_state_can_leave(state))
		return STEP_REFUTED;
	return scratch_array_append(&walk->calls, &target, sizeof(target));
}

/* Goes on behind a call when all else is done, unless that may be another function. */
static int go_behind_call(struct run *run, uint32_t end)
{
	struct code_walk *walk = run->walk;
	struct edge edge = { .at = end, .call = run->at };
	int64_t value = mark_of(walk, &run->state);
	int r;

	if (value < 0)
		return (int)value;
	if (value == CODE_MARK_UNKNOWN || may_end_function(run, end)) {
		code_walk_marks(walk)[run->at] |= CODE_MARK_IS_OPEN;
		return STEP_END;
	}
	edge.state = (uint32_t)value;
	r = scratch_array_append(&walk->falls, &edge, sizeof(edge));
	return r < 0 ? r : STEP_END;
}

/* Goes on where control does. */
static int follow(struct run *run, const struct code_instruction *instruction)
{
	uint32_t end = run->at + instruction->length;
	int r = STEP_ON;

	run->is_behind_call = false;
	switch (instruction->flow) {
	case CODE_FLOW_ON:
		break;
	case CODE_FLOW_BRANCH:
		r = add_edge(run, end, instruction->target);
		break;
	case CODE_FLOW_JUMP:
		r = add_edge(run, end, instruction->target);
		return r < 0 ? r : STEP_END;
	case CODE_FLOW_JUMP_INDIRECT:
		code_walk_marks(run->walk)[run->at] |= CODE_MARK_IS_OPEN;
		return STEP_END;
	case CODE_FLOW_CALL:
		r = call(run, end, instruction->target);
		return r != STEP_ON ? r : go_behind_call(run, end);
	case CODE_FLOW_CALL_INDIRECT:
		return go_behind_call(run, end);
	case CODE_FLOW_RETURN:
		run->is_confirmed |= code_state_can_leave(&run->state);
		return STEP_END;
	default:
		return STEP_END;
	}
	run->at = end;
	return r;
}

/* The child's part of clone(), as musl has it: no caller is on the new stack. */
static bool begins_thread(const struct run *run, const struct code_instruction *instruction)
{
	return instruction->effect == CODE_EFFECT_RBP_ZERO && run->state.is_callers &&
	       run->state.saved == 0 && run->behind_system_call > 0 &&
	       run->at - run->behind_system_call < SYSTEM_CALL_BYTES_MAX;
}

static int step(struct run *run)
{
	struct code_walk *walk = run->walk;
	uint32_t end = end_of(run->gap);
	struct code_instruction instruction;
	int r;

	if (run->at >= end)
		return STEP_END;
	r = arrive(run);
	if (r != STEP_ON)
		return r;
	if (walk->instructions_left == 0)
		return STEP_REFUTED;
	walk->instructions_left--;
	if (!code_instruction_decode(
		    (uint8_t *)walk->gaps->bytes.items + run->at, end - run->at, &instruction))
		return run->is_behind_call ? STEP_END : STEP_REFUTED;
	if (begins_thread(run, &instruction))
		run->state = code_state_of_root();
	r = set_mark(run, instruction.length);
	if (r < 0)
		return r;
	if (!code_state_apply(&run->state, &instruction))
		return STEP_REFUTED;
	if (instruction.is_system_call)
		run->behind_system_call = run->at + instruction.length;
	return follow(run, &instruction);
}

/* Follows one edge to its end. Returns STEP_END, STEP_REFUTED or -errno. */
static int run_edge(struct run *run)
{
	int r;

	do
		r = step(run);
	while (r == STEP_ON);
	return r;
}

static int add_first(struct code_walk *walk, uint32_t at, const struct code_state *state)
{
	struct edge edge = { .at = at };
	int64_t value = mark_of(walk, state);

	walk->edges.count = walk->falls.count = walk->log.count = 0;
	if (value < 0)
		return (int)value;
	if (value == CODE_MARK_UNKNOWN)
		return STEP_REFUTED;
	edge.state = (uint32_t)value;
	return scratch_array_append(&walk->edges, &edge, sizeof(edge));
}

static void begin_edge(struct run *run, const struct edge *edge, bool is_fall)
{
	run->at = edge->at;
	run->gap = code_walk_gap(run->walk, edge->at);
	run->state = run->walk->states[edge->state - CODE_MARK_STATES];
	run->behind_system_call = 0;
	run->is_behind_call = run->is_weak = is_fall;
}

/* Follows all jumps. */
static int run_edges(struct run *run)
{
	struct scratch_array *edges = &run->walk->edges;
	int r = STEP_END;

	while (edges->count > 0 && r == STEP_END) {
		const struct edge edge = ((const struct edge *)edges->items)[--edges->count];

		begin_edge(run, &edge, false);
		r = run_edge(run);
	}
	return r;
}

/* Restores the marks of the log from `first` on, or makes them unknown. */
static void take_back(struct code_walk *walk, size_t first, bool is_unknown)
{
	uint32_t *marks = code_walk_marks(walk);

	while (walk->log.count > first) {
		const struct old_mark old =
			((const struct old_mark *)walk->log.items)[--walk->log.count];
		uint32_t at = old.at;

		if (is_unknown) {
			marks[at] &= CODE_MARK_IS_START;
			marks[at] |= CODE_MARK_UNKNOWN | CODE_MARK_IS_KEPT;
			continue;
		}
		marks[at] = old.mark | (marks[at] & CODE_MARK_IS_START);
		if ((old.mark & CODE_MARK_VALUE) != CODE_MARK_NONE)
			continue;
		for (at++; (marks[at] & CODE_MARK_VALUE) == CODE_MARK_INSIDE; at++)
			marks[at] &= ~(uint32_t)CODE_MARK_VALUE;
	}
}

/* Functions start where the walk has called. */
static int keep_calls(struct code_walk *walk)
{
	size_t count = walk->calls.count;
	int r = 0;

	walk->calls.count = walk->calls_kept;
	for (size_t i = walk->calls_kept; r == 0 && i < count; i++)
		r = code_walk_add_start(walk, ((const uint32_t *)walk->calls.items)[i]);
	return r;
}

/*
 * Follows the code behind a call. If it is refuted, the call does not return, and other code is
 * behind it.
 */
static int run_fall(struct run *run, const struct edge *fall)
{
	struct code_walk *walk = run->walk;
	size_t logged = walk->log.count, falls = walk->falls.count, calls = walk->calls.count;
	bool is_confirmed = run->is_confirmed;
	int r;

	begin_edge(run, fall, true);
	r = run_edge(run);
	if (r == STEP_END)
		r = run_edges(run);
	if (r != STEP_REFUTED || walk->instructions_left == 0)
		return r;
	take_back(walk, logged, false);
	walk->edges.count = 0;
	walk->falls.count = falls;
	walk->calls.count = calls;
	run->is_confirmed = is_confirmed;
	code_walk_marks(walk)[fall->call] |= CODE_MARK_IS_OPEN;
	return STEP_END;
}

/* Of a certain walk, the calls are known before code runs into the functions that they call. */
static int run_all(struct run *run, const struct code_state *state)
{
	struct code_walk *walk = run->walk;
	int r = add_first(walk, run->start, state), error = 0;

	if (r == 0)
		r = run_edges(run);
	if (run->is_certain && r >= 0)
		error = keep_calls(walk);
	while (error == 0 && r == STEP_END && walk->falls.count > 0) {
		const struct edge fall =
			((const struct edge *)walk->falls.items)[--walk->falls.count];

		r = run_fall(run, &fall);
		if (run->is_certain && r >= 0)
			error = keep_calls(walk);
	}
	return error < 0 ? error : r;
}

static int keep(struct code_walk *walk)
{
	uint32_t *marks = code_walk_marks(walk);
	const struct old_mark *log = walk->log.items;

	for (size_t i = 0; i < walk->log.count; i++)
		marks[log[i].at] |= CODE_MARK_IS_KEPT;
	return keep_calls(walk);
}

int code_walk_run(struct code_walk *walk, uint32_t at, const struct code_state *state,
	enum code_claim claim, enum code_verdict *ret_verdict)
{
	struct run run = { .walk = walk, .start = at, .is_certain = claim == CODE_CERTAIN };
	enum code_verdict verdict;
	int r = run_all(&run, state);

	if (r < 0)
		return r;
	verdict = r == STEP_REFUTED  ? CODE_REFUTED
		  : run.is_confirmed ? CODE_CONFIRMED
				     : CODE_POSSIBLE;
	*ret_verdict = verdict;
	if (verdict == CODE_CONFIRMED || (verdict == CODE_POSSIBLE && claim != CODE_GUESS))
		return keep(walk);
	take_back(walk, 0, run.is_certain);
	if (!run.is_certain)
		walk->calls.count = walk->calls_kept;
	return 0;
}

/* Forgets the code from a place to the next function, or to code that no walk has reached. */
static void forget(struct code_walk *walk, uint32_t at)
{
	uint32_t *marks = code_walk_marks(walk);

	do
		marks[at++] &= CODE_MARK_IS_START;
	while (at < walk->gaps->bytes.count && marks[at] != CODE_MARK_NONE &&
		!(marks[at] & CODE_MARK_IS_START));
}

int code_walk_add_start(struct code_walk *walk, uint32_t at)
{
	uint32_t *mark = &code_walk_marks(walk)[at];
	const struct code_state *state = code_walk_state(walk, *mark);
	int r;

	if (*mark & CODE_MARK_IS_START)
		return 0;
	r = scratch_array_append(&walk->calls, &at, sizeof(at));
	if (r < 0)
		return r;
	walk->calls_kept = walk->calls.count;
	if ((*mark & CODE_MARK_VALUE) != CODE_MARK_NONE && !(state && code_state_can_leave(state)))
		forget(walk, at);
	*mark |= CODE_MARK_IS_START;
	return 0;
}
