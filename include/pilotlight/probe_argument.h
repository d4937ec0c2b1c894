/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * Where a USDT probe's argument is when the probe is hit, in 32 bits. Two of them are the cookie
 * with which a program is attached to a place of a probe.
 *
 * bits 0 to 21: a signed number: a constant, or what is added to a register for an address;
 * 22 to 26: the register, as its index in struct pt_regs; 27 and 28: its bytes, as a power of two;
 * 29: is it signed? 30 and 31: enum pilotlight_argument_kind
 */
#pragma once

#include <linux/types.h>

enum pilotlight_argument_kind {
	PILOTLIGHT_ARGUMENT_NONE,     /* there is none, or it is nowhere that this can tell */
	PILOTLIGHT_ARGUMENT_CONSTANT, /* it is the number */
	PILOTLIGHT_ARGUMENT_REGISTER,
	PILOTLIGHT_ARGUMENT_MEMORY, /* at the register's address plus the number */
};

enum {
	PILOTLIGHT_ARGUMENT_NUMBER_BITS = 22,
	PILOTLIGHT_ARGUMENT_REGISTER_SHIFT = 22,
	PILOTLIGHT_ARGUMENT_SIZE_SHIFT = 27,
	PILOTLIGHT_ARGUMENT_SIGN_SHIFT = 29,
	PILOTLIGHT_ARGUMENT_KIND_SHIFT = 30,
	PILOTLIGHT_ARGUMENT_REGISTERS = 21, /* of struct pt_regs */
};

static inline enum pilotlight_argument_kind pilotlight_argument_kind(__u32 argument)
{
	return (enum pilotlight_argument_kind)(argument >> PILOTLIGHT_ARGUMENT_KIND_SHIFT);
}

static inline __s64 pilotlight_argument_number(__u32 argument)
{
	return (__s32)(argument << (32 - PILOTLIGHT_ARGUMENT_NUMBER_BITS)) >>
	       (32 - PILOTLIGHT_ARGUMENT_NUMBER_BITS);
}

static inline __u32 pilotlight_argument_register(__u32 argument)
{
	return argument >> PILOTLIGHT_ARGUMENT_REGISTER_SHIFT & 0x1f;
}

/* An argument of fewer than 8 bytes, from the 8 bytes where it is. */
static inline __u64 pilotlight_argument_cut(__u32 argument, __u64 value)
{
	__u32 unused = 64 - (8U << (argument >> PILOTLIGHT_ARGUMENT_SIZE_SHIFT & 3));

	if (argument >> PILOTLIGHT_ARGUMENT_SIGN_SHIFT & 1)
		return (__u64)((__s64)(value << unused) >> unused);
	return value << unused >> unused;
}
