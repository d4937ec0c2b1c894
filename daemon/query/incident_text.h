/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes incidents for people and for programs. */
#pragma once

#include "base/json.h"
#include "base/output.h"
#include "store/incident_log.h"

/* A line each: its number, local time, cause and text; or a sentence if there is none. */
void incident_list_write(const struct incident_list *list, struct output *output);

/*
 * An object with its number, the seconds since 1970 time, from and to, cause and text, and, if it
 * is not about the host, subject: the name and the value of a parameter that selects it.
 */
void incident_write_json(const struct incident *incident, struct json *json);

/* An object with the array incidents. */
void incident_list_write_json(const struct incident_list *list, struct output *output);
