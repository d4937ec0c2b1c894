/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/cfi_expression.h"

#include <dwarf.h>

enum {
	RSP = 7,
	RIP = 16,
	EXPRESSION_BYTES_MAX = 64,
};

/* rsp + 8 + ((rip & 15) >= N) * 8, as all linkers write it. */
static bool read_stub(struct dwarf_bytes bytes, struct cfi_value *value)
{
	static const uint8_t before[] = { DW_OP_breg0 + RSP, 8, DW_OP_breg0 + RIP, 0,
		DW_OP_lit0 + 15, DW_OP_and };
	static const uint8_t behind[] = { DW_OP_ge, DW_OP_lit0 + 3, DW_OP_shl, DW_OP_plus };
	uint8_t limit;

	if (dwarf_bytes_left(&bytes) != sizeof(before) + 1 + sizeof(behind))
		return false;
	limit = bytes.position[sizeof(before)];
	if (memcmp(bytes.position, before, sizeof(before)) != 0 ||
		memcmp(bytes.end - sizeof(behind), behind, sizeof(behind)) != 0)
		return false;
	if (limit < DW_OP_lit0 || limit > DW_OP_lit0 + 15)
		return false;
	*value = (struct cfi_value){ .meaning = CFI_MEANING_STUB, .offset = limit - DW_OP_lit0 };
	return true;
}

static bool read_register(struct dwarf_bytes *bytes, struct cfi_value *value)
{
	uint8_t operation = dwarf_bytes_u8(bytes);

	value->meaning = CFI_MEANING_REGISTER;
	if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31)
		value->register_number = operation - DW_OP_breg0;
	else if (operation == DW_OP_bregx)
		value->register_number = dwarf_bytes_uleb(bytes);
	else
		return false;
	value->offset = dwarf_bytes_sleb(bytes);
	return true;
}

static bool read_constant(struct dwarf_bytes *bytes, uint8_t operation, uint64_t *ret_constant)
{
	if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31) {
		*ret_constant = operation - DW_OP_lit0;
		return true;
	}
	switch (operation) {
	case DW_OP_const1u:
		*ret_constant = dwarf_bytes_u8(bytes);
		return true;
	case DW_OP_const1s:
		*ret_constant = (uint64_t)(int8_t)dwarf_bytes_u8(bytes);
		return true;
	case DW_OP_const2u:
		*ret_constant = dwarf_bytes_u16(bytes);
		return true;
	case DW_OP_const2s:
		*ret_constant = (uint64_t)(int16_t)dwarf_bytes_u16(bytes);
		return true;
	case DW_OP_const4u:
		*ret_constant = dwarf_bytes_u32(bytes);
		return true;
	case DW_OP_const4s:
		*ret_constant = (uint64_t)(int32_t)dwarf_bytes_u32(bytes);
		return true;
	case DW_OP_constu:
		*ret_constant = dwarf_bytes_uleb(bytes);
		return true;
	case DW_OP_consts:
		*ret_constant = (uint64_t)dwarf_bytes_sleb(bytes);
		return true;
	default:
		return false;
	}
}

static void add(struct cfi_value *value, uint64_t constant)
{
	int64_t *sum = value->meaning == CFI_MEANING_MEMORY ? &value->addend : &value->offset;

	*sum = (int64_t)((uint64_t)*sum + constant);
}

/* Reads one operation, or a constant and the operation on it. */
static bool read_operation(struct dwarf_bytes *bytes, struct cfi_value *value)
{
	uint8_t operation = dwarf_bytes_u8(bytes);
	uint64_t constant;

	if (operation == DW_OP_deref) {
		if (value->meaning == CFI_MEANING_MEMORY)
			return false;
		value->meaning = CFI_MEANING_MEMORY;
		return true;
	}
	if (operation == DW_OP_plus_uconst) {
		add(value, dwarf_bytes_uleb(bytes));
		return true;
	}
	if (!read_constant(bytes, operation, &constant))
		return false;
	operation = dwarf_bytes_u8(bytes);
	if (operation != DW_OP_plus && operation != DW_OP_minus)
		return false;
	add(value, operation == DW_OP_plus ? constant : -constant);
	return true;
}

struct cfi_value cfi_expression_read(const struct cfi_expression *expression)
{
	const struct cfi_value unknown = { .meaning = CFI_MEANING_UNKNOWN };
	struct cfi_value value = unknown;
	struct dwarf_bytes bytes;

	if (!expression->bytes || expression->size > EXPRESSION_BYTES_MAX)
		return unknown;
	bytes = (struct dwarf_bytes){
		.position = expression->bytes,
		.end = expression->bytes + expression->size,
	};
	if (read_stub(bytes, &value))
		return value;
	if (!read_register(&bytes, &value))
		return unknown;
	while (dwarf_bytes_left(&bytes) > 0)
		if (!read_operation(&bytes, &value))
			return unknown;
	return bytes.is_short ? unknown : value;
}
