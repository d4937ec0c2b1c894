/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C++, Rust (legacy and v0) and D symbol names as their authors wrote them; by libiberty. Names
 * come out of other people's files (I8), and a few hundred bytes can make libiberty print gigabytes
 * or search for years: the result is bounded, and a name whose cost cannot be bounded stays
 * mangled.
 */
#pragma once

enum {
	DEMANGLE_INPUT_BYTES_MAX = 4096,
	DEMANGLE_OUTPUT_BYTES_MAX = 64 * 1024, /* with the NUL */
};

/*
 * The demangled form of `symbol`, to be freed by the caller; NULL where it is not mangled, where a
 * bound is exceeded or memory is short: then the symbol is its own name. Rust's hash suffix goes.
 *
 * Of D names those stay mangled that have more than 512 bytes, or nest functions and templates
 * deeply; and where memory for a D name is short libiberty ends the process: there are no callbacks
 * for them. Needs up to 4 MiB of stack.
 */
char *demangle(const char *symbol);
