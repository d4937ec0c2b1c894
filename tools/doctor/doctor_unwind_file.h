/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the stacks of a binary can be unwound, judged by its headers and some of its code. */
#pragma once

enum doctor_unwinding {
	DOCTOR_UNWINDING_NONE,
	DOCTOR_UNWINDING_FRAMES,	 /* .eh_frame or .debug_frame */
	DOCTOR_UNWINDING_FRAME_POINTERS, /* neither, but its functions keep frame pointers */
};

/*
 * The file may be hostile (I8): reads and their number are bounded. The answer about frame pointers
 * is a guess by how functions begin. Returns 0; -ENOEXEC no valid ELF file; -ENODATA no code, or
 * code of another machine; -ENOMEM; another -errno from reading.
 */
int doctor_unwind_file(int fd, enum doctor_unwinding *ret_unwinding);
