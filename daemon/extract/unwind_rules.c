/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_rules.h"

#include "base/array.h"
#include "dwarf/cfi_expression.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	WORD_BYTES = 8,
	/* offset of rsp in the context that the kernel pushes on x86-64 */
	SIGNAL_RSP_OFFSET = 160,
	X86_64_REGISTERS = 16,
	AARCH64_REGISTERS = 32,
};

const struct cfi_registers *unwind_rule_registers(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return &cfi_registers_x86_64;
	case EM_AARCH64:
		return &cfi_registers_aarch64;
	default:
		return NULL;
	}
}

static bool fits(int64_t value, int64_t least, int64_t most)
{
	return value >= least && value <= most;
}

static bool fits_offset(int64_t value)
{
	return fits(value, INT32_MIN, INT32_MAX);
}

static struct cfi_value cfa_of(const struct cfi_state *state)
{
	if (state->cfa.kind == CFI_VALUE_EXPRESSION)
		return cfi_expression_read(&state->cfa.expression);
	return (struct cfi_value){
		.meaning =
			state->cfa.kind == CFI_OFFSET ? CFI_MEANING_REGISTER : CFI_MEANING_UNKNOWN,
		.register_number = state->cfa_register,
		.offset = state->cfa.offset,
	};
}

static bool set_cfa(
	uint16_t machine, const struct cfi_value *cfa, struct pilotlight_unwind_rule *rule)
{
	uint64_t registers = machine == EM_X86_64 ? X86_64_REGISTERS : AARCH64_REGISTERS;

	if (cfa->meaning == CFI_MEANING_UNKNOWN || cfa->register_number >= registers ||
		!fits_offset(cfa->offset) || !fits(cfa->addend, INT8_MIN, INT8_MAX))
		return false;
	rule->offset = (int32_t)cfa->offset;
	switch (cfa->meaning) {
	case CFI_MEANING_STUB:
		rule->kind = PILOTLIGHT_UNWIND_PLT;
		return machine == EM_X86_64;
	case CFI_MEANING_MEMORY:
		rule->kind = PILOTLIGHT_UNWIND_CFA_AT;
		break;
	default:
		rule->kind = PILOTLIGHT_UNWIND_CFA;
		break;
	}
	rule->base = (uint8_t)cfa->register_number;
	rule->addend = (int8_t)cfa->addend;
	return true;
}

/* The caller's stack pointer is the CFA unless a rule says otherwise. */
static bool is_stack_pointer_cfa(const struct cfi_rule *rule)
{
	return rule->kind == CFI_UNSPECIFIED ||
	       (rule->kind == CFI_VALUE_OFFSET && rule->offset == 0);
}

static bool set_return_address(
	uint16_t machine, const struct cfi_rule *column, struct pilotlight_unwind_rule *rule)
{
	const uint8_t link_register = cfi_registers_aarch64.numbers[CFI_RETURN_ADDRESS];

	if (machine == EM_X86_64)
		return column->kind == CFI_OFFSET && column->offset == -WORD_BYTES;
	switch (column->kind) {
	case CFI_UNSPECIFIED:
	case CFI_SAME:
		return true;
	case CFI_REGISTER:
		return column->register_number == link_register;
	case CFI_OFFSET:
		rule->return_address_offset = (int32_t)column->offset;
		return column->offset != 0 && fits_offset(column->offset);
	default:
		return false;
	}
}

static void set_frame_pointer(
	uint8_t number, const struct cfi_rule *column, struct pilotlight_unwind_rule *rule)
{
	struct cfi_value value = { .meaning = CFI_MEANING_UNKNOWN };

	rule->frame_pointer = PILOTLIGHT_UNWIND_FP_UNKNOWN;
	switch (column->kind) {
	case CFI_UNSPECIFIED:
	case CFI_SAME:
		rule->frame_pointer = PILOTLIGHT_UNWIND_FP_SAME;
		return;
	case CFI_OFFSET:
		if (!fits_offset(column->offset))
			return;
		rule->frame_pointer = PILOTLIGHT_UNWIND_FP_AT_CFA;
		rule->frame_pointer_offset = (int32_t)column->offset;
		return;
	case CFI_EXPRESSION:
		value = cfi_expression_read(&column->expression);
		if (value.meaning != CFI_MEANING_REGISTER || value.register_number != number ||
			!fits_offset(value.offset))
			return;
		rule->frame_pointer = PILOTLIGHT_UNWIND_FP_AT_FP;
		rule->frame_pointer_offset = (int32_t)value.offset;
		return;
	default:
		return;
	}
}

static int32_t rbx_offset_of(const struct cfi_rule *column)
{
	switch (column->kind) {
	case CFI_UNSPECIFIED:
	case CFI_SAME:
		return 0;
	case CFI_OFFSET:
		if (column->offset != 0 && fits_offset(column->offset))
			return (int32_t)column->offset;
		return PILOTLIGHT_UNWIND_RBX_UNKNOWN;
	default:
		return PILOTLIGHT_UNWIND_RBX_UNKNOWN;
	}
}

/*
 * Recognizes the kernel's signal frame. Other functions are marked as signal frames too, so that
 * unwinders look up the address itself and not the one before it; no rule can express that.
 */
static bool is_signal_frame(uint16_t machine, const struct cfi_value *cfa)
{
	if (machine != EM_X86_64)
		return cfa->meaning == CFI_MEANING_REGISTER &&
		       cfa->register_number == cfi_registers_aarch64.numbers[CFI_FRAME_POINTER] &&
		       cfa->offset == 0;
	return cfa->meaning == CFI_MEANING_MEMORY && cfa->addend == 0 &&
	       cfa->register_number == cfi_registers_x86_64.numbers[CFI_STACK_POINTER] &&
	       cfa->offset == SIGNAL_RSP_OFFSET;
}

struct pilotlight_unwind_rule unwind_rule_of(
	uint16_t machine, const struct cfi_cie *cie, const struct cfi_state *state)
{
	const struct pilotlight_unwind_rule unsupported = { .kind = PILOTLIGHT_UNWIND_UNSUPPORTED };
	const struct cfi_registers *registers = unwind_rule_registers(machine);
	struct pilotlight_unwind_rule rule = { 0 };
	struct cfi_value cfa = cfa_of(state);

	if (cie->is_signal)
		return is_signal_frame(machine, &cfa)
			       ? (struct pilotlight_unwind_rule){ .kind = PILOTLIGHT_UNWIND_SIGNAL }
			       : unsupported;
	if (cie->return_column != registers->numbers[CFI_RETURN_ADDRESS])
		return unsupported;
	if (state->columns[CFI_RETURN_ADDRESS].kind == CFI_UNDEFINED)
		return (struct pilotlight_unwind_rule){ .kind = PILOTLIGHT_UNWIND_ROOT };
	if (!is_stack_pointer_cfa(&state->columns[CFI_STACK_POINTER]) ||
		!set_return_address(machine, &state->columns[CFI_RETURN_ADDRESS], &rule) ||
		!set_cfa(machine, &cfa, &rule))
		return unsupported;
	set_frame_pointer(
		registers->numbers[CFI_FRAME_POINTER], &state->columns[CFI_FRAME_POINTER], &rule);
	if (machine == EM_X86_64)
		rule.rbx_offset = rbx_offset_of(&state->columns[CFI_RBX]);
	return rule;
}

struct pilotlight_unwind_rule unwind_rule_by_frame_pointer(uint16_t machine)
{
	return (struct pilotlight_unwind_rule){
		.kind = PILOTLIGHT_UNWIND_CFA,
		.base = unwind_rule_registers(machine)->numbers[CFI_FRAME_POINTER],
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_CFA,
		.offset = 2 * WORD_BYTES,
		.frame_pointer_offset = -2 * WORD_BYTES,
		.return_address_offset = machine == EM_X86_64 ? 0 : -WORD_BYTES,
	};
}

static bool is_cfa_rule(const struct pilotlight_unwind_rule *rule)
{
	return rule->kind == PILOTLIGHT_UNWIND_CFA || rule->kind == PILOTLIGHT_UNWIND_CFA_AT;
}

static enum unwind_frame x86_64_frame(const struct pilotlight_unwind_rule *rule)
{
	const uint8_t frame_pointer = cfi_registers_x86_64.numbers[CFI_FRAME_POINTER];
	const uint8_t stack_pointer = cfi_registers_x86_64.numbers[CFI_STACK_POINTER];

	if (rule->kind == PILOTLIGHT_UNWIND_CFA && rule->base == stack_pointer &&
		rule->offset == WORD_BYTES)
		return UNWIND_FRAME_NONE;
	if (rule->kind == PILOTLIGHT_UNWIND_CFA && rule->base == frame_pointer &&
		rule->offset == 2 * WORD_BYTES &&
		rule->frame_pointer == PILOTLIGHT_UNWIND_FP_AT_CFA &&
		rule->frame_pointer_offset == -2 * WORD_BYTES)
		return UNWIND_FRAME_WITH_POINTER;
	/* A realigned stack: the return address was pushed again, and rbp below it. */
	if (rule->kind == PILOTLIGHT_UNWIND_CFA_AT && rule->base == frame_pointer &&
		rule->frame_pointer == PILOTLIGHT_UNWIND_FP_AT_FP &&
		rule->frame_pointer_offset == 0)
		return UNWIND_FRAME_WITH_POINTER;
	return UNWIND_FRAME_WITHOUT_POINTER;
}

/* The frame pointer points to both saved registers, wherever they are in the frame. */
static enum unwind_frame aarch64_frame(const struct pilotlight_unwind_rule *rule)
{
	if (rule->return_address_offset == 0)
		return UNWIND_FRAME_NONE;
	if (rule->frame_pointer == PILOTLIGHT_UNWIND_FP_AT_CFA &&
		(int64_t)rule->return_address_offset - rule->frame_pointer_offset == WORD_BYTES)
		return UNWIND_FRAME_WITH_POINTER;
	return UNWIND_FRAME_WITHOUT_POINTER;
}

enum unwind_frame unwind_rule_frame(uint16_t machine, const struct pilotlight_unwind_rule *rule)
{
	switch (rule->kind) {
	case PILOTLIGHT_UNWIND_CFA:
	case PILOTLIGHT_UNWIND_CFA_AT:
		return machine == EM_X86_64 ? x86_64_frame(rule) : aarch64_frame(rule);
	case PILOTLIGHT_UNWIND_UNSUPPORTED:
		return UNWIND_FRAME_WITHOUT_POINTER;
	default:
		return UNWIND_FRAME_NONE;
	}
}

void unwind_rules_done(struct unwind_rules *rules)
{
	free(rules->rules);
	hash_index_done(&rules->index);
	*rules = (struct unwind_rules){ 0 };
}

static bool is_equal(const void *owner, uint32_t id, const void *key)
{
	const struct unwind_rules *rules = owner;

	return memcmp(&rules->rules[id], key, sizeof(rules->rules[id])) == 0;
}

int unwind_rules_intern(
	struct unwind_rules *rules, const struct pilotlight_unwind_rule *rule, uint32_t *ret_id)
{
	uint64_t hash = hash_bytes(rule, sizeof(*rule));
	uint32_t id = hash_index_find(&rules->index, hash, is_equal, rules, rule);
	int r;

	if (id == HASH_INDEX_NONE) {
		r = ARRAY_RESERVE(rules->rules, &rules->capacity, rules->count + 1,
			(size_t)PILOTLIGHT_UNWIND_RULES_MAX);
		if (r == 0)
			r = hash_index_reserve(&rules->index);
		if (r < 0)
			return r == -E2BIG ? -EFBIG : r;
		id = (uint32_t)rules->count++;
		rules->rules[id] = *rule;
		hash_index_insert(&rules->index, hash, id);
	}
	*ret_id = id;
	return 0;
}

bool unwind_rules_need_rbx(uint16_t machine, const struct unwind_rules *rules)
{
	for (size_t i = 0; machine == EM_X86_64 && i < rules->count; i++)
		if (is_cfa_rule(&rules->rules[i]) &&
			rules->rules[i].base == cfi_registers_x86_64.numbers[CFI_RBX])
			return true;
	return false;
}
