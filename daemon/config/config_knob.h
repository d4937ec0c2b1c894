/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of knobs, and the syntax of each kind of value. */
#pragma once

#include "config/config.h"

enum config_kind {
	CONFIG_BYTES,	   /* uint64_t; a number, with K, M, G or T as powers of 1024 */
	CONFIG_DURATION,   /* uint64_t, ns; the syntax of systemd.time(7) */
	CONFIG_NUMBER,	   /* uint64_t */
	CONFIG_HZ,	   /* uint64_t; a number, "Hz" optional */
	CONFIG_PERCENT,	   /* uint64_t, parts per million; "%" optional */
	CONFIG_BOOLEAN,	   /* bool; yes, no and systemd's synonyms */
	CONFIG_CHOICE,	   /* char *; one of `choices` */
	CONFIG_EVENTS,	   /* char *; config/config_events.h, or cheap, all, none */
	CONFIG_GROUP,	   /* char *; a group's name */
	CONFIG_SOCKET,	   /* char *; an absolute path that fits a socket, or "" */
	CONFIG_SECRET,	   /* char *; an absolute path, a credential's name, or "" */
	CONFIG_ADDRESSES,  /* struct config_list; config/address.h */
	CONFIG_HOSTS,	   /* struct config_list; host names without a port */
	CONFIG_URLS,	   /* struct config_list; http:// and https:// */
	CONFIG_CGROUPS,	   /* struct config_list; capture/cgroup_choice.h */
	CONFIG_PATTERN,	   /* char *; query/function_pattern.h, or "" */
	CONFIG_SELECT,	   /* struct config_list; PARAMETER:VALUE of query/function_metric.h */
	CONFIG_URL,	   /* char *; http:// or https://, or "" */
	CONFIG_HEADERS,	   /* struct config_list; "Name: value", one in each assignment */
	CONFIG_LABELS,	   /* struct config_list; name=value */
	CONFIG_EVENT_LIST, /* struct config_list; config/config_events.h */
};

struct config_knob {
	const char *section, *key;
	enum config_kind kind;
	size_t offset;		  /* in struct config, config_sink or config_metric */
	const char *default_text; /* in configuration syntax */
	uint64_t least, most;	  /* numbers only, in the field's unit */
	const char *choices;	  /* separated by spaces */
	const char *help;	  /* one line */
};

extern const struct config_knob config_knobs[];
extern const size_t config_knob_count;

/* The knobs of each [sink NAME]; their section is "sink". And of each [metric NAME]. */
extern const struct config_knob config_sink_knobs[], config_metric_knobs[];
extern const size_t config_sink_knob_count, config_metric_knob_count;

/* Returns the position of a knob, or config_knob_count if there is none. */
size_t config_knob_find(const char *section, const char *key);
bool config_knob_is_list(const struct config_knob *knob);
/* Is each assignment to this list one item, with its spaces? */
bool config_knob_is_line(const struct config_knob *knob);

enum { CONFIG_REASON_BYTES = 256 };

/*
 * Sets the knob's field from `text`; a list gains one item. `owner` is the struct that the knob's
 * offset counts in. Returns 0; -EINVAL with the problem and its remedy in `reason`; or -ENOMEM. The
 * field is untouched on failure.
 */
int config_knob_set(const struct config_knob *knob, const char *text, void *owner,
	char reason[CONFIG_REASON_BYTES]);
void config_knob_clear(const struct config_knob *knob, void *owner);
