/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * Unwind tables: where the caller of a function is, for code without frame pointers. A table is
 * made from .eh_frame once per binary, stored in a symbol file's UNWIND sections, and copied into
 * maps, where the sampler searches it. The layout is the same in the file and in the maps.
 *
 * A table is a list of rows, sorted by file offset. Each row has a rule, which holds up to the next
 * row. A rule of kind STOP marks gaps between functions and the end of the last one. Twenty rows
 * share a line, which is one cache line; a line has fewer only if the next row is more than
 * DELTA_MAX behind the line's base, or if there is none. All rows lie within the pages; the last
 * row may begin where the pages end. Positions count from the table's own first entries.
 *
 *   PAGES     an entry for each 4 KiB of the file from `first_page` on, and one more at the end:
 * the number of the last line whose base is not behind the page's start (0: none). To find the row
 * of an offset in page p, search lines pages[p] to pages[p + 1] for the last whose base is not
 * behind the offset. If there is none, there is no row
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
	/* The greatest distance of a row from its line's base, and the mark of unused rows. */
	PILOTLIGHT_UNWIND_DELTA_MAX = 0xfffe,
	PILOTLIGHT_UNWIND_DELTA_UNUSED = 0xffff,
	/* A binary that exceeds these has no table. */
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

/* How to find the caller. CFA: the caller's stack pointer after the return. */
enum pilotlight_unwind_kind {
	PILOTLIGHT_UNWIND_STOP = 0,   /* no known function here */
	PILOTLIGHT_UNWIND_CFA = 1,    /* CFA = base + offset */
	PILOTLIGHT_UNWIND_CFA_AT = 2, /* CFA = *(base + offset) + addend */
	PILOTLIGHT_UNWIND_PLT = 3,    /* x86-64: CFA = rsp + 8; + 16 from byte `offset` of 16 on */
	PILOTLIGHT_UNWIND_SIGNAL = 4, /* the kernel's signal frame is at the stack pointer */
	PILOTLIGHT_UNWIND_ROOT = 5,   /* no caller: the return address is undefined */
	PILOTLIGHT_UNWIND_UNSUPPORTED = 6, /* DWARF that none of these can express */
	/* As CFA, but the caller may be on another stack, at a lower address. */
	PILOTLIGHT_UNWIND_SWITCHED = 7,
	/*
	 * As CFA, but inferred from instructions, not told by the compiler: the walk goes on only
	 * if the return address is behind a call.
	 */
	PILOTLIGHT_UNWIND_INFERRED = 8,
	PILOTLIGHT_UNWIND_KINDS,
};

/* Where the caller's frame pointer (rbp, x29) is. */
enum pilotlight_unwind_frame_pointer {
	PILOTLIGHT_UNWIND_FP_SAME = 0,	  /* not saved: still in the register */
	PILOTLIGHT_UNWIND_FP_AT_CFA = 1,  /* at CFA + frame_pointer_offset */
	PILOTLIGHT_UNWIND_FP_AT_FP = 2,	  /* at this frame's frame pointer + frame_pointer_offset */
	PILOTLIGHT_UNWIND_FP_UNKNOWN = 3, /* elsewhere: the walk goes on without it */
	PILOTLIGHT_UNWIND_FPS,
};

/* The rbx_offset of a rule that does not say where rbx is. */
enum { PILOTLIGHT_UNWIND_RBX_UNKNOWN = 1 };

/*
 * On x86-64 the return address is always at CFA - 8. Elsewhere it is at CFA +
 * return_address_offset, or for 0 still in the link register. Only tables with
 * PILOTLIGHT_UNWIND_TELLS_RBX say where the caller's rbx is: at CFA + rbx_offset, or for 0 still in
 * the register. Fields that a kind does not use are 0.
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
	/* Nearly all functions that call others set up a frame pointer. */
	PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS = 1 << 0,
	/*
	 * Rules say where rbx is, because some use it as base. Code that aligns its stack and then
	 * calls does, like the dynamic linker when it binds a function at its first call.
	 */
	PILOTLIGHT_UNWIND_TELLS_RBX = 1 << 1,
};

/*
 * The folder of the cache's tables, in that of its symbols. The number rises when tables are made
 * of more than before, so that all are made anew.
 */
#define PILOTLIGHT_UNWIND_FOLDER "unwind-22"

/* The UNWIND section: one per table. */
struct pilotlight_unwind_summary {
	__u32 first_page;
	__u32 page_count; /* PAGES has one more */
	__u32 line_count;
	__u32 rule_count;
	__u32 escape_count;
	__u32 row_count;	/* in use, STOP rows included */
	__u32 unsupported_rows; /* of kind UNSUPPORTED */
	__u32 function_count;	/* FDEs in the table, and functions of Go */
	__u32 functions_failed; /* those that are malformed, overlap others, or are outside code */
	__u32 flags;
	__u16 machine; /* EM_X86_64 or EM_AARCH64 */
	__u16 reserved;
	__u32 inferred_rows; /* of kind INFERRED */
};
_Static_assert(sizeof(struct pilotlight_unwind_summary) == 48, "padding");
