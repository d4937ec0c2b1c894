// SPDX-License-Identifier: GPL-2.0-or-later
// Bundles packages with webpack in this thread: node_webpack.js OUT PACKAGE...
'use strict';

const path = require('path');
const webpack = require('webpack');

webpack({
	mode: 'production',
	context: process.env.NODE_PATH,
	entry: process.argv.slice(3).map((name) => require.resolve(name)),
	target: 'node',
	output: { path: path.resolve(process.argv[2]) },
	optimization: { minimize: false },
}, (error, stats) => {
	if (error || stats.hasErrors()) {
		console.error(error || stats.toString());
		process.exit(1);
	}
});
