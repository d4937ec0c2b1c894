/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_rows.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

enum {
	/* per cent of the code with frames that must be in functions with frame pointers */
	KEEPING_PER_CENT = 99,
	PADDING_BYTES_MAX = 64, /* zeros behind an FDE; linkers align to 4 or 8 */
};

struct rows_builder {
	struct unwind_rows *rows;
	const struct unwind_functions *functions;
	const struct unwind_sections *sections;
	const struct code_segments *code;
	const struct unwind_stubs *stubs;
	const struct unwind_go *go;
	size_t next_go; /* the first row of Go that may still be needed */
	const struct unwind_inferred *inferred;
	size_t next_inferred; /* likewise */
	uint16_t machine;
	bool tells_rbx;
	uint32_t stop_rule, gap_rule;	    /* for non-code, and for code without functions */
	uint32_t covered;		    /* everything before it is in rows */
	size_t next_eh;			    /* the first of .eh_frame that may still overlap */
	const struct unwind_function *last; /* the function in the table that reaches there */
	uint64_t framed_bytes, keeping_bytes;
	struct cfi_program program; /* of the current function */
};

void unwind_rows_done(struct unwind_rows *rows)
{
	scratch_array_done(&rows->items);
	unwind_rules_done(&rows->rules);
	*rows = (struct unwind_rows){ 0 };
}

/*
 * Adds a row; rows come in order. Omits a row with the same rule as the row before, and STOP
 * before all others.
 */
static int add_row(struct unwind_rows *rows, uint32_t offset, uint32_t rule)
{
	const struct unwind_rows_item item = { .offset = offset, .rule = rule };
	const struct unwind_rows_item *items = rows->items.items;
	size_t count = rows->items.count;

	assert(count == 0 || items[count - 1].offset < offset);
	if (count > 0 ? items[count - 1].rule == rule
		      : rows->rules.rules[rule].kind == PILOTLIGHT_UNWIND_STOP)
		return 0;
	return scratch_array_append(&rows->items, &item, sizeof(item));
}

static const struct unwind_cie *cie_of(
	const struct rows_builder *builder, const struct unwind_function *function)
{
	return (const struct unwind_cie *)builder->functions->cies.items + function->cie;
}

static const struct unwind_section *section_of(
	const struct rows_builder *builder, const struct unwind_function *function)
{
	return &builder->sections->sections[cie_of(builder, function)->section];
}

static struct cfi_fde fde_of(
	const struct rows_builder *builder, const struct unwind_function *function)
{
	const struct cfi_section *section = &section_of(builder, function)->cfi;
	const struct cfi_entry entry = cfi_section_entry(section, function->entry);
	struct cfi_fde fde;
	int r;

	r = cfi_fde_parse(section, &cie_of(builder, function)->cie, &entry, &fde);
	assert(r == 0);
	(void)r;
	return fde;
}

static bool is_rule_same(const struct cfi_rule *a, const struct cfi_rule *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case CFI_OFFSET:
	case CFI_VALUE_OFFSET:
		return a->offset == b->offset;
	case CFI_REGISTER:
		return a->register_number == b->register_number;
	case CFI_EXPRESSION:
	case CFI_VALUE_EXPRESSION:
		return a->expression.bytes == b->expression.bytes;
	default:
		return true;
	}
}

static bool are_terms_same(const struct unwind_cie *a, const struct unwind_cie *b)
{
	const struct cfi_terms *first = &a->cie.terms, *second = &b->cie.terms;

	if (a == b)
		return true;
	if (a->cie.is_signal != b->cie.is_signal || a->cie.return_column != b->cie.return_column ||
		first->code_alignment != second->code_alignment ||
		first->data_alignment != second->data_alignment ||
		first->initial.cfa_register != second->initial.cfa_register ||
		first->initial.cfa_offset != second->initial.cfa_offset ||
		!is_rule_same(&first->initial.cfa, &second->initial.cfa))
		return false;
	for (size_t i = 0; i < CFI_COLUMNS; i++)
		if (!is_rule_same(&first->initial.columns[i], &second->initial.columns[i]))
			return false;
	return true;
}

/* Ignores the padding, which is instructions without effect. */
static bool are_programs_same(const struct dwarf_bytes *a, const struct dwarf_bytes *b)
{
	size_t a_bytes = dwarf_bytes_left(a), b_bytes = dwarf_bytes_left(b);
	const struct dwarf_bytes *longer = a_bytes > b_bytes ? a : b;
	size_t common = a_bytes < b_bytes ? a_bytes : b_bytes;

	if (dwarf_bytes_left(longer) - common >= PADDING_BYTES_MAX ||
		memcmp(a->position, b->position, common) != 0)
		return false;
	for (const uint8_t *byte = longer->position + common; byte < longer->end; byte++)
		if (*byte != 0)
			return false;
	return true;
}

/*
 * Is another function that hides this one the same? A linker that folds equal functions leaves the
 * FDE of each.
 */
static bool is_folded(const struct rows_builder *builder, const struct unwind_function *function)
{
	const struct unwind_function *last = builder->last;
	struct cfi_fde hidden, visible;

	if (last->start != function->start || last->end != function->end ||
		!are_terms_same(cie_of(builder, last), cie_of(builder, function)))
		return false;
	hidden = fde_of(builder, function);
	visible = fde_of(builder, last);
	return are_programs_same(&hidden.program, &visible.program);
}

static int intern_state(struct rows_builder *builder, const struct cfi_cie *cie, uint32_t *ret_rule)
{
	struct pilotlight_unwind_rule rule =
		unwind_rule_of(builder->machine, cie, &builder->program.state);

	if (builder->machine == EM_X86_64 && !builder->tells_rbx)
		rule.rbx_offset = 0;
	return unwind_rules_intern(&builder->rows->rules, &rule, ret_rule);
}

/* Adds the rows of the function from `start` on. Returns -ENOEXEC if it is malformed. */
static int run_function(struct rows_builder *builder, const struct unwind_function *function,
	uint32_t start, enum unwind_frame *ret_frame)
{
	const struct cfi_cie *cie = &cie_of(builder, function)->cie;
	const struct cfi_fde fde = fde_of(builder, function);
	uint64_t row_start, row_end;
	uint32_t rule;
	int r;

	*ret_frame = UNWIND_FRAME_NONE;
	cfi_program_init(&builder->program, &section_of(builder, function)->cfi,
		unwind_rule_registers(builder->machine), &cie->terms, fde.program, fde.start,
		fde.start + (function->end - function->start));
	while ((r = cfi_program_next(&builder->program, &row_start, &row_end)) > 0) {
		uint32_t offset = function->start + (uint32_t)(row_start - fde.start);
		enum unwind_frame frame;

		if (function->start + (uint32_t)(row_end - fde.start) <= start)
			continue;
		r = intern_state(builder, cie, &rule);
		if (r == 0)
			r = add_row(builder->rows, offset > start ? offset : start, rule);
		if (r < 0)
			return r;
		frame = unwind_rule_frame(builder->machine, &builder->rows->rules.rules[rule]);
		/* A prologue comes before the pointer is set up. */
		if (*ret_frame != UNWIND_FRAME_WITH_POINTER && frame != UNWIND_FRAME_NONE)
			*ret_frame = frame;
	}
	return r;
}

static int add_go_row(
	struct rows_builder *builder, uint32_t offset, const struct unwind_go_row *row)
{
	struct pilotlight_unwind_rule rule = unwind_go_rule(row);
	uint32_t id;
	int r;

	/* Go code does not keep its caller's rbx. */
	if (builder->tells_rbx && rule.kind != PILOTLIGHT_UNWIND_STOP)
		rule.rbx_offset = PILOTLIGHT_UNWIND_RBX_UNKNOWN;
	r = unwind_rules_intern(&builder->rows->rules, &rule, &id);
	return r < 0 ? r : add_row(builder->rows, offset, id);
}

static int add_inferred_row(
	struct rows_builder *builder, uint32_t offset, const struct unwind_inferred_row *row)
{
	struct pilotlight_unwind_rule rule = unwind_inferred_rule(builder->inferred, row);
	uint32_t id;
	int r;

	if (builder->tells_rbx && rule.kind == PILOTLIGHT_UNWIND_INFERRED)
		rule.rbx_offset = PILOTLIGHT_UNWIND_RBX_UNKNOWN;
	r = unwind_rules_intern(&builder->rows->rules, &rule, &id);
	return r < 0 ? r : add_row(builder->rows, offset, id);
}

/* Adds rows for code that nothing describes: those that its instructions tell. */
static int add_unknown(struct rows_builder *builder, uint32_t start, uint32_t end)
{
	const struct unwind_inferred_row *rows = builder->inferred->rows.items;
	size_t count = builder->inferred->rows.count;
	int r;

	while (builder->next_inferred < count && rows[builder->next_inferred].offset <= start)
		builder->next_inferred++;
	if (builder->next_inferred == 0 || rows[builder->next_inferred - 1].state == 0)
		r = add_row(builder->rows, start, builder->gap_rule);
	else
		r = add_inferred_row(builder, start, &rows[builder->next_inferred - 1]);
	for (; r == 0 && builder->next_inferred < count &&
		rows[builder->next_inferred].offset < end;
		builder->next_inferred++)
		r = add_inferred_row(builder, rows[builder->next_inferred].offset,
			&rows[builder->next_inferred]);
	return r;
}

/*
 * Adds rows for code with neither functions nor stubs: those of Go, if it is in Go, and those that
 * were inferred.
 */
static int add_rest(struct rows_builder *builder, uint32_t start, uint32_t end)
{
	const struct unwind_go_row *rows = builder->go->rows.items;
	size_t count = builder->go->rows.count;
	int r = 0;

	while (r == 0 && start < end) {
		uint32_t next = end;
		const struct unwind_go_row *row;

		while (builder->next_go < count && rows[builder->next_go].offset <= start)
			builder->next_go++;
		if (builder->next_go < count && rows[builder->next_go].offset < end)
			next = rows[builder->next_go].offset;
		row = builder->next_go > 0 ? &rows[builder->next_go - 1] : NULL;
		if (row && row->kind != UNWIND_GO_NOTHING)
			r = add_go_row(builder, start, row);
		else
			r = add_unknown(builder, start, next);
		start = next;
	}
	return r;
}

/* Adds rows for code without functions, up to `end`: the known stubs and the gaps between them. */
static int add_gap(struct rows_builder *builder, uint32_t end)
{
	uint32_t position = builder->covered, rule;
	int r = 0;

	for (size_t i = 0; r == 0 && i < builder->stubs->count; i++) {
		const struct unwind_stub *stub = &builder->stubs->stubs[i];

		if (stub->end <= position || stub->start >= end)
			continue;
		r = add_rest(builder, position, stub->start);
		if (r == 0)
			r = unwind_rules_intern(&builder->rows->rules, &stub->rule, &rule);
		if (r == 0)
			r = add_row(builder->rows, stub->start > position ? stub->start : position,
				rule);
		position = stub->end < end ? stub->end : end;
	}
	return r < 0 ? r : add_rest(builder, position, end);
}

static void count_function(struct rows_builder *builder, const struct unwind_function *function,
	uint32_t start, enum unwind_frame frame)
{
	const struct unwind_section *section = section_of(builder, function);

	builder->rows->function_count++;
	builder->rows->eh_count += section->cfi.is_eh;
	builder->rows->debug_file_count += section->is_of_debug_file;
	builder->framed_bytes += frame == UNWIND_FRAME_NONE ? 0 : function->end - start;
	builder->keeping_bytes += frame == UNWIND_FRAME_WITH_POINTER ? function->end - start : 0;
	builder->last = function;
	builder->covered = function->end;
}

static bool is_of_eh_frame(
	const struct rows_builder *builder, const struct unwind_function *function)
{
	return section_of(builder, function)->cfi.is_eh;
}

/*
 * Does a function of .eh_frame overlap this one of .debug_frame? The loaded section is right; the
 * other may describe code that the linker has discarded. Functions must be queried in order.
 */
static bool is_hidden_by_eh_frame(
	struct rows_builder *builder, const struct unwind_function *function)
{
	const struct unwind_function *functions = builder->functions->functions.items;
	size_t count = builder->functions->functions.count;

	while (builder->next_eh < count &&
		(functions + builder->next_eh < function ||
			!is_of_eh_frame(builder, functions + builder->next_eh)))
		builder->next_eh++;
	if (is_of_eh_frame(builder, function))
		return false;
	if (builder->last && function->start < builder->covered &&
		is_of_eh_frame(builder, builder->last))
		return true;
	return builder->next_eh < count && functions[builder->next_eh].start < function->end;
}

static int add_function(struct rows_builder *builder, const struct unwind_function *function)
{
	size_t count = builder->rows->items.count;
	uint64_t framed_bytes = builder->framed_bytes, keeping_bytes = builder->keeping_bytes;
	uint32_t start = function->start;
	enum unwind_frame frame;
	int r;

	if (is_hidden_by_eh_frame(builder, function))
		return 0;
	if (function->end <= builder->covered) {
		builder->rows->failed += !is_folded(builder, function);
		return 0;
	}
	if (start < builder->covered)
		start = builder->covered;
	r = add_gap(builder, start);
	if (r == 0)
		r = run_function(builder, function, start, &frame);
	if (r == 0)
		count_function(builder, function, start, frame);
	if (r != -ENOEXEC)
		return r;
	/* Undoes the function. */
	builder->rows->items.count = count;
	builder->framed_bytes = framed_bytes;
	builder->keeping_bytes = keeping_bytes;
	builder->rows->failed++;
	return 0;
}

static int begin(struct rows_builder *builder)
{
	const struct pilotlight_unwind_rule stop = { .kind = PILOTLIGHT_UNWIND_STOP };
	struct pilotlight_unwind_rule by_pointer = unwind_rule_by_frame_pointer(builder->machine);
	int r;

	if (builder->tells_rbx)
		by_pointer.rbx_offset = PILOTLIGHT_UNWIND_RBX_UNKNOWN;
	builder->covered = UINT32_MAX;
	for (size_t i = 0; i < builder->code->count; i++)
		if (builder->code->segments[i].offset < builder->covered)
			builder->covered = (uint32_t)builder->code->segments[i].offset;
	r = unwind_rules_intern(&builder->rows->rules, &stop, &builder->stop_rule);
	builder->gap_rule = builder->stop_rule;
	if (r == 0 && builder->sections->is_go && builder->machine == EM_AARCH64)
		r = unwind_rules_intern(&builder->rows->rules, &by_pointer, &builder->gap_rule);
	/* All functions of Go with a frame have a frame pointer, but for some in assembler. */
	builder->framed_bytes = builder->keeping_bytes = builder->go->code_bytes;
	return r;
}

static int end(struct rows_builder *builder)
{
	uint32_t code_end = builder->covered;
	int r;

	if (builder->rows->function_count == 0 && builder->go->function_count == 0 &&
		builder->inferred->rows.count == 0)
		return 0;
	for (size_t i = 0; i < builder->code->count; i++) {
		const struct pilotlight_symbol_segment *segment = &builder->code->segments[i];

		if (segment->offset + segment->file_bytes > code_end)
			code_end = (uint32_t)(segment->offset + segment->file_bytes);
	}
	r = add_gap(builder, code_end);
	return r < 0 ? r : add_row(builder->rows, code_end, builder->stop_rule);
}

static int build(struct unwind_rows *rows, const struct unwind_functions *functions,
	const struct unwind_sections *sections, const struct unwind_files *files,
	const struct unwind_stubs *stubs, const struct unwind_go *go,
	const struct unwind_inferred *inferred)
{
	const struct unwind_function *items = functions->functions.items;
	struct rows_builder builder = {
		.rows = rows,
		.functions = functions,
		.sections = sections,
		.code = &files->code,
		.stubs = stubs,
		.go = go,
		.inferred = inferred,
		.machine = files->binary.machine,
		.tells_rbx = rows->tells_rbx,
	};
	int r;

	r = begin(&builder);
	for (size_t i = 0; r == 0 && i < functions->functions.count; i++)
		r = add_function(&builder, &items[i]);
	if (r == 0)
		r = end(&builder);
	rows->keeps_frame_pointers =
		(builder.framed_bytes > 0 || sections->is_go) &&
		builder.keeping_bytes * 100 >= builder.framed_bytes * KEEPING_PER_CENT;
	return r;
}

static void begin_anew(struct unwind_rows *rows, bool tells_rbx)
{
	unwind_rules_done(&rows->rules);
	*rows = (struct unwind_rows){ .items = rows->items, .tells_rbx = tells_rbx };
	rows->items.count = 0;
}

/*
 * Builds without rbx first, because hardly any binary needs it and it costs rows and rules. Only
 * the finished rules show whether it is needed.
 */
int unwind_rows_build(struct unwind_rows *rows, const struct unwind_functions *functions,
	const struct unwind_sections *sections, const struct unwind_files *files,
	const struct unwind_stubs *stubs, const struct unwind_go *go,
	const struct unwind_inferred *inferred, struct scratch *scratch)
{
	int r;

	r = scratch_array_init(&rows->items, scratch, sizeof(struct unwind_rows_item), UINT32_MAX);
	if (r == 0)
		r = build(rows, functions, sections, files, stubs, go, inferred);
	if (r < 0 || !unwind_rules_need_rbx(files->binary.machine, &rows->rules))
		return r;
	begin_anew(rows, true);
	r = build(rows, functions, sections, files, stubs, go, inferred);
	if (r != -EFBIG)
		return r;
	/* With rbx there are too many rules. */
	begin_anew(rows, false);
	return build(rows, functions, sections, files, stubs, go, inferred);
}
