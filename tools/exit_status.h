/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 0 done, 1 failed (EXIT_FAILURE), and: */
#pragma once

enum { EXIT_USAGE = 2 };
