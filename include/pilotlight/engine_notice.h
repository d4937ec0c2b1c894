/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An engine sends notices of fixed size to its supervisor over an AF_UNIX SOCK_SEQPACKET pair, and
 * gets no reply. It sends without blocking: the supervisor limits the rate (supervisor.h), and
 * notices that do not fit into the socket are lost. The supervisor ignores a notice of another
 * size, version or kind, one with a descriptor, and one with an unexpected or unterminated text. It
 * answers with signals only: SIGHUP to reload the configuration, SIGTERM to seal the open window
 * and end.
 */
#pragma once

#include <stdint.h>

enum { PILOTLIGHT_NOTICE_VERSION = 1, PILOTLIGHT_NOTICE_TEXT_BYTES = 240 };

enum pilotlight_notice_kind {
	PILOTLIGHT_NOTICE_READY = 1, /* sampling has started, or a reload is done */
	PILOTLIGHT_NOTICE_RELOADING,
	PILOTLIGHT_NOTICE_STATUS,   /* `text` for `systemctl status` */
	PILOTLIGHT_NOTICE_PROGRESS, /* the engine has drained: feeds the watchdog */
	PILOTLIGHT_NOTICE_KINDS,
};

struct pilotlight_notice {
	uint32_t version;
	uint32_t kind;
	char text[PILOTLIGHT_NOTICE_TEXT_BYTES]; /* NUL-terminated; "" except for STATUS */
};

_Static_assert(sizeof(struct pilotlight_notice) == 248, "notice");

/* Exit statuses of an engine. Any other end is a crash, and the next engine starts after a pause.
 */
enum {
	PILOTLIGHT_ENGINE_EXIT_DONE = 0,    /* ended on SIGTERM */
	PILOTLIGHT_ENGINE_EXIT_FAILED = 1,  /* could not get ready, and logged the reason */
	PILOTLIGHT_ENGINE_EXIT_MISTAKE = 2, /* could not get ready: the configuration is wrong */
	/* The engine asks for a restart, with its window sealed: its tables are full, or it needs
	 * maps of another size. The next engine starts at once. */
	PILOTLIGHT_ENGINE_EXIT_RENEW = 75,
};
