/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steps out of HotSpot's generated code, as its description says (pilotlight/runtime_hotspot.h). No
 * version of HotSpot is known here. The map of segments leads from the instruction to the blob that
 * it belongs to:
 *
 * - A compiled method has frames of one size. The return address and, below it, the caller's frame
 *   pointer are at the end of the frame, whether the code keeps frame pointers or not. Only a leaf
 *   may be in its prologue or its epilogue, and its instructions tell which.
 * - The interpreter's frames keep the frame pointer, and where the caller's stack pointer was: a
 *   call from compiled code moves the arguments below the caller's frame.
 * - Stubs with frames of one size, that have called something, are as compiled methods. Of the
 *   others, runtime_hotspot_stub.bpf.h knows some.
 *
 * Only of the current task. The memory belongs to the process, and may say anything: each blob is a
 * bounded number of reads, and a return address that no call is before leads into the interpreter
 * or nowhere. It also compiles for the host.
 */
#pragma once

#include "branchless.bpf.h"
#include "epilogue.bpf.h"
#include "remembered_walk.bpf.h"
#include "walk_step.bpf.h"

#include "pilotlight/runtime_hotspot.h"

enum {
	HOTSPOT_HEAPS_MAX = 4, /* a power of two; HotSpot has three at most */
	/* From an instruction to its block. The interpreter's needs twelve. */
	HOTSPOT_HOPS_MAX = 24,
	HOTSPOT_MAP_FREE = 0xff,
	HOTSPOT_MAP_SHIFT_MAX = 20,
	HOTSPOT_WORD = sizeof(__u64),
	HOTSPOT_WORDS = PILOTLIGHT_HOTSPOT_BLOCK_MAX / HOTSPOT_WORD,
	HOTSPOT_FRAME_WORDS_MAX = 1 << 17,
	HOTSPOT_NO_FRAME = ~0U, /* in place of its words, of stubs that C1's code calls */
	/* Of the interpreter: from its stack pointer to its frame pointer, or of arguments. */
	HOTSPOT_STACK_MAX = 1 << 20,
	HOTSPOT_PROLOGUE_WORDS = 8, /* of code before the instruction, where the frame is made */
	PT_REGS_R13 = 2,
};

#define HOTSPOT_NAME_METHOD	 0x00646f6874656d6eULL /* "nmethod" */
#define HOTSPOT_NAME_NATIVE	 0x6e2065766974616eULL /* "native n…" */
#define HOTSPOT_NAME_INTERPRETER 0x6572707265746e49ULL /* "Interpre…" */
#define HOTSPOT_NAME_CARRIER	 0x61756e69746e6f63ULL /* "…continua…" */

struct hotspot_heap {
	__u64 low, high;
	__u64 map;
	__u64 shift; /* of a segment */
};

/* What is known about the process. Nothing of it changes. */
struct hotspot {
	struct hotspot_heap heaps[HOTSPOT_HEAPS_MAX];
	__u64 interpreter, interpreter_end;
	__u64 method_name; /* the address of the name of compiled methods */
	__u32 heap_count;
	/* In this walk: */
	__u32 has_looked;
	__u64 found_ip;	  /* what the blob was read for; 0: it does not say what is there */
	__u32 found_kind; /* enum hotspot_kind */
	__u32 reserved;
};

enum hotspot_kind { HOTSPOT_NONE, HOTSPOT_METHOD, HOTSPOT_INTERPRETER, HOTSPOT_STUB };

/* The blob that was found last. */
struct hotspot_blob {
	__u64 begin, end; /* the block */
	__u64 code;
	__u64 complete; /* from where on in the code the frame is complete */
	__u64 frame_bytes;
	__u64 method;
	__u64 name, name_text;	    /* of a stub: the address, and the first characters */
	__u64 words[HOTSPOT_WORDS]; /* what was read last */
};

/* In place of WALK_ON or a walk's end: a step as out of any generated code. */
enum { HOTSPOT_OTHER = -5 };

/* --- Reads --- */

static __always_inline int hotspot_read(struct walk *walk, __u64 *word, __u64 address)
{
	return address && can_read_own_user(word, 1, address);
}

/* A field of 8, 4 or 2 bytes of what was read last. The asm keeps the compiler from removing the
 * bound. */
static __always_inline __u64 hotspot_word(const struct hotspot_blob *blob, __u32 at)
{
	at &= PILOTLIGHT_HOTSPOT_BLOCK_MAX - 8;
	__asm__ volatile("" : "+r"(at));
	return *(const __u64 *)((const __u8 *)blob->words + at);
}

static __always_inline __u32 hotspot_number(const struct hotspot_blob *blob, __u32 at)
{
	at &= PILOTLIGHT_HOTSPOT_BLOCK_MAX - 4;
	__asm__ volatile("" : "+r"(at));
	return *(const __u32 *)((const __u8 *)blob->words + at);
}

static __always_inline __u32 hotspot_short(const struct hotspot_blob *blob, __u32 at)
{
	at &= PILOTLIGHT_HOTSPOT_BLOCK_MAX - 2;
	__asm__ volatile("" : "+r"(at));
	return *(const __u16 *)((const __u8 *)blob->words + at);
}

/* --- Code --- */

static __always_inline int hotspot_read_heap(struct walk *walk,
	const struct pilotlight_runtime_hotspot *runtime, __u64 address, struct hotspot_heap *heap)
{
	__u64 bounds[2];

	if (!address || !can_read_own_user(bounds, 2, address + runtime->heap_memory_at) ||
		!can_read_own_user(&heap->map, 1, address + runtime->heap_map_at) ||
		!can_read_own_user(&heap->shift, 1, address + runtime->heap_shift_at))
		return 0;
	heap->low = bounds[0];
	heap->high = bounds[1];
	heap->shift &= 0xffffffff;
	return heap->low != 0 && heap->low < heap->high && heap->map != 0 &&
	       heap->shift <= HOTSPOT_MAP_SHIFT_MAX;
}

/* The heaps stay where they are, but are not made all at once. */
static __always_inline void hotspot_read_heaps(struct walk *walk, struct hotspot *hotspot,
	const struct pilotlight_runtime_hotspot *runtime, __u64 base)
{
	__u64 heaps, heap, count = 1, data = 0;

	hotspot->heap_count = 0;
	if (!hotspot_read(walk, &heaps, base + (__u64)runtime->heaps_place) || !heaps)
		return;
	if (!(runtime->flags & PILOTLIGHT_HOTSPOT_ONE_HEAP) &&
		(!hotspot_read(walk, &count, heaps + runtime->array_length_at) ||
			!hotspot_read(walk, &data, heaps + runtime->array_data_at)))
		return;
	count &= 0xffffffff;
	for (__u32 i = 0; i < HOTSPOT_HEAPS_MAX && i < count; i++) {
		heap = heaps;
		if (data && !hotspot_read(walk, &heap, data + i * HOTSPOT_WORD))
			return;
		if (!hotspot_read_heap(walk, runtime, heap, &hotspot->heaps[i]))
			return;
		hotspot->heap_count = i + 1;
	}
}

static __always_inline const struct hotspot_heap *hotspot_find_heap(
	const struct hotspot *hotspot, __u64 ip)
{
	for (__u32 i = 0; i < HOTSPOT_HEAPS_MAX; i++)
		if (i < hotspot->heap_count && ip >= hotspot->heaps[i].low &&
			ip < hotspot->heaps[i].high)
			return &hotspot->heaps[i];
	return 0;
}

/* The address of the block that `ip` lies in; 0: none. */
static __always_inline __u64 hotspot_find_block(
	struct walk *walk, const struct hotspot_heap *heap, __u64 ip)
{
	__u64 shift = heap->shift & 31, segment = (ip - heap->low) >> shift, word, hop;

	for (__u32 i = 0; i < HOTSPOT_HOPS_MAX; i++) {
		__u64 at = heap->map + segment;

		if (!can_read_own_user(&word, 1, at & ~(HOTSPOT_WORD - 1ULL)))
			return 0;
		hop = word >> (at & (HOTSPOT_WORD - 1)) * 8 & 0xff;
		if (hop == 0)
			return heap->low + (segment << shift);
		if (hop == HOTSPOT_MAP_FREE || hop > segment)
			return 0;
		segment -= hop;
	}
	return 0;
}

/* Reads the blob in the block. Returns 0 if `ip` is not in its code. */
static __always_inline int hotspot_read_blob(struct walk *walk, struct hotspot_blob *blob,
	const struct pilotlight_runtime_hotspot *runtime, __u64 block, __u64 ip)
{
	__u32 at = runtime->block_bytes;
	__u64 words;

	if (!block || !can_read_own_user(blob->words, HOTSPOT_WORDS, block))
		return 0;
	blob->begin = block;
	blob->end = block + at + hotspot_number(blob, at + runtime->blob_size_at);
	words = hotspot_number(blob, at + runtime->blob_frame_at);
	blob->frame_bytes = words == HOTSPOT_NO_FRAME ? 0 : words * HOTSPOT_WORD;
	blob->complete = runtime->flags & PILOTLIGHT_HOTSPOT_SHORT_COMPLETE
				 ? hotspot_short(blob, at + runtime->blob_complete_at)
				 : hotspot_number(blob, at + runtime->blob_complete_at);
	blob->code = runtime->flags & PILOTLIGHT_HOTSPOT_CODE_OFFSET
			     ? block + at + hotspot_number(blob, at + runtime->blob_code_at)
			     : hotspot_word(blob, at + runtime->blob_code_at);
	blob->method = hotspot_word(blob, at + runtime->blob_method_at);
	/* The byte says whether the block is in use. */
	return (hotspot_number(blob, runtime->block_used_at & ~3U) >>
			       (runtime->block_used_at & 3) * 8 &
		       0xff) == 1 &&
	       blob->code > block && ip >= blob->code && ip < blob->end &&
	       blob->frame_bytes < HOTSPOT_FRAME_WORDS_MAX * HOTSPOT_WORD;
}

static __always_inline enum hotspot_kind hotspot_kind_of(struct walk *walk, struct hotspot *hotspot,
	struct hotspot_blob *blob, const struct pilotlight_runtime_hotspot *runtime)
{
	__u64 name = hotspot_word(blob, runtime->block_bytes + runtime->blob_name_at), text;

	if (name && name == hotspot->method_name)
		return HOTSPOT_METHOD;
	if (!hotspot_read(walk, &text, name))
		return HOTSPOT_NONE;
	if (text == HOTSPOT_NAME_METHOD)
		hotspot->method_name = name;
	if (text == HOTSPOT_NAME_METHOD || text == HOTSPOT_NAME_NATIVE)
		return HOTSPOT_METHOD;
	if (text != HOTSPOT_NAME_INTERPRETER) {
		blob->name = name;
		blob->name_text = text;
		return HOTSPOT_STUB;
	}
	hotspot->interpreter = blob->code;
	hotspot->interpreter_end = blob->end;
	return HOTSPOT_INTERPRETER;
}

static __always_inline int hotspot_is_interpreter(const struct hotspot *hotspot, __u64 ip)
{
	return ip - hotspot->interpreter < hotspot->interpreter_end - hotspot->interpreter;
}

/* What code is at `ip`? Fills the blob, but for the interpreter. Only a stub has a name. */
static __always_inline enum hotspot_kind hotspot_find(struct walk *walk, struct hotspot *hotspot,
	struct hotspot_blob *blob, const struct pilotlight_runtime_hotspot *runtime, __u64 ip)
{
	const struct hotspot_heap *heap;

	blob->name = 0;
	if (hotspot_is_interpreter(hotspot, ip))
		return HOTSPOT_INTERPRETER;
	heap = hotspot_find_heap(hotspot, ip);
	if (!heap && !hotspot->has_looked) {
		hotspot->has_looked = 1;
		hotspot_read_heaps(walk, hotspot, runtime, walk->hotspot.base);
		heap = hotspot_find_heap(hotspot, ip);
	}
	if (!heap ||
		!hotspot_read_blob(walk, blob, runtime, hotspot_find_block(walk, heap, ip), ip))
		return HOTSPOT_NONE;
	return hotspot_kind_of(walk, hotspot, blob, runtime);
}

/* --- Leaves --- */

enum {
	CODE_POP_RBP = 0x5d,
	CODE_SUB_RSP_8 = 0xec8348,	 /* the bytes 48 83 ec, then a byte */
	CODE_SUB_RSP_32 = 0xec8148,	 /* 48 81 ec, then four bytes */
	CODE_SAVE_RBP_8 = 0x246c8948,	 /* mov %rbp, 1(%rsp) */
	CODE_SAVE_RBP_32 = 0x24ac8948U,	 /* mov %rbp, 1000(%rsp) */
	CODE_CMP_RSP_R15_8 = 0x673b49,	 /* cmp 1(%r15), %rsp */
	CODE_CMP_RSP_R15 = 0xa73b49,	 /* cmp 1000(%r15), %rsp */
	CODE_LOAD_R10_R15 = 0x978b4d,	 /* mov 1000(%r15), %r10 */
	CODE_TEST_R10_RET = 0xc3028541U, /* test %eax, (%r10); ret */
	CODE_JA = 0x870f,
	CODE_TEST_RIP = 0x0585, /* test %eax, 1000(%rip) */
	/* Of an instruction with a displacement or a number of 1 or 4 bytes. */
	CODE_SHORT_BYTES = 4,
	CODE_LONG_BYTES = 7,
};

/* Is a ret next, maybe behind a safepoint poll? */
static __always_inline int hotspot_returns(struct walk *walk, __u64 ip, __u64 code)
{
	__u64 next;
	int is_short;

	if ((code & 0xff) == CODE_RET)
		return 1;
	if ((code & 0xffff) == CODE_JA || (code & 0xffff) == CODE_TEST_RIP)
		return (code >> 48 & 0xff) == CODE_RET;
	if ((code & 0xffffffff) == CODE_TEST_R10_RET)
		return 1;
	is_short = (code & 0xffffff) == CODE_CMP_RSP_R15_8;
	if ((!is_short && (code & 0xffffff) != CODE_CMP_RSP_R15 &&
		    (code & 0xffffff) != CODE_LOAD_R10_R15) ||
		!can_read_own_user(&next, 1, ip + (is_short ? CODE_SHORT_BYTES : CODE_LONG_BYTES)))
		return 0;
	return (next & 0xffffffff) == CODE_TEST_R10_RET ||
	       ((next & 0xffff) == CODE_JA && (next >> 48 & 0xff) == CODE_RET);
}

/* One instruction of 4 bytes, and one of 7. A larger number stands for no instruction. */
struct hotspot_codes {
	__u64 shorter, longer;
};

/* Those that take so much from the stack pointer; the first one has a byte for it. */
static __always_inline void hotspot_set_subs(struct hotspot_codes *subs, __u64 bytes)
{
	/* Of more than a byte no code of 4 bytes has anything. */
	subs->shorter = CODE_SUB_RSP_8 | (bytes < 0x80 ? bytes : 1ULL << 32) << 24;
	subs->longer = CODE_SUB_RSP_32 | bytes << 24;
}

/* 1 if the code begins with one of them. */
static __always_inline __u32 hotspot_begins_with(__u64 code, const struct hotspot_codes *codes)
{
	return are_equal(code & 0xffffffff, codes->shorter) |
	       are_equal(code & 0xffffffffffffff, codes->longer);
}

/* Is one of these instructions in the last `words` words of the blob's code before `ip`? */
static __always_inline int hotspot_is_behind(const struct hotspot_blob *blob, __u64 ip, __u32 words,
	const struct hotspot_codes *some, const struct hotspot_codes *others)
{
	__u64 word, next = 0;
	__u32 is_found = 0;

	/* Backwards; `next` has the eight bytes behind. */
	for (__u32 i = 0; i < words; i++) {
		__u64 at = ip - (i + 1) * HOTSPOT_WORD;

		if (at + HOTSPOT_WORD <= blob->code || !can_read_own_user(&word, 1, at))
			return 0;
		for (__u32 byte = 0; byte < HOTSPOT_WORD; byte++) {
			__u64 code = word >> byte * 8;

			if (byte)
				code |= next << (HOTSPOT_WORD - byte) * 8;
			is_found |= is_at_most(blob->code, at + byte) &
				    (hotspot_begins_with(code, some) |
					    hotspot_begins_with(code, others));
		}
		if (is_found)
			return 1;
		next = word;
	}
	return 0;
}

/* Has the prologue made the frame before `ip`? By the instruction that does, in the code before. */
static __always_inline int hotspot_has_frame(const struct hotspot_blob *blob, __u64 ip)
{
	__u64 pushed = blob->frame_bytes - 2 * HOTSPOT_WORD;
	struct hotspot_codes behind_push, alone;

	hotspot_set_subs(&behind_push, pushed);
	hotspot_set_subs(&alone, pushed + HOTSPOT_WORD);
	return hotspot_is_behind(blob, ip, HOTSPOT_PROLOGUE_WORDS, &behind_push, &alone);
}

enum { HOTSPOT_FP_KEPT = 1 << 0 }; /* the register still is the caller's */

/*
 * How far above the stack pointer a leaf's return address is, times two; the lowest bit says that
 * the frame pointer is still the caller's. Else that is right below the return address.
 */
static __always_inline __u32 hotspot_leaf(struct walk *walk, const struct hotspot_blob *blob)
{
	__u32 whole = (__u32)blob->frame_bytes - HOTSPOT_WORD;
	__u64 ip = walk->ip, code, before;

	if (!can_read_own_user(&code, 1, ip) || !can_read_own_user(&before, 1, ip - HOTSPOT_WORD))
		return 2 * whole;
	if (hotspot_returns(walk, ip, code))
		return HOTSPOT_FP_KEPT;
	/* Behind add $…, %rsp. */
	if ((code & 0xff) == CODE_POP_RBP &&
		((before >> 32 & 0xffffff) == CODE_ADD_RSP_8 ||
			(before >> 8 & 0xffffff) == CODE_ADD_RSP_32 || whole == HOTSPOT_WORD))
		return 2 * HOTSPOT_WORD;
	if (ip - blob->code >= blob->complete)
		return 2 * whole;
	if ((code & 0xff) == CODE_PUSH_RBP)
		return HOTSPOT_FP_KEPT;
	if (before >> 56 == CODE_PUSH_RBP || (before >> 32 & 0xffffffff) == 0xec8b4855U)
		return 2 * HOTSPOT_WORD;
	if ((code & 0xffffffff) == CODE_SAVE_RBP_8 || (code & 0xffffffff) == CODE_SAVE_RBP_32)
		return 2 * whole | HOTSPOT_FP_KEPT;
	return hotspot_has_frame(blob, ip) ? 2 * whole : HOTSPOT_FP_KEPT;
}

/* --- Steps --- */

/* Goes to the caller at `ip`. What comes back from a call is behind one, or in the interpreter. */
static __always_inline int hotspot_return(struct walk *walk, __u64 ip, __u64 sp)
{
	__u64 target;
	enum return_address found = is_return_address(walk, ip, &target);
	int end;

	walk->rbx.kind = SAVED_UNKNOWN;
	end = go_to_caller(walk, ip, sp);
	note_doubt(walk, found);
	return end;
}

/* In place of what hotspot_leaf() returns. */
enum { HOTSPOT_NOWHERE = ~0U };

/* Where the return address of a compiled method is, or of a stub that has called something, as of
 * hotspot_leaf(). Methods without a frame jump to others, such as MethodHandle.invokeBasic(). */
static __always_inline __u32 hotspot_up(
	struct walk *walk, const struct hotspot_blob *blob, enum hotspot_kind kind)
{
	if (walk->is_exact && kind == HOTSPOT_METHOD && blob->frame_bytes < 2 * HOTSPOT_WORD)
		return HOTSPOT_FP_KEPT;
	if (blob->frame_bytes < 2 * HOTSPOT_WORD || (walk->is_exact && kind != HOTSPOT_METHOD))
		return HOTSPOT_NOWHERE;
	return walk->is_exact ? hotspot_leaf(walk, blob)
			      : 2 * (__u32)(blob->frame_bytes - HOTSPOT_WORD);
}

static __always_inline int hotspot_leave(struct walk *walk, __u32 up, enum hotspot_kind kind)
{
	__u64 words[2], at = walk->sp + up / 2;

	if (up == HOTSPOT_NOWHERE)
		return kind == HOTSPOT_METHOD ? PILOTLIGHT_WALK_NO_FUNCTION : HOTSPOT_OTHER;
	walk->words_read = up & HOTSPOT_FP_KEPT ? 1 : 2;
	if (!can_read_own_user(words + 1, 1, at) ||
		(walk->words_read == 2 && !can_read_own_user(words, 1, at - HOTSPOT_WORD)))
		return PILOTLIGHT_WALK_UNREADABLE;
	if (walk->words_read == 2) {
		walk->fp.word = words[0];
		walk->fp.kind = SAVED_VALUE;
	}
	return hotspot_return(walk, words[1], at + HOTSPOT_WORD);
}

/*
 * Where the caller's stack pointer was when it called: it may not be below the frame. Methods such
 * as MethodHandle.linkToStatic() take their last argument off the stack before they go on to
 * another method. If that one has no variables but its arguments, its return address is where the
 * stack pointer was.
 */
static __always_inline int hotspot_is_sender(__u64 *sender, __u64 least)
{
	if (*sender + HOTSPOT_WORD == least)
		*sender = least;
	return *sender >= least && *sender - least < HOTSPOT_STACK_MAX &&
	       *sender % HOTSPOT_WORD == 0;
}

/*
 * Has an interpreted method, whose frame is at `fp`, called another one that has no frame yet? Then
 * r13 is the caller's stack pointer, and not a place in the bytecode. Reads r13 into the first
 * word, and the return address into the last.
 */
static __always_inline int hotspot_is_entered(
	struct walk *walk, const struct hotspot *hotspot, __u64 fp, __u64 words[3])
{
	__u64 least = walk->sp + HOTSPOT_WORD;

	return walk->registers_kind == REGISTERS_PT_REGS &&
	       can_read_pt_regs(walk, words, 1, PT_REGS_R13) && fp >= least &&
	       words[0] - least <= fp - least && words[0] % HOTSPOT_WORD == 0 &&
	       can_read_own_user(words + 2, 1, walk->sp) &&
	       hotspot_is_interpreter(hotspot, words[2]);
}

/*
 * Out of the interpreter. Where it enters a method, it has no frame yet: the return address is on
 * top, and r13 is the caller's stack pointer. It pushes r13 right behind the caller's frame
 * pointer, so from then on the frame can be left, also before the rest is pushed. Sets *ret_fp to
 * the frame pointer, or 0.
 */
static __always_inline int hotspot_step_interpreted(struct walk *walk,
	const struct hotspot *hotspot, const struct pilotlight_runtime_hotspot *runtime,
	__u64 *ret_fp)
{
	__u64 fp, words[3];

	walk->read_more = 1;
	*ret_fp = 0;
	if (read_saved(walk, &walk->fp, &fp) && fp >= walk->sp &&
		fp - walk->sp < HOTSPOT_STACK_MAX) {
		if (walk->is_exact && hotspot_is_entered(walk, hotspot, fp, words))
			return hotspot_return(walk, words[2], words[0]);
		if ((!walk->is_exact || (__s64)(walk->sp - fp) <= runtime->frame_sender_at) &&
			can_read_own_user(words, 3, fp + (__s64)runtime->frame_sender_at) &&
			hotspot_is_sender(&words[0], fp + 2 * HOTSPOT_WORD)) {
			*ret_fp = fp;
			walk->fp.word = words[1];
			walk->fp.kind = SAVED_VALUE;
			return hotspot_return(walk, words[2], words[0]);
		}
	}
	if (!walk->is_exact || walk->registers_kind != REGISTERS_PT_REGS ||
		!can_read_pt_regs(walk, words, 1, PT_REGS_R13) ||
		!hotspot_is_sender(&words[0], walk->sp + HOTSPOT_WORD) ||
		!can_read_own_user(words + 2, 1, walk->sp))
		return PILOTLIGHT_WALK_NO_FUNCTION;
	return hotspot_return(walk, words[2], words[0]);
}

enum {
	/* What is at a continuation's entry, before the frame pointer and the return address
	 * (ContinuationEntry of JDK 19 to 28), and how many words of arguments may be below. */
	HOTSPOT_ENTRY_BYTES = 64,
	HOTSPOT_ENTRY_SEARCH = 8,
	HOTSPOT_CARRIER_NAME_AT = 14, /* of HOTSPOT_NAME_CARRIER in the blob's name */
};

/* Is the stub that was found the one to which virtual threads return? It is of the blob
 * "StubRoutines (continuation stubs)". */
static __always_inline int hotspot_is_carrier_stub(
	struct walk *walk, const struct hotspot_blob *blob)
{
	__u64 text;

	return hotspot_read(walk, &text, blob->name + HOTSPOT_CARRIER_NAME_AT) &&
	       text == HOTSPOT_NAME_CARRIER;
}

/*
 * From a virtual thread to its carrier. While a thread waits, its frames are in the heap. When it
 * goes on, only the innermost come back to the stack at once: they return to a stub, which brings
 * the next. Right above is the entry of the continuation, whose caller is the carrier's: the first
 * return address there. Tries word `at`. Returns HOTSPOT_OTHER if it is none.
 */
static __always_inline int hotspot_go_to_carrier(
	struct walk *walk, const struct hotspot *hotspot, __u32 at)
{
	__u64 words[2], target, place = walk->sp + HOTSPOT_ENTRY_BYTES + at * HOTSPOT_WORD;
	int end;

	walk->read_more = 1;
	if (!can_read_own_user(words, 2, place))
		return PILOTLIGHT_WALK_UNREADABLE;
	/* The interpreter's are behind no call. */
	if (!hotspot_is_interpreter(hotspot, words[1]) &&
		(!hotspot_find_heap(hotspot, words[1]) ||
			!is_return_address(walk, words[1], &target)))
		return HOTSPOT_OTHER;
	walk->rbx.kind = SAVED_UNKNOWN;
	end = go_to_caller(walk, words[1], place + sizeof(words));
	walk->fp.word = words[0];
	walk->fp.kind = SAVED_VALUE;
	return end;
}

/*
 * Is the interpreter, in the leaf, entering a method? Its frame begins `depth` bytes above the
 * stack pointer. While the frame's word for the method lies below the stack pointer, it holds what
 * an earlier call left there, and rbx has the method.
 */
static __always_inline int hotspot_enters(
	const struct pilotlight_runtime_hotspot *runtime, __u64 depth)
{
	return (__s64)depth < -(__s64)runtime->frame_method_at;
}
