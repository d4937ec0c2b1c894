/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/code_accessor.h"

#include "extract/code_instruction.h"

#include <stdbool.h>
#include <string.h>

enum {
	REGISTERS = 16,
	RAX = 0,
	RSP = 4,
	RDI = 7,
	PREFIX_FS = 0x64,
	PREFIX_OPERAND = 0x66,
	PREFIX_ENDBR = 0xf3,
	REX = 0x40, /* to 0x4f */
	REX_W = 8,
	REX_R = 4,
	REX_B = 1,
	MOD_REGISTER = 3,
	RM_SIB = 4,
	RM_RELATIVE = 5, /* with mod 0 */
	SIB_NO_INDEX = 4,
	SIB_NO_BASE = 5, /* with mod 0 */
	/* Opcodes. */
	ADD_LOAD = 0x03,
	ENDBR_OR_NOP = 0x0f,
	XOR_STORE = 0x31,
	XOR_LOAD = 0x33,
	PUSH = 0x50, /* to 0x57 */
	POP = 0x58,  /* to 0x5f */
	GROUP_1_IMM32 = 0x81,
	GROUP_1_IMM8 = 0x83,
	TEST_BYTE = 0x84,
	TEST = 0x85,
	MOV_STORE = 0x89,
	MOV_LOAD = 0x8b,
	LEA = 0x8d,
	MOV_IMM32 = 0xb8, /* to 0xbf */
	GROUP_1_CMP = 7,
};

/* The registers that calls preserve: rbx, rsp, rbp, r12 to r15. */
static const bool is_preserved[REGISTERS] = {
	[3] = true, [4] = true, [5] = true, [12] = true, [13] = true, [14] = true, [15] = true
};

struct reader {
	struct code_value registers[REGISTERS], at_branch[REGISTERS];
	struct code_accessor *accessor;
	bool has_ended; /* once */
};

/* The operands of an instruction: a register, and another one or memory. */
struct operands {
	uint8_t opcode;
	uint8_t reg, rm;
	uint8_t low; /* register in the opcode */
	bool is_wide;
	bool is_thread; /* fs */
	bool is_memory;
	bool has_base;
	bool is_odd;	       /* memory that is not base + displacement */
	uint64_t displacement; /* with the vaddr of the next instruction, if relative to it */
	uint32_t immediate;
};

static int32_t int32_at(const uint8_t *bytes)
{
	int32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* Reads ModRM and what belongs to it. Zydis has found that the instruction is complete. */
static void read_memory(struct operands *operands, const uint8_t *bytes, uint8_t rex, uint64_t next)
{
	uint8_t mod = bytes[0] >> 6, rm = bytes[0] & 7;
	size_t at = 1;

	operands->reg = (uint8_t)((bytes[0] >> 3 & 7) | (rex & REX_R ? 8 : 0));
	operands->is_memory = mod != MOD_REGISTER;
	operands->has_base = true;
	if (operands->is_memory && rm == RM_SIB) {
		operands->is_odd |= (bytes[1] >> 3 & 7) != SIB_NO_INDEX;
		rm = bytes[at++] & 7;
		operands->has_base = mod != 0 || rm != SIB_NO_BASE;
	} else if (mod == 0 && rm == RM_RELATIVE) {
		operands->has_base = false;
		operands->displacement = next;
	}
	operands->rm = (uint8_t)(rm | (rex & REX_B ? 8 : 0));
	if (mod == 1)
		operands->displacement += (uint64_t)(int64_t)(int8_t)bytes[at];
	else if (mod == 2 || (operands->is_memory && !operands->has_base))
		operands->displacement += (uint64_t)(int64_t)int32_at(bytes + at);
}

/* Returns false if it is none of the instructions that are read here. */
static bool read_operands(
	struct operands *operands, const uint8_t *bytes, size_t length, uint64_t next)
{
	uint8_t padded[CODE_INSTRUCTION_BYTES_MAX + 8] = { 0 };
	bool is_half = false;
	uint8_t rex = 0;
	size_t at = 0;

	memcpy(padded, bytes, length);
	for (; padded[at] == PREFIX_FS || padded[at] == PREFIX_OPERAND; at++) {
		operands->is_thread |= padded[at] == PREFIX_FS;
		is_half |= padded[at] == PREFIX_OPERAND;
	}
	if (padded[at] == PREFIX_ENDBR && padded[at + 1] == ENDBR_OR_NOP)
		at++;
	if ((padded[at] & 0xf0) == REX)
		rex = padded[at++];
	operands->is_wide = rex & REX_W;
	operands->is_odd = is_half && !operands->is_wide;
	operands->opcode = padded[at++];
	operands->low = (uint8_t)((operands->opcode & 7) | (rex & REX_B ? 8 : 0));
	switch (operands->opcode) {
	case ADD_LOAD:
	case XOR_STORE:
	case XOR_LOAD:
	case GROUP_1_IMM32:
	case GROUP_1_IMM8:
	case TEST_BYTE:
	case TEST:
	case MOV_STORE:
	case MOV_LOAD:
	case LEA:
		read_memory(operands, padded + at, rex, next);
		return true;
	case ENDBR_OR_NOP:
		return (padded[at] == 0x1e && padded[at + 1] == 0xfa) || padded[at] == 0x1f;
	case MOV_IMM32 ... MOV_IMM32 + 7:
		operands->immediate = (uint32_t)int32_at(padded + at);
		return true;
	case PUSH ... POP + 7:
	case 0x90:
		return true;
	default:
		return false;
	}
}

/* The value that is loaded from where `base` points, plus a displacement. */
static struct code_value load_from(
	const struct code_value *base, uint64_t displacement, bool is_wide)
{
	struct code_value value = *base;
	enum code_value_kind wide = CODE_VALUE_UNKNOWN, narrow = CODE_VALUE_UNKNOWN;

	switch (base->kind) {
	case CODE_VALUE_ADDRESS:
		wide = CODE_VALUE_WORD;
		narrow = CODE_VALUE_NUMBER;
		value.place += displacement;
		displacement = 0;
		break;
	case CODE_VALUE_WORD:
		narrow = CODE_VALUE_NUMBER_BEHIND;
		break;
	case CODE_VALUE_THREAD:
		wide = CODE_VALUE_THREAD_WORD;
		break;
	case CODE_VALUE_RESULT:
		wide = CODE_VALUE_RESULT_WORD;
		break;
	case CODE_VALUE_PARAMETER:
		wide = CODE_VALUE_PARAMETER_WORD;
		break;
	case CODE_VALUE_PARAMETER_WORD:
		wide = CODE_VALUE_PARAMETER_BEHIND;
		value.place += displacement;
		displacement = 0;
		break;
	default:
		break;
	}
	value.offset += (int64_t)displacement;
	value.kind = is_wide ? wide : narrow;
	return value;
}

/* The word at fs:0 is the thread pointer itself. */
static struct code_value load_from_thread(
	const struct reader *reader, const struct operands *operands)
{
	const struct code_value thread = { .kind = CODE_VALUE_THREAD };
	struct code_value value;

	if (!operands->has_base) {
		if (operands->displacement == 0 && operands->is_wide)
			return thread;
		return load_from(&thread, operands->displacement, operands->is_wide);
	}
	value = reader->registers[operands->rm];
	if (value.kind != CODE_VALUE_WORD || !operands->is_wide)
		return (struct code_value){ .kind = CODE_VALUE_UNKNOWN };
	value.kind = CODE_VALUE_SLOT_WORD;
	value.offset += (int64_t)operands->displacement;
	return value;
}

static struct code_value load(const struct reader *reader, const struct operands *operands)
{
	struct code_value base = { .kind = CODE_VALUE_ADDRESS };

	if (!operands->is_memory)
		return operands->is_wide ? reader->registers[operands->rm]
					 : (struct code_value){ .kind = CODE_VALUE_UNKNOWN };
	if (operands->is_odd)
		return (struct code_value){ .kind = CODE_VALUE_UNKNOWN };
	if (operands->is_thread)
		return load_from_thread(reader, operands);
	if (operands->has_base)
		base = reader->registers[operands->rm];
	return load_from(&base, operands->displacement, operands->is_wide);
}

/* lea: the address itself. */
static struct code_value address_of(const struct reader *reader, const struct operands *operands)
{
	struct code_value value = { .kind = CODE_VALUE_ADDRESS };

	if (operands->is_odd || !operands->is_wide)
		return (struct code_value){ .kind = CODE_VALUE_UNKNOWN };
	if (operands->has_base)
		value = reader->registers[operands->rm];
	switch (value.kind) {
	case CODE_VALUE_ADDRESS:
		value.place += operands->displacement;
		return value;
	case CODE_VALUE_WORD:
	case CODE_VALUE_THREAD:
	case CODE_VALUE_RESULT:
		value.offset += (int64_t)operands->displacement;
		return value;
	default:
		return (struct code_value){ .kind = CODE_VALUE_UNKNOWN };
	}
}

/* add: a distance, and the word to which it is added. */
static struct code_value sum_of(const struct reader *reader, const struct operands *operands)
{
	const struct code_value *distance = &reader->registers[operands->reg];
	struct code_value word = load(reader, operands);

	if (distance->kind != CODE_VALUE_ADDRESS || word.kind != CODE_VALUE_WORD)
		return (struct code_value){ .kind = CODE_VALUE_UNKNOWN };
	word.offset += (int64_t)distance->place;
	return word;
}

static void forget_all(struct reader *reader)
{
	memset(reader->registers, 0, sizeof(reader->registers));
}

static void forget(struct reader *reader, size_t number)
{
	reader->registers[number] = (struct code_value){ .kind = CODE_VALUE_UNKNOWN };
}

static void note_variable(struct reader *reader, const struct code_value *value)
{
	struct code_value *variable = &reader->accessor->variable;

	if (variable->kind == CODE_VALUE_UNKNOWN &&
		(value->kind == CODE_VALUE_THREAD_WORD || value->kind == CODE_VALUE_SLOT_WORD ||
			value->kind == CODE_VALUE_RESULT_WORD))
		*variable = *value;
}

static void execute(struct reader *reader, const struct operands *operands)
{
	switch (operands->opcode) {
	case MOV_LOAD:
		reader->registers[operands->reg] = load(reader, operands);
		if (operands->is_memory)
			note_variable(reader, &reader->registers[operands->reg]);
		break;
	case MOV_STORE:
		if (operands->is_memory)
			break;
		reader->registers[operands->rm] = reader->registers[operands->reg];
		if (!operands->is_wide)
			forget(reader, operands->rm);
		break;
	case ADD_LOAD:
		reader->registers[operands->reg] = sum_of(reader, operands);
		break;
	case LEA:
		reader->registers[operands->reg] = address_of(reader, operands);
		break;
	case MOV_IMM32 ... MOV_IMM32 + 7:
		reader->registers[operands->low] = (struct code_value){
			.kind = operands->is_wide || operands->is_odd ? CODE_VALUE_UNKNOWN
								      : CODE_VALUE_ADDRESS,
			.place = operands->immediate,
		};
		break;
	case XOR_STORE:
		if (!operands->is_memory)
			forget(reader, operands->rm);
		break;
	case XOR_LOAD:
		forget(reader, operands->reg);
		break;
	case GROUP_1_IMM32:
	case GROUP_1_IMM8:
		if (!operands->is_memory && (operands->reg & 7) != GROUP_1_CMP)
			forget(reader, operands->rm);
		break;
	case POP ... POP + 7:
		forget(reader, operands->low);
		break;
	default: /* changes no register but rsp */
		break;
	}
}

static void call(struct reader *reader)
{
	struct code_value argument = reader->registers[RDI];

	if (argument.kind != CODE_VALUE_UNKNOWN && argument.kind < CODE_VALUE_PARAMETER)
		reader->accessor->argument = argument;
	for (size_t i = 0; i < REGISTERS; i++)
		if (!is_preserved[i])
			forget(reader, i);
	if (argument.kind == CODE_VALUE_ADDRESS)
		reader->registers[RAX] =
			(struct code_value){ .kind = CODE_VALUE_RESULT, .place = argument.place };
}

/* Behind a return or a jump, code is reached from the last branch. */
static void leave(struct reader *reader, bool is_return)
{
	struct code_accessor *accessor = reader->accessor;

	reader->has_ended = true;
	if (is_return && accessor->result.kind == CODE_VALUE_UNKNOWN)
		accessor->result = reader->registers[RAX];
	memcpy(reader->registers, reader->at_branch, sizeof(reader->registers));
}

static void step(struct reader *reader, const struct code_instruction *instruction,
	const uint8_t *bytes, uint64_t next)
{
	struct operands operands = { .opcode = 0 };

	if ((instruction->flow == CODE_FLOW_CALL || instruction->flow == CODE_FLOW_JUMP) &&
		!reader->has_ended)
		reader->accessor->callee = next + (uint64_t)instruction->target;
	switch (instruction->flow) {
	case CODE_FLOW_ON:
		if (read_operands(&operands, bytes, instruction->length, next))
			execute(reader, &operands);
		else
			forget_all(reader);
		break;
	case CODE_FLOW_BRANCH:
		memcpy(reader->at_branch, reader->registers, sizeof(reader->at_branch));
		break;
	case CODE_FLOW_CALL:
	case CODE_FLOW_CALL_INDIRECT:
		call(reader);
		break;
	case CODE_FLOW_JUMP:
	case CODE_FLOW_JUMP_INDIRECT:
		call(reader);
		leave(reader, false);
		break;
	default:
		leave(reader, instruction->flow == CODE_FLOW_RETURN);
		break;
	}
}

void code_accessor_read(
	const uint8_t *code, size_t size, uint64_t vaddr, struct code_accessor *ret_accessor)
{
	struct code_accessor accessor = { .result.kind = CODE_VALUE_UNKNOWN };
	struct reader reader = {
		.accessor = &accessor,
		.registers[RDI].kind = CODE_VALUE_PARAMETER,
	};
	struct code_instruction instruction;

	for (size_t at = 0; code_instruction_is_loaded() && at < size; at += instruction.length) {
		if (!code_instruction_decode(code + at, size - at, &instruction))
			break;
		step(&reader, &instruction, code + at, vaddr + at + instruction.length);
	}
	*ret_accessor = accessor;
}
