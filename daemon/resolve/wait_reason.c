/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/wait_reason.h"

#include "base/array.h"
#include "base/event_source.h"

#include <stdbool.h>
#include <string.h>

enum { FUNCTIONS_MAX = 20 };

/*
 * Of Linux 5.15 to 6.18. Functions of the scheduler, and wait_woken(), wait for anything, so they
 * tell nothing. A function of several reasons is not here: its callers are.
 */
static const struct reason {
	const char *frame;
	const char *functions[FUNCTIONS_MAX]; /* without the compiler's ".isra.0" */
} reasons[] = {
	{ "[blocked: futex]",
		{ "do_futex", "futex_wait", "__futex_wait", "futex_wait_queue",
			"futex_wait_queue_me", "futex_do_wait", "futex_wait_requeue_pi",
			"futex_lock_pi", "futex_wait_multiple" } },
	{ "[blocked: sleep]",
		{ "do_nanosleep", "hrtimer_nanosleep", "alarmtimer_do_nsleep", "alarm_timer_nsleep",
			"msleep", "msleep_interruptible", "usleep_range_state" } },
	{ "[blocked: poll]", { "do_sys_poll", "do_select", "core_sys_select", "do_epoll_wait",
				     "ep_poll", "poll_schedule_timeout" } },
	{ "[blocked: io_uring]", { "io_cqring_wait", "io_wq_worker", "io_sq_thread" } },
	{ "[blocked: pipe]",
		{ "pipe_read", "anon_pipe_read", "fifo_pipe_read", "pipe_write", "anon_pipe_write",
			"fifo_pipe_write", "pipe_wait_readable", "pipe_wait_writable", "fifo_open",
			"wait_for_partner", "splice_from_pipe" } },
	{ "[blocked: socket]",
		{ "sock_recvmsg", "sock_sendmsg", "sock_read_iter", "sock_write_iter", "do_accept",
			"__sys_accept4_file", "__sys_connect", "__sys_connect_file", "__sys_sendto",
			"__sys_recvfrom", "____sys_sendmsg", "____sys_recvmsg", "sock_splice_read",
			"sk_wait_data", "sk_stream_wait_memory", "sk_stream_wait_connect",
			"inet_csk_accept", "unix_stream_read_generic", "unix_wait_for_peer",
			"__skb_wait_for_more_packets" } },
	{ "[blocked: child]", { "do_wait", "__do_wait", "kernel_clone", "wait_for_vfork_done" } },
	{ "[blocked: signal]",
		{ "sigsuspend", "do_sigtimedwait", "__x64_sys_pause", "__arm64_sys_pause",
			"__do_sys_pause", "signalfd_read", "signalfd_read_iter" } },
	{ "[blocked: file lock]",
		{ "locks_lock_inode_wait", "fcntl_setlk", "do_lock_file_wait",
			"flock_lock_inode_wait", "posix_lock_inode_wait", "__break_lease" } },
	/* Semaphores and mutexes of the kernel, for instance of an address space or a folder. */
	{ "[blocked: kernel lock]",
		{ "rwsem_down_read_slowpath", "rwsem_down_write_slowpath", "__mutex_lock",
			"__mutex_lock_slowpath", "__mutex_lock_killable_slowpath",
			"__mutex_lock_interruptible_slowpath", "__ww_mutex_lock", "__down_common",
			"___down_common", "__down", "__down_interruptible", "__down_timeout",
			"rt_mutex_slowlock", "percpu_rwsem_wait", "__lock_sock" } },
	{ "[blocked: terminal]", { "n_tty_read", "n_tty_write", "tty_wait_until_sent" } },
	{ "[blocked: timer]", { "timerfd_read", "timerfd_read_iter" } },
	{ "[blocked: event]",
		{ "eventfd_read", "eventfd_write", "inotify_read", "fanotify_read",
			"fanotify_handle_event", "userfaultfd_read", "userfaultfd_read_iter",
			"handle_userfault", "fuse_dev_do_read" } },
	{ "[blocked: semaphore]", { "do_semtimedop", "__do_semtimedop" } },
	{ "[blocked: message queue]",
		{ "do_msgrcv", "do_msgsnd", "do_mq_timedreceive", "do_mq_timedsend", "wq_sleep" } },
	{ "[blocked: file system]",
		{ "vfs_fsync_range", "do_fsync", "jbd2_log_wait_commit", "wait_transaction_locked",
			"folio_wait_bit_common", "folio_wait_bit", "request_wait_answer",
			"nfs_wait_bit_killable", "rpc_wait_bit_killable", "p9_client_rpc",
			"wb_wait_for_completion", "balance_dirty_pages",
			"wait_on_page_bit_common" } },
	{ "[blocked: memory reclaim]",
		{ "reclaim_throttle", "throttle_direct_reclaim", "mem_cgroup_handle_over_high",
			"__mem_cgroup_handle_over_high" } },
	{ "[blocked: RCU]", { "synchronize_rcu", "synchronize_rcu_expedited", "__wait_rcu_gp",
				    "synchronize_srcu" } },
	{ "[blocked: virtual CPU]", { "kvm_vcpu_halt", "kvm_vcpu_block" } },
};

/* The compiler adds ".isra.0", ".constprop.0" or ".part.0" to changed copies of a function. */
static bool is_function(const char *name, const char *function)
{
	size_t i = 0;

	while (function[i] && name[i] == function[i])
		i++;
	return !function[i] && (!name[i] || name[i] == '.');
}

static const char *find_reason(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		for (size_t j = 0; j < FUNCTIONS_MAX && reasons[i].functions[j]; j++)
			if (is_function(name, reasons[i].functions[j]))
				return reasons[i].frame;
	return NULL;
}

/* All other waits say more than a stack does, or nothing is known. */
static bool is_told_by_stack(const struct raw_sample *sample)
{
	return sample->source == PILOTLIGHT_SOURCE_OFFCPU &&
	       (sample->wait == PILOTLIGHT_WAIT_INTERRUPTIBLE ||
		       sample->wait == PILOTLIGHT_WAIT_UNINTERRUPTIBLE);
}

const char *wait_reason_frame(
	const struct raw_sample *sample, const struct resolved_frame *frames, size_t count)
{
	const char *reason = NULL;

	if (sample->is_told_by_frames)
		return NULL;
	/* Of the user's code only generated code has names here, which its runtime wrote. */
	if (is_told_by_stack(sample))
		for (size_t i = count; !reason && i > 0; i--) {
			if (!frames[i - 1].name || frames[i - 1].jit)
				break;
			reason = find_reason(frames[i - 1].name);
		}
	return reason ? reason : event_source_wait(sample->source, sample->wait);
}
