/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a made-up JVM, as the headers of the walk read it: a heap of code with a compiled
 * method, the interpreter and a stub, one method with its class, and a stack. Include it first.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#ifndef __noinline
#define __noinline static __attribute__((noinline))
#endif
#include "bpf/walk_state.bpf.h"
#include "pilotlight/runtime_hotspot.h"

#define JVM_MEMORY 0x100000ULL
/* Places in it. */
enum {
	JVM_BYTES = 0x8000,
	JVM_HEAPS = 0,
	JVM_ARRAY = 0x100,
	JVM_HEAP = 0x200,
	JVM_NAMES = 0x800,
	JVM_METHOD = 0x900,
	JVM_CONST = 0xa00,
	JVM_POOL = 0xb00,
	JVM_CLASS = 0xd00,
	JVM_SYMBOLS = 0xf00, /* 0x100 bytes each: the class, the name, the signature, the source,
			      * and the name of another method */
	JVM_INNER = 0x2800,  /* the other method */
	JVM_INNER_CONST = 0x2900,
	JVM_MAP = 0x3000,
	/* Blocks of four segments. Their code begins CODE behind them. */
	JVM_COMPILED = 0x4000,
	JVM_INTERPRETER = 0x4200,
	JVM_STUB = 0x4400,
	/* Of the compiled method: where it has which scopes, and their methods. */
	JVM_PCS = 0x5000,
	JVM_SCOPES = 0x5100,
	JVM_METADATA = 0x5200,
	JVM_SCOPES_AT = JVM_COMPILED + 16 + 128, /* four fields that lead there */
	JVM_BLOCKS_END = 0x4600,
	JVM_CODE = 0x100,
	JVM_STACK = 0x6000,
	JVM_SEGMENT_SHIFT = 7,
	JVM_FRAME_WORDS = 6,
	JVM_COMPLETE = 32,
};

static uint8_t jvm[JVM_BYTES];
static uint64_t jvm_pt_regs[PT_REGS_WORDS];

/* As of JDK 17. */
static const struct pilotlight_runtime_hotspot jvm_runtime = {
	.version = PILOTLIGHT_RUNTIME_VERSION,
	.language = PILOTLIGHT_RUNTIME_HOTSPOT,
	.release = 17,
	.flags = PILOTLIGHT_HOTSPOT_SCOPES_ADDRESS,
	.heaps_place = JVM_HEAPS,
	.frame_method_at = -24,
	.frame_bytecode_at = -64,
	.frame_sender_at = -8,
	.array_length_at = 0,
	.array_data_at = 8,
	.heap_memory_at = 8,
	.heap_map_at = 120,
	.heap_shift_at = 256,
	.block_used_at = 8,
	.block_bytes = 16,
	.blob_name_at = 96,
	.blob_size_at = 12,
	.blob_frame_at = 28,
	.blob_complete_at = 20,
	.blob_code_at = 32,
	.blob_method_at = 112,
	.method_const_at = 8,
	.const_pool_at = 8,
	.const_size_at = 24,
	.const_flags_at = 28,
	.const_code_at = 32,
	.const_name_at = 34,
	.const_signature_at = 36,
	.const_bytes = 48,
	.pool_class_at = 24,
	.pool_bytes = 72,
	.pool_source_at = 54,
	.class_source_at = PILOTLIGHT_RUNTIME_NONE,
	.class_pool_at = 232,
	.class_name_at = 24,
	.symbol_length_at = 4,
	.symbol_text_at = 6,
	.scopes_base_at = PILOTLIGHT_RUNTIME_NONE,
	.scopes_pcs_at = 128,
	.scopes_pcs_end_at = 132,
	.scopes_data_at = 136,
	.metadata_base_at = PILOTLIGHT_RUNTIME_NONE,
	.metadata_at = 144,
	.data_at = PILOTLIGHT_RUNTIME_NONE,
	.blob_number_at = 152,
};

static int jvm_copy(void *bytes, size_t size, uint64_t address)
{
	if (address < JVM_MEMORY || size > sizeof(jvm) || address - JVM_MEMORY > sizeof(jvm) - size)
		return 0;
	memcpy(bytes, jvm + (address - JVM_MEMORY), size);
	return 1;
}

static __always_inline int can_read_user(
	struct walk *walk, __u64 *words, __u32 count, __u64 address)
{
	(void)walk;
	return jvm_copy(words, count * sizeof(*words), address);
}

static __always_inline int can_read_own_user(__u64 *words, __u32 count, __u64 address)
{
	return jvm_copy(words, count * sizeof(*words), address);
}

static __always_inline int can_copy_user(void *bytes, __u32 size, __u64 address)
{
	return jvm_copy(bytes, size, address);
}

static __always_inline int can_read_pt_regs(
	struct walk *walk, __u64 *words, __u32 count, __u32 place)
{
	(void)walk;
	if (place + count > PT_REGS_WORDS)
		return 0;
	memcpy(words, jvm_pt_regs + place, count * sizeof(*words));
	return 1;
}

static inline void jvm_put(size_t at, uint64_t number, size_t size)
{
	memcpy(jvm + at, &number, size);
}

/* A pointer to a place. */
static inline void jvm_point(size_t at, size_t place)
{
	jvm_put(at, JVM_MEMORY + place, 8);
}

static inline void jvm_put_symbol(size_t i, const char *text)
{
	size_t at = JVM_SYMBOLS + i * 0x100;

	jvm_put(at + 4, strlen(text), 2);
	memcpy(jvm + at + 6, text, strlen(text));
	if (i > 0)
		jvm_point(JVM_POOL + 72 + i * 8, at);
}

static inline void jvm_put_blob(size_t block, const char *name, size_t name_at, uint32_t words)
{
	size_t segment = (block - JVM_COMPILED) >> JVM_SEGMENT_SHIFT;

	for (uint8_t i = 0; i < 4; i++)
		jvm[JVM_MAP + segment + i] = i;
	jvm[block + 8] = 1;
	jvm_put(block + 16 + 12, 0x1f0, 4);
	jvm_put(block + 16 + 20, JVM_COMPLETE, 4);
	jvm_put(block + 16 + 28, words, 4);
	jvm_point(block + 16 + 32, block + JVM_CODE);
	memcpy(jvm + JVM_NAMES + name_at, name, strlen(name) + 1);
	jvm_point(block + 16 + 96, JVM_NAMES + name_at);
	jvm_point(block + 16 + 112, JVM_METHOD);
}

static inline void jvm_put_method(size_t method, size_t constant, uint16_t name)
{
	jvm_point(method + 8, constant);
	jvm_point(constant + 8, JVM_POOL);
	jvm_put(constant + 24, 10, 4);
	jvm_put(constant + 28, 1, 2);
	jvm_put(constant + 32, 16, 2);
	jvm_put(constant + 34, name, 2);
	jvm_put(constant + 36, 2, 2);
}

static inline void jvm_put_pc(size_t i, int32_t offset, int32_t scope)
{
	jvm_put(JVM_PCS + 16 * i, (uint32_t)offset, 4);
	jvm_put(JVM_PCS + 16 * i + 4, (uint32_t)scope, 4);
}

/* The compiled method contains the other one, from which nothing, and then it, is called. */
static inline void jvm_put_scopes(void)
{
	/* The offset of the caller's scope, the method's index, the bytecode and one more, and
	 * that there are locals. */
	static const uint8_t scopes[] = { 0, 0, 1, 6, 1, 1, 2, 4, 1, 5, 2, 16, 1 };

	memcpy(jvm + JVM_SCOPES, scopes, sizeof(scopes));
	jvm_point(JVM_METADATA, JVM_METHOD);
	jvm_point(JVM_METADATA + 8, JVM_INNER);
	jvm_put_pc(0, -1, 0);
	jvm_put_pc(1, 0x40, 1);
	jvm_put_pc(2, 0x60, 5);
	jvm_put_pc(3, 0x80, 9);
	jvm_put_pc(4, INT32_MAX, 0);
	jvm_put(JVM_SCOPES_AT, JVM_PCS - JVM_COMPILED - 16, 4);
	jvm_put(JVM_SCOPES_AT + 4, JVM_PCS + 5 * 16 - JVM_COMPILED - 16, 4);
	jvm_point(JVM_SCOPES_AT + 8, JVM_SCOPES);
	jvm_put(JVM_SCOPES_AT + 16, JVM_METADATA - JVM_COMPILED - 16, 4);
}

static inline void jvm_init(void)
{
	static const uint8_t lines[] = { 0x0a, 0x19, 0xff, 0x14, 0x28, 0, 0xaa, 0xbb };

	memset(jvm, 0, sizeof(jvm));
	memset(jvm_pt_regs, 0, sizeof(jvm_pt_regs));
	jvm_point(JVM_HEAPS, JVM_ARRAY);
	jvm_put(JVM_ARRAY, 1, 4);
	jvm_point(JVM_ARRAY + 8, JVM_ARRAY + 0x40);
	jvm_point(JVM_ARRAY + 0x40, JVM_HEAP);
	jvm_point(JVM_HEAP + 8, JVM_COMPILED);
	jvm_point(JVM_HEAP + 16, JVM_STACK);
	jvm_point(JVM_HEAP + 120, JVM_MAP);
	jvm_put(JVM_HEAP + 256, JVM_SEGMENT_SHIFT, 4);
	memset(jvm + JVM_MAP, 0xff, 0x100);
	jvm_put_blob(JVM_COMPILED, "nmethod", 0, JVM_FRAME_WORDS);
	jvm_put_blob(JVM_INTERPRETER, "Interpreter", 0x20, 0);
	jvm_put_blob(JVM_STUB, "StubRoutines (1)", 0x40, 0);
	jvm_put_method(JVM_METHOD, JVM_CONST, 1);
	jvm_put_method(JVM_INNER, JVM_INNER_CONST, 4);
	jvm_put_scopes();
	memcpy(jvm + JVM_CONST + 48 + 16, lines, sizeof(lines));
	jvm_point(JVM_POOL + 24, JVM_CLASS);
	jvm_put(JVM_POOL + 54, 3, 2);
	jvm_point(JVM_CLASS + 232, JVM_POOL);
	jvm_point(JVM_CLASS + 24, JVM_SYMBOLS);
	jvm_put_symbol(0, "a/b/Main");
	jvm_put_symbol(1, "run");
	jvm_put_symbol(2, "(I)V");
	jvm_put_symbol(3, "Main.java");
	jvm_put_symbol(4, "inner");
}

/* The address of a word of the stack. */
static inline __u64 at(unsigned word)
{
	return JVM_MEMORY + JVM_STACK + 8 * word;
}

static inline void put_word(unsigned word, __u64 value)
{
	jvm_put(JVM_STACK + 8 * word, value, 8);
}

/* An address in a block's code, behind a call if there is one. */
static inline __u64 code_in(size_t block, size_t offset)
{
	return JVM_MEMORY + block + JVM_CODE + offset;
}
