/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/wait_reason.h"

#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define OFFCPU PILOTLIGHT_SOURCE_OFFCPU
#define SLEEPS PILOTLIGHT_WAIT_INTERRUPTIBLE

enum { FRAMES_MAX = 24 };

/* The stack of a user's code, one frame, and of these functions of the kernel, root first. */
static const char *frame_of(
	enum pilotlight_source source, enum pilotlight_wait wait, const char *functions)
{
	const struct raw_sample sample = { .source = source, .wait = wait };
	struct resolved_frame frames[FRAMES_MAX] = { { .address = 0x1000 } };
	size_t count = 1;
	char text[512];
	char *rest = text;

	assert_true(strlen(functions) < sizeof(text));
	strcpy(text, functions);
	for (char *name; (name = strsep(&rest, " ")) && *name; count++) {
		assert_true(count < FRAMES_MAX);
		frames[count] = (struct resolved_frame){ .binary = 1, .name = name };
	}
	return wait_reason_frame(&sample, frames, count);
}

/* As recorded on Linux 6.18, and with functions of other versions. */
static const struct {
	const char *functions, *frame;
} cases[] = {
	{ "do_syscall_64 __x64_sys_futex do_futex futex_wait __futex_wait futex_do_wait "
	  "schedule __schedule",
		"[blocked: futex]" },
	{ "do_syscall_64 __x64_sys_clock_nanosleep common_nsleep_timens hrtimer_nanosleep "
	  "do_nanosleep schedule __schedule",
		"[blocked: sleep]" },
	{ "do_syscall_64 __x64_sys_epoll_wait do_epoll_wait schedule_hrtimeout_range_clock "
	  "schedule __schedule",
		"[blocked: poll]" },
	{ "do_syscall_64 __x64_sys_poll do_sys_poll poll_schedule_timeout.constprop.0 "
	  "schedule_hrtimeout_range_clock schedule __schedule",
		"[blocked: poll]" },
	{ "do_syscall_64 __x64_sys_pselect6 do_pselect.constprop.0 core_sys_select "
	  "do_select "
	  "poll_schedule_timeout.constprop.0 schedule_hrtimeout_range_clock schedule "
	  "__schedule",
		"[blocked: poll]" },
	{ "do_syscall_64 ksys_read vfs_read anon_pipe_read schedule __schedule",
		"[blocked: pipe]" },
	{ "do_syscall_64 ksys_write vfs_write pipe_write schedule __schedule", "[blocked: pipe]" },
	{ "do_syscall_64 __x64_sys_openat do_sys_openat2 do_filp_open path_openat vfs_open "
	  "do_dentry_open fifo_open wait_for_partner schedule __schedule",
		"[blocked: pipe]" },
	{ "do_syscall_64 __x64_sys_accept4 __sys_accept4 do_accept inet_accept "
	  "inet_csk_accept schedule_timeout schedule __schedule",
		"[blocked: socket]" },
	{ "do_syscall_64 __x64_sys_recvfrom __sys_recvfrom sock_recvmsg "
	  "unix_stream_recvmsg "
	  "unix_stream_read_generic schedule_timeout schedule __schedule",
		"[blocked: socket]" },
	{ "do_syscall_64 __x64_sys_sendto __sys_sendto tcp_sendmsg tcp_sendmsg_locked "
	  "sk_stream_wait_memory wait_woken schedule_timeout schedule __schedule",
		"[blocked: socket]" },
	{ "do_syscall_64 __x64_sys_sendto __sys_sendto unix_stream_sendmsg "
	  "sock_alloc_send_pskb schedule_timeout schedule __schedule",
		"[blocked: socket]" },
	{ "do_syscall_64 kernel_wait4 do_wait schedule __schedule", "[blocked: child]" },
	{ "do_syscall_64 __x64_sys_vfork kernel_clone wait_for_completion_state "
	  "schedule_timeout schedule __schedule",
		"[blocked: child]" },
	{ "do_syscall_64 __x64_sys_pause schedule __schedule", "[blocked: signal]" },
	{ "do_syscall_64 __x64_sys_rt_sigtimedwait do_sigtimedwait.isra.0 "
	  "schedule_hrtimeout_range_clock schedule __schedule",
		"[blocked: signal]" },
	{ "do_syscall_64 __do_sys_flock locks_lock_inode_wait schedule __schedule",
		"[blocked: file lock]" },
	{ "do_syscall_64 __x64_sys_fcntl do_fcntl fcntl_setlk schedule __schedule",
		"[blocked: file lock]" },
	{ "do_syscall_64 ksys_read vfs_read tty_read n_tty_read wait_woken "
	  "schedule_timeout "
	  "schedule __schedule",
		"[blocked: terminal]" },
	{ "do_syscall_64 ksys_read vfs_read timerfd_read_iter do_wait_intr_irq schedule "
	  "__schedule",
		"[blocked: timer]" },
	{ "do_syscall_64 ksys_read vfs_read eventfd_read do_wait_intr_irq schedule "
	  "__schedule",
		"[blocked: event]" },
	{ "do_syscall_64 ksys_read vfs_read inotify_read wait_woken schedule_timeout "
	  "schedule __schedule",
		"[blocked: event]" },
	{ "do_syscall_64 do_semtimedop __do_semtimedop schedule_hrtimeout_range_clock "
	  "schedule __schedule",
		"[blocked: semaphore]" },
	{ "do_syscall_64 do_msgrcv schedule __schedule", "[blocked: message queue]" },
	/* The reason that is next to the leaf. */
	{ "asm_exc_page_fault do_user_addr_fault down_read_killable "
	  "rwsem_down_read_slowpath schedule __schedule",
		"[blocked: kernel lock]" },
	{ "do_syscall_64 __x64_sys_vfork kernel_clone copy_process down_write "
	  "rwsem_down_write_slowpath schedule __schedule",
		"[blocked: kernel lock]" },
	{ "do_syscall_64 __x64_sys_sendto __sys_sendto tcp_sendmsg lock_sock_nested "
	  "__lock_sock schedule __schedule",
		"[blocked: kernel lock]" },
	{ "do_syscall_64 do_something_new schedule __schedule", "[blocked]" },
	{ "[kernel] [kernel]", "[blocked]" },
	{ "", "[blocked]" },
};

static void a_stack_says_what_was_waited_for(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(frame_of(OFFCPU, SLEEPS, cases[i].functions), cases[i].frame);
}

static void names_are_compared_as_a_whole(void **state)
{
	assert_string_equal(frame_of(OFFCPU, SLEEPS, "do_wait_intr_irq"), "[blocked]");
	assert_string_equal(frame_of(OFFCPU, SLEEPS, "do_wai"), "[blocked]");
	assert_string_equal(frame_of(OFFCPU, SLEEPS, "do_wait.part.0"), "[blocked: child]");
}

static void what_the_kernel_says_goes_first(void **state)
{
	static const char pipe[] = "vfs_read anon_pipe_read schedule __schedule";

	assert_string_equal(
		frame_of(OFFCPU, PILOTLIGHT_WAIT_UNINTERRUPTIBLE, pipe), "[blocked: pipe]");
	assert_string_equal(frame_of(OFFCPU, PILOTLIGHT_WAIT_UNINTERRUPTIBLE, "new schedule"),
		"[blocked: uninterruptible]");
	assert_string_equal(frame_of(OFFCPU, PILOTLIGHT_WAIT_DISK, pipe), "[blocked: I/O]");
	assert_string_equal(frame_of(OFFCPU, PILOTLIGHT_WAIT_STOPPED, pipe), "[blocked: stopped]");
	assert_string_equal(frame_of(PILOTLIGHT_SOURCE_RUNQUEUE, PILOTLIGHT_WAIT_WOKEN, pipe),
		"[waiting for a CPU: woken]");
	assert_null(frame_of(PILOTLIGHT_SOURCE_CPU, PILOTLIGHT_WAIT_NONE, pipe));
}

/* Anyone can name generated code like a function of the kernel. */
static void names_of_generated_code_give_no_reason(void **state)
{
	const struct raw_sample sample = { .source = OFFCPU, .wait = SLEEPS };
	const struct resolved_frame frames[] = {
		{ .name = "do_futex", .jit = RESOLVED_JIT },
		{ .name = "schedule", .binary = 1 },
	};

	assert_string_equal(wait_reason_frame(&sample, frames, 2), "[blocked]");
	assert_string_equal(wait_reason_frame(&sample, frames, 1), "[blocked]");
	assert_string_equal(wait_reason_frame(&sample, NULL, 0), "[blocked]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_says_what_was_waited_for),
		cmocka_unit_test(names_are_compared_as_a_whole),
		cmocka_unit_test(what_the_kernel_says_goes_first),
		cmocka_unit_test(names_of_generated_code_give_no_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
