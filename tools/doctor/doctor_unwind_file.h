/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the stacks of a binary can be unwound, as far as its headers and some of its code tell. */
#pragma once

enum doctor_unwinding {
	DOCTOR_UNWINDING_NONE,
	DOCTOR_UNWINDING_FRAMES,	 /* .eh_frame or .debug_frame */
	DOCTOR_UNWINDING_FRAME_POINTERS, /* none of these, but its functions keep frame pointers */
};

/*
 * The file is hostile (I8): reads are bounded, and so is their number. It need not be right about
 * frame pointers: it looks for how functions begin. Returns 0; -ENOEXEC it is no ELF file that can
 * be made sense of; -ENODATA it has no code, or code of another machine; -ENOMEM; another -errno
 * from reading.
 */
int doctor_unwind_file(int fd, enum doctor_unwinding *ret_unwinding);
