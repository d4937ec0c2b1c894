/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main, joined, spin, without call frame information. Where joined() calls, its stack pointer is not known from the
 * code; behind the call it is, because another way leads there. So the return address has a rule, and the call before
 * it has none.
 */
	.globl	main, joined, spin
	.type	main, @function
	.type	joined, @function
	.type	spin, @function
	.text
spin:
	mov	$200000, %eax
0:	dec	%eax
	jnz	0b
	ret
	.size	spin, . - spin

joined:
	push	%r13
	test	%edi, %edi
	je	1f
	mov	%rsp, %r13
	and	$-64, %rsp
	mov	%r13, %rsp
	call	spin
1:	pop	%r13
	ret
	.size	joined, . - joined

main:
	push	%rbx
	mov	$10000, %ebx
2:	mov	$1, %edi
	call	joined
	dec	%ebx
	jnz	2b
	xor	%eax, %eax
	pop	%rbx
	ret
	.size	main, . - main
	.section .note.GNU-stack, "", @progbits
