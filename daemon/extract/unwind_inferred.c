/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_inferred.h"

#include "base/cleanup.h"
#include "extract/code_padding.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
	SYMBOLS_MAX = 1 << 20,
	SYMBOLS_READ = 256, /* at once */
	ALIGNMENT = 16,	    /* of functions */
};

/* Places in the gaps' code. */
struct extent {
	uint32_t start, end;
};

struct inference {
	struct unwind_inferred *inferred;
	const struct unwind_gaps *gaps;
	const struct unwind_files *files;
	struct code_walk walk;
	struct scratch_array extents; /* of functions, as symbols say */
	uint32_t entry;		      /* its place; UINT32_MAX: in no gap */
	size_t walked;		      /* of the starts */
};

void unwind_inferred_done(struct unwind_inferred *inferred)
{
	scratch_array_done(&inferred->rows);
	free(inferred->states);
	*inferred = (struct unwind_inferred){ 0 };
}

static int begin(struct inference *inference, struct scratch *scratch)
{
	int r = code_walk_init(&inference->walk, inference->gaps, scratch);

	return r < 0 ? r
		     : scratch_array_init(&inference->extents, scratch, sizeof(struct extent),
			       2 * (size_t)SYMBOLS_MAX);
}

static void done(struct inference *inference)
{
	scratch_array_done(&inference->extents);
	code_walk_done(&inference->walk);
}

/* Returns the place of a vaddr; UINT32_MAX: it is in no gap. */
static uint32_t place_of(const struct inference *inference, uint64_t vaddr)
{
	const struct unwind_gap *gap;
	uint32_t offset, bytes;

	if (!unwind_files_find_offset(inference->files, vaddr, &offset, &bytes))
		return UINT32_MAX;
	gap = unwind_gaps_find(inference->gaps, offset);
	return gap ? gap->at + (offset - gap->start) : UINT32_MAX;
}

/* A function may reach over several gaps. The first one counts. */
static int add_extent(struct inference *inference, uint32_t at, uint64_t bytes)
{
	const struct unwind_gap *gap = code_walk_gap(&inference->walk, at);
	uint32_t end = gap->at + (gap->end - gap->start);
	const struct extent extent = { at, bytes < end - at ? at + (uint32_t)bytes : end };

	return scratch_array_append(&inference->extents, &extent, sizeof(extent));
}

static int add_symbols(struct inference *inference, const struct elf_file *file,
	const Elf64_Shdr *section, uint32_t *left)
{
	const size_t symbol_bytes = elf_file_symbol_bytes(file);
	uint8_t bytes[SYMBOLS_READ * sizeof(Elf64_Sym)];
	uint64_t count = section->sh_size / symbol_bytes;

	for (uint64_t i = 0; i<count && * left> 0; i += SYMBOLS_READ) {
		size_t read = count - i < SYMBOLS_READ ? count - i : SYMBOLS_READ;
		int r = elf_file_read(
			file, section->sh_offset + i * symbol_bytes, bytes, read * symbol_bytes);

		/* A malformed table costs its symbols. */
		if (r < 0)
			return r == -ENOEXEC ? 0 : r;
		*left -= read < *left ? read : *left;
		for (size_t j = 0; j < read; j++) {
			const Elf64_Sym symbol =
				elf_file_decode_symbol(file, bytes + j * symbol_bytes);
			unsigned int type = ELF64_ST_TYPE(symbol.st_info);
			uint32_t at;

			if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == 0)
				continue;
			at = place_of(inference, symbol.st_value);
			if (at == UINT32_MAX)
				continue;
			r = code_walk_add_start(&inference->walk, at);
			if (r == 0)
				r = add_extent(inference, at, symbol.st_size);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int add_all_symbols(struct inference *inference, const struct elf_file *file)
{
	uint32_t left = SYMBOLS_MAX;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < file->shdr_count; i++) {
		Elf64_Shdr section;

		r = elf_file_read_shdr(file, i, &section);
		if (r == 0 && (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) &&
			section.sh_offset <= file->size_bytes)
			r = add_symbols(inference, file, &section, &left);
	}
	return r == -ENOEXEC ? 0 : r;
}

/* unwind_files_open() accepts only 64-bit files of the host's byte order. */
static int find_entry(struct inference *inference)
{
	uint64_t entry;
	int r = elf_file_read(
		&inference->files->binary, offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry));

	inference->entry = r == 0 && entry != 0 ? place_of(inference, entry) : UINT32_MAX;
	return r;
}

static uint64_t start_of(const void *item)
{
	return ((const struct extent *)item)->start;
}

static int find_starts(struct inference *inference)
{
	static const scratch_sort_key keys[] = { start_of };
	int r = find_entry(inference);

	if (r == 0 && inference->entry != UINT32_MAX)
		r = code_walk_add_start(&inference->walk, inference->entry);
	if (r == 0)
		r = add_all_symbols(inference, &inference->files->binary);
	if (r == 0 && inference->files->has_debug)
		r = add_all_symbols(inference, &inference->files->debug);
	return r < 0 ? r : scratch_sort(&inference->extents, keys, 1);
}

/* Walks the functions that are known so far, and those that they call. */
static int walk_starts(struct inference *inference)
{
	const struct code_state entry = code_state_of_entry(), root = code_state_of_root();
	struct code_walk *walk = &inference->walk;
	enum code_verdict verdict;
	int r = 0;

	while (r == 0 && inference->walked < walk->calls_kept) {
		uint32_t at = ((const uint32_t *)walk->calls.items)[inference->walked++];

		r = code_walk_run(
			walk, at, at == inference->entry ? &root : &entry, CODE_CERTAIN, &verdict);
	}
	return r;
}

/*
 * Sweeps over the code that no walk has reached, in the order of what can be relied on. First come
 * functions at aligned places. So these are known before their cold parts, which the linker puts
 * before them and which are not aligned. Last comes what nothing speaks against.
 */
enum pass { PASS_ALIGNED, PASS_CONFIRMED, PASS_POSSIBLE, PASSES };

/* A search for code that no walk has reached. */
struct sweep {
	struct inference *inference;
	const struct unwind_gap *gap;
	uint32_t at, end;
	enum pass pass;
	uint32_t open_mark;	/* of the last instruction with CODE_MARK_IS_OPEN of the function */
	bool is_behind_unknown; /* the last code could not be understood */
};

static const uint8_t *code_at(const struct sweep *sweep, uint32_t at)
{
	return (const uint8_t *)sweep->inference->gaps->bytes.items + at;
}

/* Does code begin as functions do that save registers or make room, or that only call another as
 * their last act, such as the one that qsort() of musl gives to qsort_r()? */
static bool looks_like_start(const uint8_t *code, size_t size)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t sub_rsp[] = { 0x48, 0x83, 0xec }, sub_rsp_4[] = { 0x48, 0x81, 0xec };

	if (size < sizeof(endbr64))
		return false;
	return memcmp(code, endbr64, sizeof(endbr64)) == 0 ||
	       memcmp(code, sub_rsp, sizeof(sub_rsp)) == 0 ||
	       memcmp(code, sub_rsp_4, sizeof(sub_rsp_4)) == 0 || (code[0] & 0xf8) == 0x50 ||
	       (code[0] == 0x41 && (code[1] & 0xf8) == 0x50) ||
	       (code[0] == 0xff && (code[1] & 0xf8) == 0xe0);
}

/*
 * Does a symbol say that the place is within a function? Then none begins there. V8's builtins have
 * parts that could not be understood, and others that look like functions and are none.
 */
static bool is_within_function(const struct inference *inference, uint32_t at)
{
	const struct extent *extents = inference->extents.items;
	size_t low = 0, high = inference->extents.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (extents[middle].start < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && extents[low - 1].end > at;
}

static bool is_aligned(const struct sweep *sweep)
{
	return (sweep->gap->start + (sweep->at - sweep->gap->at)) % ALIGNMENT == 0;
}

/*
 * Walks from a place that nothing is known to lead to. Either it is a function, or it goes on with
 * the stack of an earlier instruction. The likelier is tried first; one that the code confirms
 * wins.
 */
static int walk_unreached(struct sweep *sweep, bool *ret_is_kept)
{
	struct code_walk *walk = &sweep->inference->walk;
	const struct code_state entry = code_state_of_entry();
	const struct code_state *open = code_walk_state(walk, sweep->open_mark);
	struct code_state candidates[2] = { entry, entry };
	enum code_verdict verdict, best = CODE_REFUTED;
	size_t count, chosen = 0;
	int r;

	if (open && open->is_root)
		open = NULL;
	if (is_within_function(sweep->inference, sweep->at)) {
		count = open ? 1 : 0;
		candidates[0] = open ? *open : entry;
	} else if (open && !code_state_is_same(open, &entry)) {
		bool is_start = looks_like_start(code_at(sweep, sweep->at), sweep->end - sweep->at);

		count = 2;
		candidates[is_start ? 1 : 0] = *open;
	} else {
		count = 1;
	}
	for (size_t i = 0; i < count; i++) {
		r = code_walk_run(walk, sweep->at, &candidates[i], CODE_GUESS, &verdict);
		if (r < 0)
			return r;
		*ret_is_kept = verdict == CODE_CONFIRMED;
		if (*ret_is_kept)
			return 0;
		if (verdict > best) {
			best = verdict;
			chosen = i;
		}
	}
	*ret_is_kept = best == CODE_POSSIBLE && sweep->pass == PASS_POSSIBLE &&
		       (!sweep->is_behind_unknown || is_aligned(sweep));
	if (!*ret_is_kept)
		return 0;
	return code_walk_run(walk, sweep->at, &candidates[chosen], CODE_LIKELY, &verdict);
}

/* Marks an instruction as unknown. */
static void set_unknown(struct sweep *sweep, uint32_t length)
{
	uint32_t *marks = code_walk_marks(&sweep->inference->walk);

	marks[sweep->at] |= CODE_MARK_UNKNOWN | CODE_MARK_IS_KEPT;
	for (uint32_t i = 1; i < length; i++)
		if ((marks[sweep->at + i] & CODE_MARK_VALUE) == CODE_MARK_NONE &&
			!(marks[sweep->at + i] & CODE_MARK_IS_START))
			marks[sweep->at + i] |= CODE_MARK_INSIDE;
}

/* Behind code that could not be understood: goes to the next place where a function may start. */
static void skip_unknown(struct sweep *sweep)
{
	struct code_walk *walk = &sweep->inference->walk;
	const uint32_t *marks = code_walk_marks(walk);
	struct code_instruction instruction;

	do {
		if (walk->instructions_left == 0 ||
			!code_instruction_decode(
				code_at(sweep, sweep->at), sweep->end - sweep->at, &instruction))
			instruction = (struct code_instruction){ .length = 1 };
		else
			walk->instructions_left--;
		if (sweep->pass == PASS_POSSIBLE)
			set_unknown(sweep, instruction.length);
		sweep->is_behind_unknown = true;
		sweep->at += instruction.length;
	} while (sweep->at < sweep->end && (marks[sweep->at] & CODE_MARK_VALUE) == CODE_MARK_NONE &&
		 instruction.flow != CODE_FLOW_JUMP && instruction.flow != CODE_FLOW_RETURN &&
		 instruction.flow != CODE_FLOW_JUMP_INDIRECT && instruction.flow != CODE_FLOW_END);
}

/* Notes an instruction that is known. */
static void go_past(struct sweep *sweep, uint32_t mark)
{
	if (mark & CODE_MARK_IS_START)
		sweep->open_mark = 0;
	if ((mark & CODE_MARK_VALUE) != CODE_MARK_INSIDE)
		sweep->is_behind_unknown = (mark & CODE_MARK_VALUE) == CODE_MARK_UNKNOWN;
	if (mark & CODE_MARK_IS_OPEN)
		sweep->open_mark = mark;
	sweep->at++;
}

static int sweep_gap(struct inference *inference, const struct unwind_gap *gap, enum pass pass)
{
	const uint32_t *marks = code_walk_marks(&inference->walk);
	struct sweep sweep = { .inference = inference,
		.gap = gap,
		.at = gap->at,
		.end = gap->at + (gap->end - gap->start),
		.pass = pass };
	int r = 0;

	while (r == 0 && sweep.at < sweep.end) {
		uint32_t mark = marks[sweep.at];
		size_t padding;
		bool is_kept;

		if ((mark & CODE_MARK_VALUE) != CODE_MARK_NONE) {
			go_past(&sweep, mark);
			continue;
		}
		padding = code_padding_length(code_at(&sweep, sweep.at), sweep.end - sweep.at);
		if (padding == 0 && *code_at(&sweep, sweep.at) == 0)
			padding = 1;
		if (padding > 0 && padding <= sweep.end - sweep.at) {
			sweep.at += (uint32_t)padding;
			continue;
		}
		is_kept = false;
		if (pass != PASS_ALIGNED || is_aligned(&sweep))
			r = walk_unreached(&sweep, &is_kept);
		if (r == 0)
			r = walk_starts(inference);
		if (r == 0 && !is_kept)
			skip_unknown(&sweep);
	}
	return r;
}

static int sweep_all(struct inference *inference, enum pass pass)
{
	const struct unwind_gap *gaps = inference->gaps->gaps.items;
	int r = 0;

	for (size_t i = 0; r == 0 && i < inference->gaps->gaps.count; i++)
		r = sweep_gap(inference, &gaps[i], pass);
	return r;
}

/* From what is certain to what is only possible. */
static int analyse(struct inference *inference)
{
	int r = find_starts(inference);

	if (r == 0)
		r = walk_starts(inference);
	for (enum pass pass = 0; r == 0 && pass < PASSES; pass++)
		r = sweep_all(inference, pass);
	return r;
}

static int add_row(struct inference *inference, uint32_t offset, uint32_t state)
{
	const struct unwind_inferred_row row = { .offset = offset, .state = state };
	struct scratch_array *rows = &inference->inferred->rows;
	const struct unwind_inferred_row *items = rows->items;

	if (rows->count > 0 ? items[rows->count - 1].state == state : state == 0)
		return 0;
	return scratch_array_append(rows, &row, sizeof(row));
}

/* Padding has the rule of the code before it, which saves rows. But no root gets longer. */
static int add_gap_rows(struct inference *inference, const struct unwind_gap *gap)
{
	const uint32_t *marks = code_walk_marks(&inference->walk) + gap->at;
	const struct code_state *states = inference->walk.states;
	uint32_t state = 0;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < gap->end - gap->start; i++) {
		uint32_t value = marks[i] & CODE_MARK_VALUE;

		if (value >= CODE_MARK_STATES)
			state = value - CODE_MARK_STATES + 1;
		else if (value == CODE_MARK_UNKNOWN ||
			 (value == CODE_MARK_NONE && state > 0 && states[state - 1].is_root))
			state = 0;
		if (value != CODE_MARK_INSIDE)
			r = add_row(inference, gap->start + i, state);
	}
	return r < 0 ? r : add_row(inference, gap->end, 0);
}

static int make_rows(struct inference *inference, struct scratch *scratch)
{
	const struct unwind_gap *gaps = inference->gaps->gaps.items;
	int r = scratch_array_init(&inference->inferred->rows, scratch,
		sizeof(struct unwind_inferred_row), UINT32_MAX);

	for (size_t i = 0; r == 0 && i < inference->gaps->gaps.count; i++)
		r = add_gap_rows(inference, &gaps[i]);
	if (r < 0)
		return r;
	inference->inferred->states = TAKE_PTR(inference->walk.states);
	inference->inferred->has_entry = inference->entry != UINT32_MAX;
	return 0;
}

static int add_starts(const struct inference *inference, struct scratch_array *starts)
{
	const struct unwind_gap *gaps = inference->gaps->gaps.items;
	const uint32_t *marks = code_walk_marks(&inference->walk);
	int r = 0;

	for (size_t i = 0; r == 0 && i < inference->gaps->gaps.count; i++)
		for (uint32_t offset = gaps[i].start; r == 0 && offset < gaps[i].end; offset++)
			if (marks[gaps[i].at + (offset - gaps[i].start)] & CODE_MARK_IS_START)
				r = scratch_array_append(starts, &offset, sizeof(offset));
	return r;
}

int unwind_inferred_find_starts(struct scratch_array *starts, const struct unwind_gaps *gaps,
	const struct unwind_files *files, struct scratch *scratch)
{
	struct inference inference = { .gaps = gaps, .files = files };
	int r;

	if (gaps->gaps.count == 0 || !code_instruction_is_loaded())
		return 0;
	r = begin(&inference, scratch);
	if (r == 0)
		r = analyse(&inference);
	if (r == 0)
		r = add_starts(&inference, starts);
	done(&inference);
	return r;
}

int unwind_inferred_read(struct unwind_inferred *inferred, const struct unwind_gaps *gaps,
	const struct unwind_files *files, struct scratch *scratch)
{
	struct inference inference = { .inferred = inferred, .gaps = gaps, .files = files };
	int r;

	if (gaps->gaps.count == 0 || !code_instruction_is_loaded())
		return 0;
	r = begin(&inference, scratch);
	if (r == 0)
		r = analyse(&inference);
	if (r == 0)
		r = make_rows(&inference, scratch);
	done(&inference);
	return r;
}

struct pilotlight_unwind_rule unwind_inferred_rule(
	const struct unwind_inferred *inferred, const struct unwind_inferred_row *row)
{
	if (row->state == 0)
		return (struct pilotlight_unwind_rule){ .kind = PILOTLIGHT_UNWIND_STOP };
	return code_state_rule(&inferred->states[row->state - 1]);
}
