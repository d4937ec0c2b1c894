// SPDX-License-Identifier: GPL-2.0-or-later
// Required before a program, so that it begins once the file NODE_BEGIN is there. Uses CPU, so that the tables are made.
'use strict';

const fs = require('fs');

while (!fs.existsSync(process.env.NODE_BEGIN));
