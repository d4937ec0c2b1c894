/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kind of code that a frame is in. It selects the frame's colour and suffix in folded text. */
#pragma once

enum binary_kind {
	BINARY_KERNEL,	   /* vmlinux, a module, a BPF program: _[k] */
	BINARY_EXECUTABLE, /* a process's main program */
	BINARY_LIBRARY,	   /* any other file, and the vdso */
	BINARY_JIT,	   /* executable memory without a file: _[j] */
	BINARY_SYNTHETIC,  /* [lost: …], [truncated: …], [unknown]: shown, but no code */
	BINARY_PYTHON,	   /* code that the interpreter with this build-id runs: _[p] */
	BINARY_JAVASCRIPT, /* the same of V8: _[v] */
	BINARY_RUBY,	   /* the same of Ruby: _[r] */
	BINARY_JAVA,	   /* methods of a JVM, compiled or not: _[j] */
	BINARY_PHP,	   /* functions of PHP: _[h] */
	BINARY_PERL,	   /* subroutines of Perl: _[e] */
	BINARY_KIND_COUNT,
};
