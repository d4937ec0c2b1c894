/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames that only assembler code has.
 */
	.text
/*
 * Stores the caller's stack pointer, and a DWARF expression describes that, as in cryptographic
 * libraries.
 */
	.globl	kept_on_stack
	.type	kept_on_stack, @function
/* void kept_on_stack(unsigned long turns, void (*work)(void)) */
kept_on_stack:
	.cfi_startproc
	mov	%rsp, %rax
	.cfi_def_cfa_register %rax
	push	%rbx
	.cfi_offset %rbx, -16
	push	%rbp
	.cfi_offset %rbp, -24
	mov	%rdi, %rcx
in_rax:
	dec	%rcx
	jnz	in_rax
	sub	$200, %rsp
	and	$-64, %rsp
	mov	%rax, 8(%rsp)
	/* DW_CFA_def_cfa_expression: breg7 + 8, deref, plus_uconst 8 */
	.cfi_escape 0x0f, 0x05, 0x77, 0x08, 0x06, 0x23, 0x08
	mov	%rdi, %rcx
	xor	%ebp, %ebp
in_frame:
	dec	%rcx
	jnz	in_frame
	call	*%rsi
	mov	8(%rsp), %rsi
	.cfi_def_cfa %rsi, 8
	mov	-16(%rsi), %rbp
	mov	-8(%rsi), %rbx
	lea	(%rsi), %rsp
	.cfi_def_cfa_register %rsp
	ret
	.cfi_endproc
	.size	kept_on_stack, . - kept_on_stack

/*
 * void without_rules(unsigned long turns): has no call frame information, and uses %rbp as a
 * number.
 */
	.globl	without_rules
	.type	without_rules, @function
without_rules:
	push	%rbp
	xor	%ebp, %ebp
	sub	$104, %rsp
without_rules_works:
	dec	%rdi
	jnz	without_rules_works
	add	$104, %rsp
	pop	%rbp
	ret
	.size	without_rules, . - without_rules

/*
 * void enter_fiber(void *stack_end, void (*function)(void)) calls the function on another stack, as
 * boost.context does. void leave_fiber(void) ends the function: enter_fiber() returns.
 */
	.globl	enter_fiber
	.type	enter_fiber, @function
enter_fiber:
	push	%rbx
	push	%rbp
	mov	%rsp, stack_before(%rip)
	mov	%rdi, %rsp
	mov	%rsi, %rbx
	lea	fiber_end(%rip), %rbp
	jmp	fiber_start
	.size	enter_fiber, . - enter_fiber
	.type	fiber_start, @function
fiber_start:
	push	%rbp
	jmp	*%rbx
fiber_end:
	xor	%rdi, %rdi
	call	_exit@PLT
	hlt
	.size	fiber_start, . - fiber_start
	.globl	leave_fiber
	.type	leave_fiber, @function
leave_fiber:
	mov	stack_before(%rip), %rsp
	pop	%rbp
	pop	%rbx
	ret
	.size	leave_fiber, . - leave_fiber
	.local	stack_before
	.comm	stack_before, 8, 8

	.section .note.GNU-stack, "", @progbits
