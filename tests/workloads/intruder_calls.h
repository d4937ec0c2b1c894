/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an intruder tries. Lines of one name are the steps of one attempt, which ends with the first
 * that fails. */
#pragma once

#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Arguments that are known when the call is made. */
#define TEXT	(-1000001L) /* the address of the text, or of the socket address that it names */
#define BYTES	(-1000002L) /* the length of the socket address */
#define ZEROS	(-1000003L) /* the address of 256 zeros */
#define ONES	(-1000004L) /* the address of 64 bytes of ones */
#define STACK	(-1000005L) /* a page that is mapped */
#define RESULT	(-1000006L) /* of the last step; of a pair of sockets, the first */
#define PARENT	(-1000007L)
#define SIBLING (-1000008L) /* $SIBLING: a process of the same user */
#define OTHER	(-1000009L) /* $OTHER: of another user */

#define NO_FD 999L

/* `text`: "$NAME" is a variable of the environment, and a %d is the parent. "unix:PATH",
 * "abstract:NAME" and "inet:" are addresses of sockets; the last is 127.0.0.1, port 9. */
static const struct call {
	const char *name;
	long number;
	const char *text;
	long arguments[6];
} calls[] = {
#define OPENING(name, path, flags)            \
	{                                     \
		(name), SYS_openat, (path),   \
		{                             \
			AT_FDCWD, TEXT, flags \
		}                             \
	}
	/* reading files */
	OPENING("read_passwd", "/etc/passwd", O_RDONLY),
	OPENING("read_shadow", "/etc/shadow", O_RDONLY),
	OPENING("read_roots_file", "$ROOTS_FILE", O_RDONLY),
	OPENING("read_users_file", "$USERS_FILE", O_RDONLY),
	OPENING("read_closed_folder", "$CLOSED_FILE", O_RDONLY),
	OPENING("read_history", "$HISTORY", O_RDONLY),
	OPENING("read_symbols", "$SYMBOLS", O_RDONLY),
	OPENING("read_configuration", "$CONFIGURATION", O_RDONLY),
	OPENING("read_own_program", "/proc/self/exe", O_RDONLY),
	OPENING("read_other_program", "/bin/sh", O_RDONLY),
	OPENING("read_device", "/dev/null", O_RDONLY),
	OPENING("read_keys", "/etc/ssl/private", O_RDONLY | O_DIRECTORY),
	OPENING("read_libraries", "/etc/ld.so.cache", O_RDONLY),
	OPENING("list_root", "/", O_RDONLY | O_DIRECTORY),
	OPENING("list_proc", "/proc", O_RDONLY | O_DIRECTORY),
	OPENING("read_kernel_symbols", "/proc/kallsyms", O_RDONLY),
	OPENING("read_own_maps", "/proc/self/maps", O_RDONLY),
	OPENING("read_roots_maps", "/proc/$ROOT/maps", O_RDONLY),
	OPENING("read_roots_memory", "/proc/$ROOT/mem", O_RDONLY),
	OPENING("read_roots_environment", "/proc/$ROOT/environ", O_RDONLY),
	OPENING("read_parents_memory", "/proc/%d/mem", O_RDONLY),
	OPENING("read_siblings_memory", "/proc/$SIBLING/mem", O_RDONLY),
	OPENING("read_siblings_files", "/proc/$SIBLING/fd/0", O_RDONLY),
	{ "openat2", SYS_openat2, "/etc/passwd", { AT_FDCWD, TEXT, ZEROS, 24 } },
	{ "open_by_handle", SYS_open_by_handle_at, NULL, { AT_FDCWD, ZEROS, 0 } },

	/* writing files */
	OPENING("write_passwd", "/etc/passwd", O_WRONLY),
	OPENING("write_roots_file", "$ROOTS_FILE", O_WRONLY),
	OPENING("write_history", "$HISTORY", O_WRONLY),
	OPENING("write_symbols", "$SYMBOLS", O_WRONLY),
	OPENING("write_configuration", "$CONFIGURATION", O_WRONLY),
	OPENING("write_own_program", "/proc/self/exe", O_WRONLY),
	OPENING("write_own_memory", "/proc/self/mem", O_RDWR),
	OPENING("write_roots_memory", "/proc/$ROOT/mem", O_RDWR),
	OPENING("write_parents_memory", "/proc/%d/mem", O_RDWR),
	OPENING("write_siblings_memory", "/proc/$SIBLING/mem", O_RDWR),
	OPENING("write_siblings_oom_score", "/proc/$SIBLING/oom_score_adj", O_WRONLY),
	OPENING("write_sysctl", "/proc/sys/kernel/core_pattern", O_WRONLY),
#define MAKING(name, path)                                          \
	{                                                           \
		(name), SYS_openat, (path),                         \
		{                                                   \
			AT_FDCWD, TEXT, O_CREAT | O_WRONLY, 0600, 0 \
		}                                                   \
	}
	MAKING("make_in_etc", "/etc/intruder"),
	MAKING("make_in_tmp", "/tmp/intruder.file"),
	MAKING("make_in_run", "/run/intruder"),
	MAKING("make_in_state", "$STATE_FILE"),
	MAKING("make_in_cache", "$CACHE_FILE"),
	MAKING("make_beside_socket", "$RUNTIME_FILE"),
	{ "make_folder", SYS_mkdirat, "/tmp/intruder.folder", { AT_FDCWD, TEXT, 0700 } },
	{ "make_symlink", SYS_symlinkat, "/tmp/intruder.link", { TEXT, AT_FDCWD, TEXT } },
	{ "make_device", SYS_mknodat, "/tmp/intruder.device",
		{ AT_FDCWD, TEXT, S_IFCHR | 0600, 0x103 } },
	{ "make_setuid", SYS_fchmod, NULL, { STDERR_FILENO, 04755 } },
	{ "make_writable", SYS_fchmod, NULL, { STDERR_FILENO, 0666 } },
	{ "chmod", SYS_fchmodat, "/tmp", { AT_FDCWD, TEXT, 01777 } },
	{ "chown", SYS_fchownat, "/tmp", { AT_FDCWD, TEXT, 0, 0, 0 } },
	{ "truncate", SYS_truncate, "$HISTORY", { TEXT, 1L << 62 } },
	{ "remove", SYS_unlinkat, "$STATE_FILE.missing", { AT_FDCWD, TEXT, 0 } },

/* connecting and listening */
#define CONNECTING(name, family, type, address)                                \
	{ (name), SYS_socket, NULL, { (family), (type) | SOCK_NONBLOCK, 0 } }, \
	{                                                                      \
		(name), SYS_connect, (address),                                \
		{                                                              \
			RESULT, TEXT, BYTES                                    \
		}                                                              \
	}
	CONNECTING("connect_tcp", AF_INET, SOCK_STREAM, "inet:"),
	CONNECTING("connect_udp", AF_INET, SOCK_DGRAM, "inet:"),
	CONNECTING("connect_api", AF_UNIX, SOCK_STREAM, "unix:$PILOTLIGHT_SOCKET"),
	CONNECTING("connect_fetch", AF_UNIX, SOCK_SEQPACKET, "unix:$PILOTLIGHT_FETCH_SOCKET"),
	CONNECTING("connect_bus", AF_UNIX, SOCK_STREAM, "unix:$BUS"),
	CONNECTING("connect_abstract", AF_UNIX, SOCK_STREAM, "abstract:$ABSTRACT"),
	{ "send_datagram", SYS_socketpair, NULL, { AF_UNIX, SOCK_DGRAM, 0, ZEROS } },
	{ "send_datagram", SYS_sendto, "unix:$DATAGRAMS", { RESULT, ZEROS, 1, 0, TEXT, BYTES } },
	{ "reconnect", SYS_connect, "unix:$BUS", { 3, TEXT, BYTES } },
	{ "listen_tcp", SYS_socket, NULL, { AF_INET, SOCK_STREAM, 0 } },
	{ "listen_tcp", SYS_listen, NULL, { RESULT, 1 } },
	{ "bind_unix", SYS_socket, NULL, { AF_UNIX, SOCK_STREAM, 0 } },
	{ "bind_unix", SYS_bind, "abstract:intruder", { RESULT, TEXT, BYTES } },
	{ "rebind", SYS_bind, "abstract:intruder", { 3, TEXT, BYTES } },
	{ "socket_raw", SYS_socket, NULL, { AF_INET, SOCK_RAW, 1 } },
	{ "socket_packet", SYS_socket, NULL, { AF_PACKET, SOCK_RAW, 0 } },
	{ "socket_netlink", SYS_socket, NULL, { AF_NETLINK, SOCK_RAW, 0 } },
	{ "socket_vsock", SYS_socket, NULL, { AF_VSOCK, SOCK_STREAM, 0 } },
	{ "pair_stream", SYS_socketpair, NULL, { AF_UNIX, SOCK_STREAM, 0, ZEROS } },
	{ "pair_datagram", SYS_socketpair, NULL, { AF_UNIX, SOCK_DGRAM, 0, ZEROS } },

	/* other processes */
	{ "signal_parent", SYS_kill, NULL, { PARENT, 0 } },
	{ "signal_sibling", SYS_kill, NULL, { SIBLING, 0 } },
	{ "signal_other", SYS_kill, NULL, { OTHER, 0 } },
	{ "signal_init", SYS_kill, NULL, { 1, 0 } },
	{ "signal_group", SYS_kill, NULL, { 0, 0 } },
	{ "signal_all", SYS_kill, NULL, { -1, 0 } },
	{ "tgkill_sibling", SYS_tgkill, NULL, { SIBLING, SIBLING, 0 } },
	{ "tkill_sibling", SYS_tkill, NULL, { SIBLING, 0 } },
	{ "sigqueue_sibling", SYS_rt_sigqueueinfo, NULL, { SIBLING, 0, ZEROS } },
	{ "set_owner_sibling", SYS_fcntl, NULL, { 3, F_SETOWN, SIBLING } },
	{ "pidfd_sibling", SYS_pidfd_open, NULL, { SIBLING, 0 } },
	{ "take_descriptor", SYS_pidfd_getfd, NULL, { NO_FD, 0, 0 } },
	{ "trace_parent", SYS_ptrace, NULL, { PTRACE_SEIZE, PARENT, 0, 0 } },
	{ "trace_sibling", SYS_ptrace, NULL, { PTRACE_SEIZE, SIBLING, 0, 0 } },
	{ "trace_other", SYS_ptrace, NULL, { PTRACE_SEIZE, OTHER, 0, 0 } },
	{ "copy_from_sibling", SYS_process_vm_readv, NULL, { SIBLING, ZEROS, 0, ZEROS, 0, 0 } },
	{ "copy_to_other", SYS_process_vm_writev, NULL, { OTHER, ZEROS, 0, ZEROS, 0, 0 } },
	{ "compare_sibling", SYS_kcmp, NULL, { SIBLING, SIBLING, 0, 0, 0 } },
	{ "limit_sibling", SYS_prlimit64, NULL, { SIBLING, RLIMIT_NOFILE, ZEROS, 0 } },
	{ "move_sibling", SYS_sched_setaffinity, NULL, { SIBLING, 8, ONES } },
	{ "schedule_sibling", SYS_sched_setscheduler, NULL, { SIBLING, SCHED_OTHER, ZEROS } },
	{ "nice_sibling", SYS_setpriority, NULL, { PRIO_PROCESS, SIBLING, 19 } },
	{ "ioprio_sibling", SYS_ioprio_set, NULL, { 1, SIBLING, 3 << 13 } },
	{ "migrate_sibling", SYS_migrate_pages, NULL, { SIBLING, 0, ZEROS, ZEROS } },
	{ "shared_memory", SYS_shmget, NULL, { 0, 4096, 0600 } },
	{ "message_queue", SYS_msgget, NULL, { 0, 0600 } },
	{ "fork", SYS_fork, NULL, { 0 } },
	{ "vfork", SYS_vfork, NULL, { 0 } },
	{ "clone_process", SYS_clone, NULL, { SIGCHLD, 0, 0, 0, 0 } },
	{ "clone_namespace", SYS_clone, NULL, { CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0 } },
	{ "clone3", SYS_clone3, NULL, { ZEROS, 64 } },
	{ "execute", SYS_execve, "/bin/true", { TEXT, 0, 0 } },
	{ "execute_at", SYS_execveat, "/bin/true", { AT_FDCWD, TEXT, 0, 0, 0 } },

/* code */
#define MAPPING(name, protection, kind, fd)                              \
	{                                                                \
		(name), SYS_mmap, NULL,                                  \
		{                                                        \
			0, 4096, PROT_READ | (protection), (kind), fd, 0 \
		}                                                        \
	}
	MAPPING("map_writable_code", PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1),
	MAPPING("map_code", PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1),
	{ "make_code", SYS_mprotect, NULL, { STACK, 4096, PROT_READ | PROT_EXEC } },
	{ "make_code_by_key", SYS_pkey_mprotect, NULL, { STACK, 4096, PROT_READ | PROT_EXEC, -1 } },
	{ "execute_memory", SYS_memfd_create, "code", { TEXT, 0 } },
	MAPPING("execute_memory", PROT_EXEC, MAP_PRIVATE, RESULT),
	{ "personality", SYS_personality, NULL, { 0x0400000 } },

	/* the kernel */
	{ "bpf_program", SYS_bpf, NULL, { BPF_PROG_LOAD, ZEROS, 64 } },
	{ "bpf_map", SYS_bpf, NULL, { BPF_MAP_CREATE, ZEROS, 64 } },
	{ "bpf_update", SYS_bpf, NULL, { BPF_MAP_UPDATE_ELEM, ONES, 32 } },
	{ "bpf_find", SYS_bpf, NULL, { BPF_MAP_GET_FD_BY_ID, ZEROS, 64 } },
	{ "bpf_pin", SYS_bpf, NULL, { BPF_OBJ_PIN, ZEROS, 64 } },
	{ "bpf_attach", SYS_bpf, NULL, { BPF_PROG_ATTACH, ZEROS, 64 } },
	{ "perf_event", SYS_perf_event_open, NULL, { ZEROS, 0, -1, -1, 0 } },
	{ "io_uring", SYS_io_uring_setup, NULL, { 1, ZEROS } },
	{ "async_io", SYS_io_setup, NULL, { 1, ZEROS } },
	{ "userfaultfd", SYS_userfaultfd, NULL, { 0 } },
	{ "keyctl", SYS_keyctl, NULL, { 0, 0, 0 } },
	{ "add_key", SYS_add_key, "user", { TEXT, TEXT, TEXT, 1, -4 } },
	{ "watch_files", SYS_inotify_init1, NULL, { 0 } },
	{ "watch_all_files", SYS_fanotify_init, NULL, { 0, 0 } },
	{ "kernel_log", SYS_syslog, NULL, { 10, 0, 0 } },
	{ "module", SYS_init_module, NULL, { ZEROS, 0, ZEROS } },
	{ "load_kernel", SYS_kexec_load, NULL, { 0, 0, 0, 0 } },
	{ "reboot", SYS_reboot, NULL, { 0, 0, 0, 0 } },
	{ "set_time", SYS_settimeofday, NULL, { 0, 0 } },
	{ "set_hostname", SYS_sethostname, NULL, { ZEROS, -1 } },
	{ "swap_off", SYS_swapoff, "/nothing", { TEXT } },
	{ "inject_input", SYS_ioctl, NULL, { STDERR_FILENO, 0x5412, ZEROS } },
	{ "unshare", SYS_unshare, NULL, { CLONE_NEWUSER } },
	{ "setns", SYS_setns, NULL, { NO_FD, 0 } },
	{ "mount", SYS_mount, "/tmp", { TEXT, TEXT, 0, 0, 0 } },
	{ "open_tree", SYS_open_tree, "/", { AT_FDCWD, TEXT, 0 } },
	{ "chroot", SYS_chroot, "/", { TEXT } },

	/* privileges */
	{ "setuid", SYS_setuid, NULL, { 0 } },
	{ "setresgid", SYS_setresgid, NULL, { 0, 0, 0 } },
	{ "setgroups", SYS_setgroups, NULL, { 0, 0 } },
	{ "raise_capability", SYS_capset, NULL, { ZEROS, ZEROS } },
	{ "raise_limit", SYS_prlimit64, NULL, { 0, RLIMIT_NOFILE, ONES, 0 } },
	{ "dumpable", SYS_prctl, NULL, { PR_SET_DUMPABLE, 1, 0, 0, 0 } },
	{ "let_trace", SYS_prctl, NULL, { PR_SET_PTRACER, -1, 0, 0, 0 } },
	{ "outlive_parent", SYS_prctl, NULL, { PR_SET_PDEATHSIG, 0, 0, 0, 0 } },
	{ "leave_session", SYS_setsid, NULL, { 0 } },
	{ "set_memory_map", SYS_prctl, NULL, { PR_SET_MM, PR_SET_MM_BRK, 0, 0, 0 } },
	{ NULL, 0, NULL, { 0 } },
};
