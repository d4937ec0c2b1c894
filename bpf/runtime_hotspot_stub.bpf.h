/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steps out of HotSpot's stubs, whose blobs do not tell where a frame begins:
 *
 * - Adapters between compiled and interpreted code move arguments, and with them the return
 *   address, and go on to the method. Their instructions tell where it is.
 * - Those that find a method in the table of a class or an interface have no frame.
 * - Others that are interrupted push registers. They return behind a call of their first
 *   instruction.
 * - The one that compiled methods call at their entry keeps a word between the frame pointer and
 *   the return address.
 *
 * All else is walked as any generated code. It also compiles for the host.
 */
#pragma once

#include "runtime_hotspot.bpf.h"

#define HOTSPOT_NAME_ADAPTER  0x204932432f433249ULL /* "I2C/C2I …" */
#define HOTSPOT_NAME_ROUTINES 0x74756f5262757453ULL /* "StubRout…": many stubs in one blob */
#define HOTSPOT_NAME_TABLE    0x6320656c62617476ULL /* "vtable c…" */

enum {
	PT_REGS_RAX = 10,
	CODE_PUSH_RAX = 0x50,
	CODE_STORE_RAX = 0x24048948,	/* mov %rax, (%rsp) */
	CODE_ALIGN_RSP = 0xf0e48348U,	/* and $-16, %rsp */
	CODE_MOV_RSP_R13 = 0xec8b4c,	/* mov %rsp, %r13 */
	CODE_POP_MOV_R13 = 0xec8b4c58U, /* pop %rax; mov %rsp, %r13 */
	CODE_LEA_R13 = 0x246c8d4c,	/* lea 8(%rsp), %r13, but for the 8 */
	CODE_POP_R8 = 0x5841,		/* the low three bits of the second byte are the register */
	HOTSPOT_MOVES = 4, /* instructions that may come before the return address is put back */
	HOTSPOT_ADAPTER_WORDS = 16, /* of code before the instruction */
	HOTSPOT_STUB_WORDS = 16,    /* of the stack, where a stub's return address is looked for */
	HOTSPOT_ARGUMENTS = 2,	    /* that are on the stack when a stub returns */
};
#define HOTSPOT_NO_CODE (1ULL << 60)

/* Is the adapter's return address in rax? It is until it is put below the arguments. */
static __always_inline int hotspot_is_moving(__u64 ip)
{
	__u64 code;

	for (__u32 i = 0; i < HOTSPOT_MOVES; i++) {
		if (!can_read_own_user(&code, 1, ip))
			return 0;
		if ((code & 0xff) == CODE_PUSH_RAX || (code & 0xffffffff) == CODE_STORE_RAX)
			return 1;
		if ((code & 0xffffff) == CODE_SUB_RSP_32)
			ip += CODE_LONG_BYTES;
		else if ((code & 0xffffff) == CODE_SUB_RSP_8 ||
			 (code & 0xffffffff) == CODE_ALIGN_RSP)
			ip += CODE_SHORT_BYTES;
		else if ((code & 0xffffff) == CODE_MOV_RSP_R13)
			ip += 3;
		else
			return 0;
	}
	return 0;
}

/* Has the adapter kept the caller's stack pointer in r13? */
static __always_inline int hotspot_has_sender(const struct hotspot_blob *blob, __u64 ip)
{
	const struct hotspot_codes pop = { CODE_POP_MOV_R13, HOTSPOT_NO_CODE },
				   lea = { CODE_LEA_R13, HOTSPOT_NO_CODE };

	return hotspot_is_behind(blob, ip, HOTSPOT_ADAPTER_WORDS, &pop, &lea);
}

/* Out of an adapter. An interpreted caller repairs its stack pointer itself. */
static __always_inline int hotspot_leave_adapter(struct walk *walk, const struct hotspot_blob *blob)
{
	__u64 target, sender = walk->sp;

	if (walk->registers_kind != REGISTERS_PT_REGS)
		return HOTSPOT_OTHER;
	walk->read_more = 1;
	if (hotspot_is_moving(walk->ip)) {
		if (!can_read_pt_regs(walk, &target, 1, PT_REGS_RAX))
			return PILOTLIGHT_WALK_UNREADABLE;
	} else {
		if (!can_read_own_user(&target, 1, walk->sp))
			return PILOTLIGHT_WALK_UNREADABLE;
		sender += HOTSPOT_WORD;
	}
	if (hotspot_has_sender(blob, walk->ip) &&
		(!can_read_pt_regs(walk, &sender, 1, PT_REGS_R13) ||
			sender - walk->sp >= HOTSPOT_STACK_MAX || sender % HOTSPOT_WORD != 0))
		return PILOTLIGHT_WALK_NO_FUNCTION;
	return hotspot_return(walk, target, sender);
}

/* Where the return address of a stub is that was interrupted: the first word on the stack that is
 * behind a call of its first instruction. 0: none. */
static __always_inline __u64 hotspot_find_return(
	struct walk *walk, const struct hotspot_blob *blob, __u64 *ret_ip)
{
	__u64 place = walk->sp, target;

	for (__u32 i = 0; i < HOTSPOT_STUB_WORDS; i++, place += HOTSPOT_WORD) {
		if (!can_read_own_user(ret_ip, 1, place))
			return 0;
		if (is_return_address(walk, *ret_ip, &target) && target == blob->code)
			return place;
	}
	return 0;
}

/* How many bytes of arguments the code at `ip` takes off the stack. */
static __always_inline __u64 hotspot_popped(__u64 ip)
{
	__u64 code, bytes = 0;

	if (!can_read_own_user(&code, 1, ip))
		return 0;
	for (__u32 i = 0; i < HOTSPOT_ARGUMENTS; i++) {
		if ((code & 0xf8ff) == CODE_POP_R8)
			code >>= 16;
		else if ((code & 0xf8) == CODE_POP && (code & 0xff) != CODE_POP_RBP)
			code >>= 8;
		else
			break;
		bytes += HOTSPOT_WORD;
	}
	return bytes;
}

static __always_inline int hotspot_leave_interrupted(
	struct walk *walk, const struct hotspot_blob *blob)
{
	__u64 ip, place = hotspot_find_return(walk, blob, &ip), fp;

	if (!place)
		return HOTSPOT_OTHER;
	walk->read_more = 1;
	/* It may keep frame pointers. */
	if (read_saved(walk, &walk->fp, &fp) && fp + HOTSPOT_WORD == place &&
		!can_read_own_user(&walk->fp.word, 1, fp))
		walk->fp.kind = SAVED_UNKNOWN;
	return hotspot_return(walk, ip, place + HOTSPOT_WORD + hotspot_popped(ip));
}

/* Out of a stub that has called the library. */
static __always_inline int hotspot_leave_barrier(struct walk *walk)
{
	__u64 words[3], fp;

	if (!read_saved(walk, &walk->fp, &fp) || fp < walk->sp ||
		!can_read_own_user(words, 3, fp) || words[1] != ~0ULL)
		return HOTSPOT_OTHER;
	walk->read_more = 1;
	walk->fp.word = words[0];
	return hotspot_return(walk, words[2], fp + sizeof(words));
}

/* Out of a stub without a frame size, or that was interrupted. */
static __always_inline int hotspot_leave_stub(struct walk *walk, const struct hotspot_blob *blob)
{
	__u64 target;

	if (!walk->is_exact)
		return hotspot_leave_barrier(walk);
	if (blob->name_text == HOTSPOT_NAME_ADAPTER)
		return hotspot_leave_adapter(walk, blob);
	if (blob->name_text == HOTSPOT_NAME_ROUTINES)
		return HOTSPOT_OTHER;
	if (blob->name_text != HOTSPOT_NAME_TABLE)
		return hotspot_leave_interrupted(walk, blob);
	walk->words_read = 1;
	return can_read_own_user(&target, 1, walk->sp)
		       ? hotspot_return(walk, target, walk->sp + HOTSPOT_WORD)
		       : PILOTLIGHT_WALK_UNREADABLE;
}
