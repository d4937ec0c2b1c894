/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * V8's bytecodes, and the code that its first compiler makes of them, one after the other: which
 * bytecode an instruction is of. All of it is hostile (I8).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct runtime_bytecodes {
	const uint8_t *table; /* see struct pilotlight_v8_inlined */
	size_t table_bytes;
	const uint8_t *bytecodes;
	size_t bytecode_bytes;
};

/* `version`: of V8, as in struct pilotlight_v8_inlined. Returns where the bytecode begins that the
 * instruction at `unit` is of; -1: not known. Takes time in proportion to the table. */
int32_t runtime_bytecodes_find(
	uint16_t version, const struct runtime_bytecodes *code, int32_t unit);
