/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields of HTTP that come with a profile (pilotlightd(8)): seconds with nine decimals. They are
 * missing where it is not known.
 */
#pragma once

/* The windows that the profile is made of: all that overlap what was asked for, whole. */
#define PILOTLIGHT_FIELD_COVERED "X-Pilotlight-Covered-Seconds"
/* The CPU time that one sample stands for. */
#define PILOTLIGHT_FIELD_PERIOD "X-Pilotlight-Period-Seconds"
