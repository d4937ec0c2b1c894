/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A check of the doctor: a row of a table, whose function looks at one thing of this machine and
 * fills in a finding. Checks never wait for what they open, and leave nothing behind.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/utsname.h>

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_LIMITED, /* works, with less */
	DOCTOR_MISSING,
	DOCTOR_UNKNOWN, /* not known without more privilege, or without /proc and /sys */
};

/* Facts for several checks, read once before the first. */
struct doctor_host {
	uint64_t capabilities; /* the effective set, bits as in linux/capability.h */
	struct utsname kernel;
	unsigned major, minor;	    /* of the kernel; 0: not known */
	uint64_t memory_lock_bytes; /* UINT64_MAX: no limit */
	int bpf_error; /* 0, or the -errno of loading the smallest perf_event program */
};

enum { DOCTOR_DETAILS_MAX = 10, DOCTOR_DETAIL_BYTES = 200 };

struct doctor_finding {
	const struct doctor_host *host;
	const struct doctor_group *group;
	const struct doctor_check *check;
	enum doctor_state state;
	char found[256];
	char details[DOCTOR_DETAILS_MAX][DOCTOR_DETAIL_BYTES]; /* a line each */
	size_t detail_count;
	const char *lost;   /* replaces the check's own where that does not fit; else NULL */
	const char *remedy; /* replaces the check's own, too */
};

struct doctor_check {
	const char *name;
	void (*function)(struct doctor_finding *finding);
	int argument;	    /* of the function: a capability, a map type */
	bool is_required;   /* recording fails without it */
	const char *lost;   /* what does not work without it; NULL: the check is always ok */
	const char *remedy; /* one concrete command or setting */
};

struct doctor_group {
	const char *title;
	const struct doctor_check *checks;
	size_t count;
};

extern const struct doctor_group doctor_capabilities, doctor_settings, doctor_kernel, doctor_perf,
	doctor_bpf, doctor_unwind, doctor_system;

void doctor_found(struct doctor_finding *finding, enum doctor_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

bool doctor_has_capability(const struct doctor_host *host, int capability);

/* What a refusal by the kernel means: MISSING if we had every capability that the call takes,
 * else UNKNOWN. */
enum doctor_state doctor_refusal(const struct doctor_host *host);

bool doctor_is_since(const struct doctor_host *host, unsigned major, unsigned minor);

/*
 * The first `size` - 1 bytes of a file, NUL-terminated, without a newline at the end. Returns 0 or
 * -errno.
 */
int doctor_read_file(const char *path, char *ret_text, size_t size);
