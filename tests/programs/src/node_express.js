// SPDX-License-Identifier: GPL-2.0-or-later
// An express server with middleware, a router and errors. Ends by itself, as --cpu-prof then writes.
'use strict';

const express = require('express');

const app = express();
const router = express.Router();
const words = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta'];

class Item {
	constructor(number) {
		this.number = number;
		this.tags = words.filter((word, at) => (number >> at & 1) === 1);
	}

	get title() {
		return this.tags.map((tag) => tag[0].toUpperCase() + tag.slice(1)).join(' ');
	}

	toJSON() {
		return { number: this.number, title: this.title, tags: this.tags };
	}
}

function* items(count) {
	for (let number = 0; number < count; number++)
		yield new Item(number);
}

async function find(count) {
	await null;
	const found = [...items(count)];
	found.sort((one, other) => one.title.localeCompare(other.title) || one.number - other.number);
	return found;
}

app.use(express.json());
app.use(express.urlencoded({ extended: true }));
app.use((request, response, next) => {
	response.setHeader('X-Started', String(process.hrtime.bigint()));
	next();
});
router.get('/:count', async (request, response, next) => {
	try {
		response.json(await find(Number(request.params.count)));
	} catch (error) {
		next(error);
	}
});
app.use('/json', router);
app.get('/', (request, response) => {
	const rows = words.map((word) => `<li>${word.replace(/[aeiou]/g, (vowel) => vowel.toUpperCase())}</li>`);
	response.send(`<!doctype html><ul>${rows.join('')}</ul>`);
});
app.use((request, response) => response.status(404).send('not found'));

const server = app.listen(Number(process.argv[2]), '127.0.0.1');
setTimeout(() => {
	server.close();
	process.exit(0);
}, 1000 * Number(process.argv[3]));
