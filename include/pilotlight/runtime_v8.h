/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * The description of V8, the engine of Node.js, in place of a struct pilotlight_runtime. V8's
 * functions run on the native stack and keep frame pointers. Beside the frame pointer is the
 * function object, which refers to what is shared by all closures of a function: its name, or the
 * scope that has the name and the place in the source, and the script. An object's map tells its
 * type; each object is proved by it.
 *
 * Places and `…_at` are as in pilotlight/runtime.h; offsets are from the address of an object,
 * whose pointers have PILOTLIGHT_V8_OBJECT in their lowest two bits. A word whose lowest bit is 0
 * is a number, in the upper half. An object's first word is its map. All of this is the same from
 * V8 10.2 to 13.6, and a build that differs is not described.
 *
 * Before instructions that V8 has generated is an object that leads to their code, and that, if it
 * is optimized, to a table of positions: which function runs at which instruction, as the compiler
 * puts functions into their callers. V8 does not publish where all of it is; a version for which we
 * do not know it has no code.type.
 */
#pragma once

#include "pilotlight/runtime.h"

enum {
	PILOTLIGHT_V8_OBJECT = 1,
	PILOTLIGHT_V8_TAG_MASK = 3,
	PILOTLIGHT_V8_NUMBER_SHIFT = 32,
	PILOTLIGHT_V8_OBJECT_MAX = 128, /* bytes of an object up to the last of its fields */
	/* Types below are of strings; their lowest bits say how the characters are kept. */
	PILOTLIGHT_V8_STRINGS = 0x80,
	PILOTLIGHT_V8_STRING_KINDS = 7,
	PILOTLIGHT_V8_STRING_HERE = 0,	 /* behind the length */
	PILOTLIGHT_V8_STRING_JOINED = 1, /* two strings, one behind the other */
	PILOTLIGHT_V8_STRING_OUTSIDE = 2,
	PILOTLIGHT_V8_STRING_PART = 3,		/* of another string */
	PILOTLIGHT_V8_STRING_SAME = 5,		/* as another string */
	PILOTLIGHT_V8_STRING_NARROW = 1 << 3,	/* characters of 1 byte, else 2 */
	PILOTLIGHT_V8_STRING_UNCACHED = 1 << 4, /* of OUTSIDE: the address is not in the object */
	/* A scope has the names of so many variables, else they are elsewhere. */
	PILOTLIGHT_V8_SCOPE_NAMES = 75,
	/* Of flags_at: the kind of a code object. */
	PILOTLIGHT_V8_CODE_KINDS = 15,
	PILOTLIGHT_V8_CODE_ALIGNMENT = 32, /* of instructions, at least */
};

/* Optimized code. All 0: not known. */
struct pilotlight_v8_code {
	/* The object before the instructions begins so many bytes before them, and has two pointers
	 * first. That at code_at is to the code; 0: the object is the code. */
	__u16 before_bytes, code_at;
	__u16 type, deopt_type, literals_type, positions_type, inlinings_type;
	__u16 deopt_at, positions_at;
	__u16 start_at;		 /* the address of the instructions; OBJECT_MAX: they are there */
	__u16 flags_at, size_at; /* 4 bytes each */
	__u16 last_kind;	 /* the last of the kinds of code that is not optimized */
	/* In the deoptimization data, an array: the number of functions that have been put into
	 * this one, an array that begins with them, an array of pairs, the position of a
	 * call and which of the functions it calls,
	 * and the function itself, or if has_wrapper what refers to it behind its map. */
	__u16 count_at, literals_at, inlinings_at, function_at;
	__u16 has_wrapper;
};

struct pilotlight_runtime_v8 {
	__u16 version; /* PILOTLIGHT_RUNTIME_VERSION */
	__u8 language; /* PILOTLIGHT_RUNTIME_V8 */
	__u8 reserved;
	__u32 release;	  /* of V8: the major version in 8 bits, the minor in 8, the build in 16 */
	__s64 code_place; /* V8's own functions in the binary */
	__u32 code_bytes;
	/* From the frame pointer. The next word is the context, or a number in frames of V8's own
	 * that run no function object. */
	__s16 frame_function_at;
	__u16 map_type_at; /* 2 bytes */
	__u16 function_type_first, function_type_last;
	__u16 shared_type, scope_type, script_type, array_type;
	__u16 function_shared_at;
	__u16 shared_name_at; /* a string, or a scope */
	__u16 shared_script_at;
	__u16 shared_number_at; /* flags, and the function's number in its script; the last one */
	__u16 scope_locals_at;	/* the number of its variables */
	/* Where the variables begin: two words each. Behind them: the name or 0, a number, the name
	 * that was inferred. */
	__u16 scope_locals_begin_at;
	/* The function's place in the source, in characters; NONE: behind the inferred name. */
	__u16 scope_start_at;
	__u16 script_source_at, script_name_at, script_id_at;
	/* An array of the places of the source's line ends, or nothing yet. */
	__u16 script_line_ends_at;
	__u16 array_length_at, array_data_at;
	__u16 string_length_at; /* in characters; 4 bytes, behind 4 of the hash */
	__u16 string_characters_at;
	__u16 string_other_at;	/* of JOINED, PART and SAME: the first other string */
	__u16 string_second_at; /* of JOINED: the second; PART: where it begins; OUTSIDE: address */
	struct pilotlight_v8_code code;
	/* The code that is interpreted. 0: its table of positions is not known. */
	__u16 bytecodes_type;
	__u16 bytecodes_positions_at;
	__u16 bytecodes_data_at; /* V8 counts from the first byte of the object behind the map */
};
_Static_assert(sizeof(struct pilotlight_runtime_v8) == 112, "padding");
_Static_assert(sizeof(struct pilotlight_runtime_v8) <= sizeof(struct pilotlight_runtime),
	"it takes its place");

enum {
	PILOTLIGHT_V8_FUNCTIONS_MAX = 64, /* in optimized code, with the one that it is of */
	PILOTLIGHT_V8_INLININGS_MAX = 128,
	PILOTLIGHT_V8_MARKS_MAX = 1792, /* bytes, of seven chunks of source */
	/* Bits of a position: it is of V8's own sources, the place in the source + 1, and in which
	 * inlining, counted from 1. */
	PILOTLIGHT_V8_POSITION_EXTERNAL = 1,
	PILOTLIGHT_V8_POSITION_PLACE_SHIFT = 1,
	PILOTLIGHT_V8_POSITION_PLACE_BITS = 30,
	PILOTLIGHT_V8_POSITION_INLINING_SHIFT = 31,
	PILOTLIGHT_V8_POSITION_INLINING_BITS = 16,
	/* Above them, in an inlining: which function that is, + 1; 0: the outermost. */
	PILOTLIGHT_V8_INLINING_FUNCTION_SHIFT = 48,
};

/* The table of a function (PILOTLIGHT_RUNTIME_LINE_ENDS). */
struct pilotlight_v8_lines {
	__u64 start; /* its place in the source, in characters */
	/* A bit for each character from there on that ends a line. Not in the hash: it cannot
	 * always be read. */
	__u8 marks[PILOTLIGHT_V8_MARKS_MAX];
};

/*
 * The table of code (PILOTLIGHT_RUNTIME_INLINED) begins so. Behind it are the functions,
 * first the outermost: words, as code of frames; then inlinings: words, each the position of the
 * call, and the function; then V8's table of positions. That is pairs of numbers, 7 bits a byte,
 * the lowest first, bit 0 is their sign: how far the instruction, and how far the position is
 * behind the one before.
 *
 * Code of V8's first compiler has the positions of bytecodes. Behind them, at multiples of 8 bytes,
 * are then struct pilotlight_v8_baseline, a table, and the bytecodes. The table is numbers of 7
 * bits a byte, without a sign: how many bytes of instructions are before the first bytecode, and of
 * each one.
 */
struct pilotlight_v8_inlined {
	__u16 functions, inlinings;
	__u16 position_bytes;
	__u16 version; /* of V8, whose bytecodes follow: the upper half of its release; else 0 */
};

struct pilotlight_v8_baseline {
	__u32 table_bytes, bytecode_bytes;
};

enum {
	PILOTLIGHT_V8_INLINED_HEAD_MAX =
		sizeof(struct pilotlight_v8_inlined) +
		8 * (PILOTLIGHT_V8_FUNCTIONS_MAX + PILOTLIGHT_V8_INLININGS_MAX),
	PILOTLIGHT_V8_POSITION_BYTES_MAX =
		PILOTLIGHT_RUNTIME_TABLE_MAX - PILOTLIGHT_V8_INLINED_HEAD_MAX,
	/* Of code of the first compiler: the positions, the table, and the bytecodes. */
	PILOTLIGHT_V8_BASELINE_PART_MAX = 1344,
};
