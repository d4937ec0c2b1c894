/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * Runtime descriptions: where an interpreter keeps the frames of its programs. A symbol worker
 * makes one from the interpreter's binary, and stores it beside the binary's unwind table. Whoever
 * walks such frames interprets the description and knows no version of any runtime. The layout is
 * the same in the file and in the kernel.
 *
 * A thread has a state, to which the anchor leads. The state refers to the innermost frame, and
 * each frame to the one that called it. A frame refers to its code object and to an instruction in
 * it. The code object holds the names and the lines. All of this is in the memory of the process,
 * which may write there what it likes: a walker bounds the number of frames, and proves each
 * object.
 *
 * Fields called `…_at` are offsets in bytes, from the start of the object that their names begin
 * with; PILOTLIGHT_RUNTIME_NONE: there is no such field. Pointers have 8 bytes; the lowest three
 * bits of one to an object may be a tag, and belong to no address.
 *
 * Places are addresses in the binary, relative to its code: file offset f of the code is place f,
 * and data that is linked d bytes behind that code has place f + d. So if the code at file offset f
 * is mapped at address a, place p is at address a - f + p.
 *
 * Ruby has its frames one behind the other, frame_bytes each, from the innermost at the lowest
 * address to the end of the thread's VM stack. A frame refers to an instruction sequence, whose
 * body has the names: code_…_at are offsets in the body. What is the same from Ruby 2.7 to 3.4 is
 * not described; see the sampler (runtime_ruby.bpf.h). code_type_place is that of the address of
 * the names of symbols, by which methods in C have names, and group_least the greatest symbol that
 * is an operator; both are 0 if they are not known.
 *
 * PHP without threads has one state for the whole process: the anchor is the word that points to
 * the innermost frame. With threads the anchor is a variable of each thread, which points to the
 * thread's block: the thread pointer is there at state_thread_at, and what points to the innermost
 * frame is state_frame_at behind the place that the word at code_type_place says, in bytes from the
 * block. A frame refers to a function, the code object. Of a function in PHP there
 * are the file's name at code_file_at, the first line at code_first_line_at, the instructions at
 * code_units_at, and their number at code_lines_at. A generator points to its frame at
 * coroutine_frame_at, and to the generator that it awaits at task_coroutine_at; at state_mark_at it
 * has the frame that stands for it while it awaits, and at coroutine_state_at a byte whether it
 * runs. Of PHP 8.0 these are 0. All other fields are 0. What is the same from PHP 7.4 to 8.6 is not
 * described; see the sampler (runtime_php.bpf.h).
 *
 * Perl's frames are contexts, in an array for each nesting of its loop. The state is the struct of
 * an interpreter, or without threads, what surrounds the variables. In it, the operation that runs
 * is at state_thread_at, the nesting at state_frame_at, and the statement at state_mark_at. The
 * loop's rest is the function that catches exceptions for it: it calls the loop again for the same
 * group. At code_type_place is the function that runs the main program, of code_units_at bytes. A
 * package has its name at code_name_at, NONE: behind the table of its symbols. All other fields are
 * 0. What is the same from Perl 5.32 to 5.42 is not described; see the sampler
 * (runtime_perl.bpf.h).
 */
#pragma once

#include <linux/types.h>

enum {
	PILOTLIGHT_RUNTIME_VERSION = 2,
	PILOTLIGHT_RUNTIME_NONE = 0xffff,
	PILOTLIGHT_RUNTIME_AT_MAX = 4095, /* the greatest offset */
	/* Bytes of a frame, and of a code object, up to the last of their fields. */
	PILOTLIGHT_RUNTIME_FRAME_MAX = 128,
	PILOTLIGHT_RUNTIME_CODE_MAX = 256,
	PILOTLIGHT_RUNTIME_TAG_BITS = 7,
};

enum pilotlight_runtime_language {
	PILOTLIGHT_RUNTIME_PYTHON = 1,
	PILOTLIGHT_RUNTIME_V8 = 2, /* the rest is as pilotlight/runtime_v8.h says */
	/*
	 * No language: the file has the variable that points to the thread context of OpenTelemetry
	 * (pilotlight/thread_context.h). All fields but the anchor's are 0.
	 */
	PILOTLIGHT_RUNTIME_THREAD_CONTEXT = 3,
	PILOTLIGHT_RUNTIME_RUBY = 4,
	PILOTLIGHT_RUNTIME_HOTSPOT = 5, /* the rest is as pilotlight/runtime_hotspot.h says */
	PILOTLIGHT_RUNTIME_PHP = 6,
	PILOTLIGHT_RUNTIME_PERL = 7,
	PILOTLIGHT_RUNTIME_LANGUAGES,
};

/* How a thread's state is found. The thread pointer is fs on x86-64. */
enum pilotlight_runtime_anchor {
	/* A thread's own variable points to the state. It is at anchor_offset from ... */
	PILOTLIGHT_RUNTIME_TLS = 1,	  /* the thread pointer */
	PILOTLIGHT_RUNTIME_TLS_SLOT = 2,  /* the thread pointer + the word at anchor_place */
	PILOTLIGHT_RUNTIME_TLS_INDEX = 3, /* what __tls_get_addr() returns for anchor_place */
	/* The value of a pthread key is the state. The key's number, of 4 bytes, is ... */
	PILOTLIGHT_RUNTIME_KEY = 4,	   /* at anchor_place */
	PILOTLIGHT_RUNTIME_KEY_BEHIND = 5, /* at anchor_offset from where anchor_place points */
	/* As TLS_SLOT or TLS_INDEX; the TLS descriptor at anchor_place says which. */
	PILOTLIGHT_RUNTIME_TLS_DESCRIPTOR = 6,
	/* The variable at anchor_place points to the state of one thread. Only of Ruby, where the
	 * native stack, which state_thread_at has, tells whose it is, and of PHP. Of Perl the state
	 * is at anchor_place. */
	PILOTLIGHT_RUNTIME_GLOBAL = 7,
	PILOTLIGHT_RUNTIME_ANCHORS,
};

/* Whose layout TLS_INDEX, TLS_DESCRIPTOR, KEY and KEY_BEHIND need. */
enum pilotlight_runtime_libc {
	PILOTLIGHT_RUNTIME_GLIBC = 1,
	PILOTLIGHT_RUNTIME_MUSL = 2,
	PILOTLIGHT_RUNTIME_LIBCS,
};

/* What a frame has at frame_instruction_at. */
enum pilotlight_runtime_instruction {
	PILOTLIGHT_RUNTIME_INDEX = 1,	 /* a signed number of instructions, of 4 bytes */
	PILOTLIGHT_RUNTIME_POINTER = 2,	 /* into the code object, whose instructions follow it */
	PILOTLIGHT_RUNTIME_DISTANCE = 3, /* a signed number of bytes, of 4 bytes */
	PILOTLIGHT_RUNTIME_INSTRUCTIONS,
};

/*
 * The interpreter's loop is a native function, and one call of it may run several frames: a group.
 * A mark is a variable of that call, so its address says which native frame the group belongs to.
 * This says where a group ends, and what its mark is. The mark of an empty group may be elsewhere.
 */
enum pilotlight_runtime_group {
	/* Each frame is a group. The marks are a list, from state_mark_at on. */
	PILOTLIGHT_RUNTIME_GROUP_SINGLE = 1,
	/* A group's outermost frame has a byte other than 0 at frame_group_at. The marks are such a
	 * list. */
	PILOTLIGHT_RUNTIME_GROUP_FLAG = 2,
	/* Behind a group is a frame that runs no function: its mark. It has a byte of at least
	 * group_least at frame_group_at. */
	PILOTLIGHT_RUNTIME_GROUP_FRAME = 3,
	/* Each frame is a group, without a mark. Its native frame is in the code of the loop, and
	 * both are in the same order. */
	PILOTLIGHT_RUNTIME_GROUP_CALL = 4,
	/* The same of groups, whose outermost frame has a flag. The native frame of a group calls
	 * the rest of the loop. */
	PILOTLIGHT_RUNTIME_GROUP_FINISH = 5,
	/* As FINISH, but the rest of the loop's code is as of CALL. */
	PILOTLIGHT_RUNTIME_GROUP_TOP = 6,
	/* As FINISH, but the rest calls the loop, whose calls then run one group. */
	PILOTLIGHT_RUNTIME_GROUP_CATCH = 7,
	PILOTLIGHT_RUNTIME_GROUPS,
};

/* How a code object tells the lines of its instructions. */
enum pilotlight_runtime_lines {
	PILOTLIGHT_RUNTIME_RANGES = 1,	  /* as co_linetable of CPython 3.10 */
	PILOTLIGHT_RUNTIME_LOCATIONS = 2, /* as co_linetable from CPython 3.11 on */
	PILOTLIGHT_RUNTIME_STEPS = 3,	  /* as co_lnotab to CPython 3.9 */
	PILOTLIGHT_RUNTIME_LINE_ENDS = 4, /* struct pilotlight_v8_lines; units are places */
	PILOTLIGHT_RUNTIME_POSITIONS = 5, /* struct pilotlight_runtime_positions */
	/* As a method of Java has them, with the name of its source file before: struct
	 * pilotlight_hotspot_table. */
	PILOTLIGHT_RUNTIME_BYTECODES = 6,
	/* Code that may be of several functions: struct pilotlight_v8_inlined. It has no name and
	 * no line; units are bytes of instructions, or of bytecodes that are interpreted. */
	PILOTLIGHT_RUNTIME_INLINED = 7,
	/* The number of an instruction is its line. The table, if there is one, is the name of the
	 * function's class: a struct pilotlight_runtime_text, and zeros. */
	PILOTLIGHT_RUNTIME_LINE_NUMBERS = 8,
	PILOTLIGHT_RUNTIME_LINE_TABLES,
};

/* Bits of a string's state. */
enum pilotlight_runtime_string {
	PILOTLIGHT_RUNTIME_STRING_WIDTHS = 7 << 2,  /* bytes of a character, times 4: 1, 2 or 4 */
	PILOTLIGHT_RUNTIME_STRING_COMPACT = 1 << 5, /* the characters are in the object */
	PILOTLIGHT_RUNTIME_STRING_ASCII = 1 << 6,
};

struct pilotlight_runtime {
	__u16 version;	    /* PILOTLIGHT_RUNTIME_VERSION */
	__u8 language;	    /* enum pilotlight_runtime_language */
	__u8 anchor;	    /* enum pilotlight_runtime_anchor */
	__u32 release;	    /* of the runtime; for CPython, PY_VERSION_HEX */
	__u8 libc;	    /* enum pilotlight_runtime_libc; 0: not needed */
	__u8 instruction;   /* enum pilotlight_runtime_instruction */
	__u8 unit_bytes;    /* of an instruction */
	__u8 group;	    /* enum pilotlight_runtime_group */
	__u8 group_least;   /* of GROUP_FRAME; of Ruby, see above; else 0 */
	__u8 lines;	    /* enum pilotlight_runtime_lines */
	__u8 frame_bytes;   /* read at once: they have all fields of a frame */
	__u8 line_bytes;    /* of POSITIONS: of an entry; else 0 */
	__s64 anchor_place; /* 0: not needed */
	__s64 anchor_offset;
	__s64 code_type_place; /* of the type of all code objects: the proof of one; else see above
				*/
	/* From GROUP_CALL on: the loop's code. A compiler may have put some of it elsewhere; of
	 * GROUP_FINISH that is the function that it calls. */
	__s64 loop_place, loop_rest_place;
	__u32 loop_bytes, loop_rest_bytes;

	__u16 state_thread_at; /* the thread pointer of the state's thread: the proof of a state.
				* Of GLOBAL: where its native stack begins, and in the word behind
				* the next its size. NONE: the anchor is proof enough. */
	__u16 state_frame_at;  /* points to the innermost frame, or to what points to it at ... */
	__u16 holder_frame_at; /* ... this offset */
	__u16 state_mark_at;
	__u16 mark_next_at;
	__u16 frame_previous_at;
	__u16 frame_code_at;
	__u16 frame_instruction_at;
	__u16 frame_group_at;
	__u16 object_type_at;	  /* of any object */
	__u16 code_file_at;	  /* points to a string */
	__u16 code_name_at;	  /* points to a string */
	__u16 code_first_line_at; /* a signed number of 4 bytes */
	__u16 code_lines_at;	  /* points to a bytes object */
	__u16 code_units_at;	  /* of POINTER: the instructions */
	__u16 string_length_at;	  /* in characters; 8 bytes */
	__u16 string_state_at;	  /* enum pilotlight_runtime_string */
	__u16 string_ascii_at;	  /* the characters, if ASCII; else ... */
	__u16 string_other_at;	  /* ... here */
	__u16 bytes_size_at;	  /* 8 bytes */
	__u16 bytes_data_at;
	__u8 first_line_shift;	 /* of Ruby: bits of a tag in it */
	__u8 string_state_shift; /* of CPython: the bits of its state begin here, in 2 bytes */
	/* Of CPython that has copies of the instructions for threads; else this and code_copies_at
	 * are 0. The number of the copy, of 4 bytes; 0: the instructions of the code object. */
	__u8 frame_copy_at;
	/* Of CPython from 3.12 on: a number, of 4 bytes, which no other code object gets; or 0. */
	__u8 code_version_at;
	__u16 code_copies_at; /* points to how many there are, and behind it their addresses */
	/*
	 * Of CPython from 3.14 on, which keeps the tasks that await a task; else these are 0. A
	 * task has its outermost coroutine, which has its frame inside, and if it waits for another
	 * coroutine, the frame has it on its stack.
	 */
	__u16 state_task_at;	 /* the task that the thread runs */
	__u16 task_coroutine_at; /* points to it */
	__u16 task_awaiter_at;	 /* points to the task that awaits this one, or to a set of them */
	__u16 task_several_at;	 /* a byte: it is a set */
	__u16 coroutine_frame_at;
	__u16 coroutine_state_at; /* a byte */
	__u16 frame_stack_at;	  /* points to the top of the frame's stack */
	__u8 coroutine_waits;	  /* its state, if it waits for a coroutine or a future */
	__u8 stack_awaited_below; /* where the awaited one is: so many bytes below that top */
};
_Static_assert(sizeof(struct pilotlight_runtime) == 128, "padding");

enum {
	PILOTLIGHT_RUNTIME_TEXT_MAX = 128, /* bytes of a name, and of a path */
	PILOTLIGHT_RUNTIME_TABLE_MAX = 4096,
};

/* Bits of pilotlight_runtime_text.flags. */
enum {
	PILOTLIGHT_RUNTIME_TEXT_CUT = 1 << 0,  /* only its beginning, or of a path its end */
	PILOTLIGHT_RUNTIME_TEXT_UTF8 = 1 << 1, /* characters have 1 byte, and are UTF-8's */
};

/* Characters as the runtime has them. */
struct pilotlight_runtime_text {
	__u16 bytes;
	__u8 width; /* of a character: 1, 2 or 4 bytes; Unicode */
	__u8 flags;
	__u8 characters[PILOTLIGHT_RUNTIME_TEXT_MAX]; /* and zeros */
};
_Static_assert(sizeof(struct pilotlight_runtime_text) == 132, "padding");

/*
 * A code object: all that its names and lines are made of. It is copied while its thread stands
 * still, so nothing in it has been freed or moved. `hash` covers all that follows: equal hashes are
 * the same function of the same file, in all processes and on all hosts.
 */
struct pilotlight_runtime_code {
	__u64 hash;
	__u8 language;	  /* enum pilotlight_runtime_language */
	__u8 lines;	  /* enum pilotlight_runtime_lines */
	__u16 line_bytes; /* of the table */
	__s32 first_line;
	__u32 line_bytes_all; /* more than line_bytes: the table is cut */
	__u32 reserved;
	struct pilotlight_runtime_text name, file;
	__u8 table[PILOTLIGHT_RUNTIME_TABLE_MAX]; /* and zeros up to a multiple of 8 bytes */
};
_Static_assert(sizeof(struct pilotlight_runtime_code) == 4384, "padding");

/*
 * A table of POSITIONS begins so. Behind it are Ruby's index, which tells for the position of an
 * instruction how many entries begin up to there (succ_index_table in Ruby's iseq.c), and the
 * entries, which begin with their lines, of 4 bytes.
 */
struct pilotlight_runtime_positions {
	__u32 units;	   /* of the code; the size of the index follows from it */
	__u32 entry_bytes; /* as line_bytes above */
};

enum {
	/* Words for 9 positions each, of 7 bits a position; behind them blocks of 512 positions. */
	PILOTLIGHT_RUNTIME_INDEX_POSITIONS = 54,
	PILOTLIGHT_RUNTIME_INDEX_WORD_POSITIONS = 9,
	PILOTLIGHT_RUNTIME_INDEX_BLOCK_POSITIONS = 512,
	PILOTLIGHT_RUNTIME_INDEX_BLOCK_BYTES = 80,
	PILOTLIGHT_RUNTIME_INDEX_MAX = 48 + 5 * 80, /* bytes; of a longer one there is no table */
	PILOTLIGHT_RUNTIME_INDEX_ROOM = 512,	    /* for the head and such an index */
};

static inline __u32 pilotlight_runtime_index_bytes(__u32 units)
{
	__u32 word = PILOTLIGHT_RUNTIME_INDEX_WORD_POSITIONS;
	__u32 block = PILOTLIGHT_RUNTIME_INDEX_BLOCK_POSITIONS, more;

	if (units < PILOTLIGHT_RUNTIME_INDEX_POSITIONS)
		return (units + word - 1) / word * 8;
	more = units - PILOTLIGHT_RUNTIME_INDEX_POSITIONS;
	return PILOTLIGHT_RUNTIME_INDEX_POSITIONS / word * 8 +
	       (more / block + (more % block != 0)) * PILOTLIGHT_RUNTIME_INDEX_BLOCK_BYTES;
}
