/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/usdt_argument.h"

#include "base/array.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX ((1L << (PILOTLIGHT_ARGUMENT_NUMBER_BITS - 1)) - 1)

/* By the size of the operand: the names for 8, 4, 2 and 1 bytes. */
static const struct {
	const char *names[4];
	uint8_t index; /* in struct pt_regs */
} registers[] = {
	{ { "r15", "r15d", "r15w", "r15b" }, 0 },
	{ { "r14", "r14d", "r14w", "r14b" }, 1 },
	{ { "r13", "r13d", "r13w", "r13b" }, 2 },
	{ { "r12", "r12d", "r12w", "r12b" }, 3 },
	{ { "rbp", "ebp", "bp", "bpl" }, 4 },
	{ { "rbx", "ebx", "bx", "bl" }, 5 },
	{ { "r11", "r11d", "r11w", "r11b" }, 6 },
	{ { "r10", "r10d", "r10w", "r10b" }, 7 },
	{ { "r9", "r9d", "r9w", "r9b" }, 8 },
	{ { "r8", "r8d", "r8w", "r8b" }, 9 },
	{ { "rax", "eax", "ax", "al" }, 10 },
	{ { "rcx", "ecx", "cx", "cl" }, 11 },
	{ { "rdx", "edx", "dx", "dl" }, 12 },
	{ { "rsi", "esi", "si", "sil" }, 13 },
	{ { "rdi", "edi", "di", "dil" }, 14 },
	{ { "rsp", "esp", "sp", "spl" }, 19 },
};

static bool find_register(const char *name, uint32_t *ret_index)
{
	for (size_t i = 0; i < ARRAY_SIZE(registers); i++)
		for (size_t j = 0; j < ARRAY_SIZE(registers[i].names); j++)
			if (strcmp(registers[i].names[j], name) == 0) {
				*ret_index = registers[i].index;
				return true;
			}
	return false;
}

static uint32_t encode(enum pilotlight_argument_kind kind, uint32_t index, long number)
{
	if (number < -NUMBER_MAX || number > NUMBER_MAX)
		return PILOTLIGHT_ARGUMENT_NONE;
	return (uint32_t)kind << PILOTLIGHT_ARGUMENT_KIND_SHIFT |
	       index << PILOTLIGHT_ARGUMENT_REGISTER_SHIFT |
	       ((uint32_t)number & ((1U << PILOTLIGHT_ARGUMENT_NUMBER_BITS) - 1));
}

/* The operand behind '@': "$7", "%rdi", "(%rax)" or "-24(%rbp)". */
static uint32_t parse_operand(const char *operand)
{
	char name[8], closing, rest;
	uint32_t index;
	char *end;
	long number;

	if (*operand == '$') {
		number = strtol(operand + 1, &end, 10);
		return end == operand + 1 || *end ? PILOTLIGHT_ARGUMENT_NONE
						  : encode(PILOTLIGHT_ARGUMENT_CONSTANT, 0, number);
	}
	if (sscanf(operand, "%%%7[a-z0-9]%c", name, &rest) == 1 && find_register(name, &index))
		return encode(PILOTLIGHT_ARGUMENT_REGISTER, index, 0);
	number = strtol(operand, &end, 10);
	if (sscanf(end, "(%%%7[a-z0-9]%c%c", name, &closing, &rest) == 2 && closing == ')' &&
		find_register(name, &index))
		return encode(PILOTLIGHT_ARGUMENT_MEMORY, index, number);
	return PILOTLIGHT_ARGUMENT_NONE;
}

/* The size before '@', with its sign. */
static bool parse_size(long size, uint32_t *ret_bits)
{
	for (uint32_t i = 0; i <= 3; i++)
		if (labs(size) == 1L << i) {
			*ret_bits = i << PILOTLIGHT_ARGUMENT_SIZE_SHIFT |
				    (uint32_t)(size < 0) << PILOTLIGHT_ARGUMENT_SIGN_SHIFT;
			return true;
		}
	return false;
}

static uint32_t parse(const char *text)
{
	uint32_t argument, size;
	char *end;
	long bytes = strtol(text, &end, 10);

	if (*end != '@' || !parse_size(bytes, &size))
		return PILOTLIGHT_ARGUMENT_NONE;
	argument = parse_operand(end + 1);
	return pilotlight_argument_kind(argument) == PILOTLIGHT_ARGUMENT_NONE
		       ? PILOTLIGHT_ARGUMENT_NONE
		       : argument | size;
}

void usdt_arguments_parse(const char *text, uint32_t ret_arguments[USDT_ARGUMENTS_MAX])
{
	char word[32];

	memset(ret_arguments, 0, USDT_ARGUMENTS_MAX * sizeof(*ret_arguments));
	for (size_t i = 0; i < USDT_ARGUMENTS_MAX; i++) {
		size_t length = strcspn(text, " ");

		if (length < sizeof(word)) {
			memcpy(word, text, length);
			word[length] = '\0';
			ret_arguments[i] = parse(word);
		}
		text += length;
		text += strspn(text, " ");
	}
}
