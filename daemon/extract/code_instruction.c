/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/code_instruction.h"

#include "base/array.h"
#include "base/fault.h"
#include "base/shared_library.h"

#include <Zydis/Zydis.h>
#include <stdio.h>

/* The layout of Zydis' structures belongs to the version that the headers are of. */
#define SONAME_FORMAT "libZydis.so.%u.%u"

SHARED_LIBRARY_NOTE("libZydis.so.4.0\",\"libZydis.so.4.1", "infer",
	"Infers unwind rules for code without call frame information", "recommended");

static struct zydis {
	ZydisDecoder decoder;
	__typeof__(ZydisDecoderInit) *init;
	__typeof__(ZydisDecoderDecodeInstruction) *decode;
	__typeof__(ZydisDecoderDecodeOperands) *decode_operands;
} loaded;

enum {
	WORD_BYTES = 8,
	REGISTER_RSP = 4,
	REGISTER_RBP = 5,
	REGISTER_MASK = 7,
	MOD_REGISTER = 3,
};

int code_instruction_load(struct fault *fault)
{
	const struct shared_library_function functions[] = {
		{ "ZydisDecoderInit", &loaded.init },
		{ "ZydisDecoderDecodeInstruction", &loaded.decode },
		{ "ZydisDecoderDecodeOperands", &loaded.decode_operands },
	};
	char soname[32];
	int r;

	if (code_instruction_is_loaded())
		return 0;
	(void)snprintf(soname, sizeof(soname), SONAME_FORMAT,
		(unsigned int)ZYDIS_VERSION_MAJOR(ZYDIS_VERSION),
		(unsigned int)ZYDIS_VERSION_MINOR(ZYDIS_VERSION));
	r = shared_library_load(soname, "libzydis4.0", functions, ARRAY_SIZE(functions), fault);
	if (r == 0)
		(void)loaded.init(
			&loaded.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return r;
}

bool code_instruction_is_loaded(void)
{
	return loaded.decode_operands != NULL;
}

static bool is_part(uint8_t number)
{
	return (number & REGISTER_MASK) == REGISTER_RSP || (number & REGISTER_MASK) == REGISTER_RBP;
}

/*
 * May an operand be rsp or rbp? Most instructions have other operands, and decoding all operands
 * takes as long as decoding the instruction. r12, r13 and byte registers look like them.
 */
static bool may_name_pointers(const ZydisDecodedInstruction *decoded)
{
	if (decoded->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
		decoded->opcode_map != ZYDIS_OPCODE_MAP_0F)
		return true;
	if (decoded->raw.modrm.offset == 0)
		return is_part(decoded->opcode);
	return is_part(decoded->raw.modrm.reg) ||
	       (decoded->raw.modrm.mod == MOD_REGISTER && is_part(decoded->raw.modrm.rm));
}

static bool is_rsp(ZydisRegister number)
{
	return number == ZYDIS_REGISTER_RSP || number == ZYDIS_REGISTER_ESP ||
	       number == ZYDIS_REGISTER_SP || number == ZYDIS_REGISTER_SPL;
}

static bool is_rbp(ZydisRegister number)
{
	return number == ZYDIS_REGISTER_RBP || number == ZYDIS_REGISTER_EBP ||
	       number == ZYDIS_REGISTER_BP || number == ZYDIS_REGISTER_BPL;
}

static bool is_register(const ZydisDecodedOperand *operand, ZydisRegister number)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && operand->reg.value == number;
}

/* Is it memory at a constant distance from the register? */
static bool is_at(const ZydisDecodedOperand *operand, ZydisRegister base, int32_t *ret_distance)
{
	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || operand->mem.base != base ||
		operand->mem.index != ZYDIS_REGISTER_NONE ||
		operand->mem.segment == ZYDIS_REGISTER_FS ||
		operand->mem.segment == ZYDIS_REGISTER_GS)
		return false;
	*ret_distance = (int32_t)operand->mem.disp.value;
	return true;
}

static void set_effect(struct code_instruction *instruction, enum code_effect effect, int32_t value)
{
	instruction->effect = (uint8_t)effect;
	instruction->value = value;
}

/* Any other change of the two registers. */
static void set_unknown(
	struct code_instruction *instruction, const ZydisDecodedOperand *operands, uint8_t count)
{
	bool writes_rsp = false, writes_rbp = false;

	for (uint8_t i = 0; i < count; i++) {
		if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER ||
			!(operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		writes_rsp |= is_rsp(operands[i].reg.value);
		writes_rbp |= is_rbp(operands[i].reg.value);
	}
	if (writes_rsp)
		set_effect(instruction,
			writes_rbp ? CODE_EFFECT_BOTH_UNKNOWN : CODE_EFFECT_RSP_UNKNOWN, 0);
	else if (writes_rbp)
		set_effect(instruction, CODE_EFFECT_RBP_UNKNOWN, 0);
}

static bool find_add(struct code_instruction *instruction, ZydisMnemonic mnemonic,
	const ZydisDecodedOperand *operands)
{
	int32_t value;

	if (operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
		operands[1].imm.value.s <= INT32_MIN || operands[1].imm.value.s > INT32_MAX)
		return false;
	value = (int32_t)operands[1].imm.value.s;
	if (mnemonic == ZYDIS_MNEMONIC_SUB)
		value = -value;
	if (is_register(&operands[0], ZYDIS_REGISTER_RSP))
		set_effect(instruction, CODE_EFFECT_POP, value);
	else if (is_register(&operands[0], ZYDIS_REGISTER_RBP))
		set_effect(instruction, CODE_EFFECT_RBP_ADD, value);
	else
		return false;
	return true;
}

static bool find_lea(struct code_instruction *instruction, const ZydisDecodedOperand *operands)
{
	bool to_rsp = is_register(&operands[0], ZYDIS_REGISTER_RSP);
	bool to_rbp = is_register(&operands[0], ZYDIS_REGISTER_RBP);
	int32_t value;

	if (is_at(&operands[1], ZYDIS_REGISTER_RSP, &value) && (to_rsp || to_rbp))
		set_effect(instruction, to_rsp ? CODE_EFFECT_POP : CODE_EFFECT_RBP_FROM_RSP, value);
	else if (is_at(&operands[1], ZYDIS_REGISTER_RBP, &value) && (to_rsp || to_rbp))
		set_effect(instruction, to_rsp ? CODE_EFFECT_RSP_FROM_RBP : CODE_EFFECT_RBP_ADD,
			value);
	else
		return false;
	return true;
}

static bool find_move(struct code_instruction *instruction, const ZydisDecodedOperand *operands)
{
	const ZydisRegister rsp = ZYDIS_REGISTER_RSP, rbp = ZYDIS_REGISTER_RBP;
	int32_t value = 0;

	if (is_register(&operands[0], rbp) && is_register(&operands[1], rsp))
		set_effect(instruction, CODE_EFFECT_RBP_FROM_RSP, 0);
	else if (is_register(&operands[0], rsp) && is_register(&operands[1], rbp))
		set_effect(instruction, CODE_EFFECT_RSP_FROM_RBP, 0);
	else if (is_at(&operands[0], rsp, &value) && is_register(&operands[1], rbp))
		set_effect(instruction, CODE_EFFECT_RBP_STORE, value);
	else if (is_register(&operands[0], rbp) && is_at(&operands[1], rsp, &value))
		set_effect(instruction, CODE_EFFECT_RBP_LOAD, value);
	else
		return false;
	return true;
}

static void find_effect(struct code_instruction *instruction,
	const ZydisDecodedInstruction *decoded, const ZydisDecoderContext *context)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	bool is_known = false;

	if (!may_name_pointers(decoded) || decoded->operand_count == 0 ||
		ZYAN_FAILED(loaded.decode_operands(
			&loaded.decoder, context, decoded, operands, decoded->operand_count)))
		return;
	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		is_known = find_add(instruction, decoded->mnemonic, operands);
		break;
	case ZYDIS_MNEMONIC_LEA:
		is_known = find_lea(instruction, operands);
		break;
	case ZYDIS_MNEMONIC_MOV:
		is_known = find_move(instruction, operands);
		break;
	case ZYDIS_MNEMONIC_XOR:
		is_known = operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			   is_rbp(operands[0].reg.value) &&
			   is_register(&operands[1], operands[0].reg.value) &&
			   operands[0].size >= 32;
		if (is_known)
			set_effect(instruction, CODE_EFFECT_RBP_ZERO, 0);
		break;
	default:
		break;
	}
	if (!is_known)
		set_unknown(instruction, operands, decoded->operand_count);
}

/* Pushes and pops of other sizes than a word are for segment registers, or hostile. */
static void find_push(struct code_instruction *instruction, const ZydisDecodedInstruction *decoded,
	const ZydisDecoderContext *context)
{
	bool is_pop = decoded->mnemonic == ZYDIS_MNEMONIC_POP;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	set_effect(instruction, is_pop ? CODE_EFFECT_POP : CODE_EFFECT_PUSH, WORD_BYTES);
	if (!may_name_pointers(decoded) && decoded->operand_width == 64)
		return;
	if (decoded->operand_width != 64 ||
		ZYAN_FAILED(loaded.decode_operands(
			&loaded.decoder, context, decoded, operands, decoded->operand_count)))
		set_effect(instruction, CODE_EFFECT_RSP_UNKNOWN, 0);
	else if (is_register(&operands[0], ZYDIS_REGISTER_RBP))
		instruction->effect = is_pop ? CODE_EFFECT_POP_RBP : CODE_EFFECT_PUSH_RBP;
	else if (is_pop && is_register(&operands[0], ZYDIS_REGISTER_RSP))
		set_effect(instruction, CODE_EFFECT_RSP_UNKNOWN, 0);
}

static void set_target(struct code_instruction *instruction, const ZydisDecodedInstruction *decoded,
	enum code_flow direct, enum code_flow indirect)
{
	if (!decoded->raw.imm[0].is_relative) {
		instruction->flow = (uint8_t)indirect;
		return;
	}
	instruction->flow = (uint8_t)direct;
	instruction->target = decoded->raw.imm[0].value.s;
}

/* Returns false if the instruction is of another kind. */
static bool find_flow(struct code_instruction *instruction, const ZydisDecodedInstruction *decoded)
{
	switch (decoded->mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
		set_target(instruction, decoded, CODE_FLOW_CALL, CODE_FLOW_CALL_INDIRECT);
		break;
	case ZYDIS_MNEMONIC_JMP:
		set_target(instruction, decoded, CODE_FLOW_JUMP, CODE_FLOW_JUMP_INDIRECT);
		break;
	case ZYDIS_MNEMONIC_RET:
		instruction->flow = decoded->meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR
					    ? CODE_FLOW_RETURN
					    : CODE_FLOW_END;
		break;
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		instruction->flow = CODE_FLOW_END;
		break;
	case ZYDIS_MNEMONIC_SYSCALL:
		instruction->is_system_call = true;
		break;
	default:
		if (decoded->meta.branch_type == ZYDIS_BRANCH_TYPE_NONE ||
			!decoded->raw.imm[0].is_relative)
			return false;
		set_target(instruction, decoded, CODE_FLOW_BRANCH, CODE_FLOW_END);
	}
	return true;
}

bool code_instruction_decode(
	const uint8_t *code, size_t size, struct code_instruction *ret_instruction)
{
	struct code_instruction instruction = { .flow = CODE_FLOW_ON };
	ZydisDecodedInstruction decoded;
	ZydisDecoderContext context;

	if (ZYAN_FAILED(loaded.decode(&loaded.decoder, &context, code, size, &decoded)))
		return false;
	instruction.length = decoded.length;
	if (!find_flow(&instruction, &decoded)) {
		switch (decoded.mnemonic) {
		case ZYDIS_MNEMONIC_PUSH:
		case ZYDIS_MNEMONIC_POP:
			find_push(&instruction, &decoded, &context);
			break;
		case ZYDIS_MNEMONIC_PUSHFQ:
			set_effect(&instruction, CODE_EFFECT_PUSH, WORD_BYTES);
			break;
		case ZYDIS_MNEMONIC_POPFQ:
			set_effect(&instruction, CODE_EFFECT_POP, WORD_BYTES);
			break;
		case ZYDIS_MNEMONIC_LEAVE:
			set_effect(&instruction, CODE_EFFECT_LEAVE, 0);
			break;
		case ZYDIS_MNEMONIC_ENTER:
			if (decoded.raw.imm[1].value.u == 0)
				set_effect(&instruction, CODE_EFFECT_ENTER,
					(int32_t)decoded.raw.imm[0].value.u);
			else
				set_effect(&instruction, CODE_EFFECT_BOTH_UNKNOWN, 0);
			break;
		default:
			find_effect(&instruction, &decoded, &context);
		}
	}
	*ret_instruction = instruction;
	return true;
}
