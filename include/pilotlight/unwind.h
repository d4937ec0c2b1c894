/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * Unwind tables: where a function's caller is, for code that keeps no frame pointers. Made of
 * .eh_frame once a binary, kept in a symbol file's UNWIND sections, copied into maps, and searched
 * by the sampler in place; the layouts are the same in all three.
 *
 * A table is rows sorted by file offset, each with a rule that holds to the next row. Where no code
 * is known, and behind the last function, a row with a rule of kind STOP says so. Twenty rows share
 * a line, which is one cache line. All rows lie within the pages; the last may begin where they
 * end. A line has fewer rows only where the next row is more than DELTA_MAX behind its base, or is
 * none. Positions are relative to the table's own first entries.
 *
 *   PAGES     for each 4 KiB of the file from `first_page` on, and one to end with: the number of
 *             the last line whose base is at or before that page's start (0: none is). The rows of
 *             an offset in page p are in lines pages[p] to pages[p + 1], in the last whose base is
 *             at or before it; where there is none, there is no row
 *
 *   LINES     sorted by base
 *
 *   RULES     by rule id; the most frequent first
 *
 *   ESCAPES   rows whose rule has no id below PILOTLIGHT_UNWIND_ESCAPE, sorted by row
 */
#pragma once

#include <linux/types.h>

enum {
	PILOTLIGHT_UNWIND_PAGE_SHIFT = 12,
	PILOTLIGHT_UNWIND_LINE_ROWS = 20,
	PILOTLIGHT_UNWIND_ESCAPE = 255,
	/* A row is at most so far behind its line's base; unused rows of a line have UNUSED. */
	PILOTLIGHT_UNWIND_DELTA_MAX = 0xfffe,
	PILOTLIGHT_UNWIND_DELTA_UNUSED = 0xffff,
	/* Beyond these a binary has no table. */
	PILOTLIGHT_UNWIND_PAGES_MAX = 1 << 20,
	PILOTLIGHT_UNWIND_LINES_MAX = 1 << 20,
	PILOTLIGHT_UNWIND_RULES_MAX = 1 << 16,
	PILOTLIGHT_UNWIND_ESCAPES_MAX = 1 << 20,
};

/* Row i of the line begins at base + deltas[i]; deltas[0] is 0, and they ascend. */
struct pilotlight_unwind_line {
	__u32 base; /* file offset */
	__u16 deltas[PILOTLIGHT_UNWIND_LINE_ROWS];
	__u8 rules[PILOTLIGHT_UNWIND_LINE_ROWS];
};
_Static_assert(sizeof(struct pilotlight_unwind_line) == 64, "a cache line");

struct pilotlight_unwind_escape {
	__u32 row; /* line × PILOTLIGHT_UNWIND_LINE_ROWS + position in the line */
	__u32 rule;
};

/* How the caller is found. CFA: the stack pointer that the caller has after the return. */
enum pilotlight_unwind_kind {
	PILOTLIGHT_UNWIND_STOP = 0,   /* no function is known here */
	PILOTLIGHT_UNWIND_CFA = 1,    /* CFA = base + offset */
	PILOTLIGHT_UNWIND_CFA_AT = 2, /* CFA = *(base + offset) + addend */
	PILOTLIGHT_UNWIND_PLT = 3,    /* x86-64: CFA = rsp + 8, from byte `offset` of 16 on + 16 */
	PILOTLIGHT_UNWIND_SIGNAL = 4, /* the kernel's signal frame begins at the stack pointer */
	PILOTLIGHT_UNWIND_ROOT = 5,   /* there is no caller: the return address is undefined */
	PILOTLIGHT_UNWIND_UNSUPPORTED = 6, /* what DWARF says is none of these */
	PILOTLIGHT_UNWIND_KINDS,
};

/* Where the caller's frame pointer (rbp, x29) is. */
enum pilotlight_unwind_frame_pointer {
	PILOTLIGHT_UNWIND_FP_SAME = 0,	  /* not saved: it has it still */
	PILOTLIGHT_UNWIND_FP_AT_CFA = 1,  /* at CFA + frame_pointer_offset */
	PILOTLIGHT_UNWIND_FP_AT_FP = 2,	  /* at this frame's own + frame_pointer_offset */
	PILOTLIGHT_UNWIND_FP_UNKNOWN = 3, /* none of these; the walk goes on without it */
	PILOTLIGHT_UNWIND_FPS,
};

/* What rbx_offset is where nothing tells of rbx. */
enum { PILOTLIGHT_UNWIND_RBX_UNKNOWN = 1 };

/*
 * On x86-64 the return address is at CFA - 8 always; elsewhere return_address_offset is from the
 * CFA, and 0 says that it is in the link register still. Where the caller's rbx is, only tables
 * with PILOTLIGHT_UNWIND_TELLS_RBX say: at CFA + rbx_offset, and 0 that it has it still. Fields
 * that a kind has no use for are 0.
 */
struct pilotlight_unwind_rule {
	__u8 kind;
	__u8 base;	    /* DWARF's register number: 6 rbp, 7 rsp; 29 x29, 31 sp; or another */
	__u8 frame_pointer; /* enum pilotlight_unwind_frame_pointer */
	__s8 addend;
	__s32 offset;
	__s32 frame_pointer_offset;
	union {
		__s32 return_address_offset; /* not on x86-64 */
		__s32 rbx_offset;	     /* on x86-64 */
	};
};
_Static_assert(sizeof(struct pilotlight_unwind_rule) == 16, "padding");

/* Bits of pilotlight_unwind_summary.flags. */
enum {
	/* Functions push the frame pointer and set it up, nearly all of those that call others. */
	PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS = 1 << 0,
	/*
	 * Rules say where rbx is, since some have rbx for a base: of code that aligns its stack and
	 * calls, like the dynamic linker's when it binds a function at its first call.
	 */
	PILOTLIGHT_UNWIND_TELLS_RBX = 1 << 1,
};

/* One to a table: the UNWIND section. */
struct pilotlight_unwind_summary {
	__u32 first_page;
	__u32 page_count; /* PAGES has one more */
	__u32 line_count;
	__u32 rule_count;
	__u32 escape_count;
	__u32 row_count;	/* in use, STOP rows included */
	__u32 unsupported_rows; /* of kind UNSUPPORTED */
	__u32 function_count;	/* FDEs that are in the table */
	__u32 functions_failed; /* FDEs that made no sense, overlapped others, or are outside of
				   code */
	__u32 flags;
	__u16 machine; /* EM_X86_64 or EM_AARCH64 */
	__u16 reserved;
	__u32 reserved_2;
};
_Static_assert(sizeof(struct pilotlight_unwind_summary) == 48, "padding");
