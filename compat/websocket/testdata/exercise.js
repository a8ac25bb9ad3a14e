// exercise lets a server do what service in service_test.go describes, as far as the API of
// browsers can. It returns the number of its checks.
async function exercise(WebSocket, url) {
	let checks = 0;

	function check(what, got, want) {
		checks++;
		if (got !== want) {
			throw new Error(`${what}: got ${String(got).slice(0, 100)}, want ${String(want).slice(0, 100)}`);
		}
	}

	function dial(path, protocols) {
		return new Promise((resolve, reject) => {
			const ws = new WebSocket(url + path, protocols || []);
			ws.binaryType = 'arraybuffer';
			const inbox = [], waiting = [];
			const put = item => waiting.length > 0 ? waiting.shift()(item) : inbox.push(item);
			ws.onmessage = e => put(e.data);
			ws.next = () => inbox.length > 0 ? Promise.resolve(inbox.shift()) : new Promise(r => waiting.push(r));
			ws.closed = new Promise(r => { ws.onclose = e => r(`${e.wasClean} ${e.code} ${e.reason}`.trim()); });
			ws.onopen = () => resolve(ws);
			ws.onerror = () => reject(new Error(`${path}: an error`));
		});
	}

	function payload(size) {
		let text = '';
		while (new TextEncoder().encode(text).length < size) {
			text += '0123456789 äöü €, '.repeat(Math.max(1, Math.floor((size - text.length) / 40)));
		}
		text = new TextDecoder().decode(new TextEncoder().encode(text).slice(0, size)).replaceAll('\ufffd', '.');
		return text;
	}

	const sum = buffer => {
		let h = 0;
		for (const b of new Uint8Array(buffer)) {
			h = (h * 31 + b) | 0;
		}
		return `${buffer.byteLength} ${h}`;
	};

	const echo = await dial('/echo'), parts = await dial('/parts');
	for (const size of [0, 1, 125, 126, 65535, 65536, 1 << 20]) {
		const text = payload(size), bytes = new TextEncoder().encode(text).map(b => b ^ 0xff);
		for (const ws of [echo, parts]) {
			ws.send(text);
			check(`${size} of text`, await ws.next(), text);
			ws.send(bytes);
			check(`${size} bytes`, sum(await ws.next()), sum(bytes.buffer));
		}
	}
	for (let i = 0; i < 50; i++) {
		echo.send(`message ${i}`);
	}
	for (let i = 0; i < 50; i++) {
		check('in order', await echo.next(), `message ${i}`);
	}

	const pinged = await dial('/ping');
	for (const text of ['', 'p', 'x'.repeat(125)]) {
		pinged.send(text);
		check('ponged', await pinged.next(), 'ponged');
	}

	for (const [code, reason] of [[1000, ''], [3000, 'r'], [4999, 'x'.repeat(123)]]) {
		const id = `${Math.random()}`, note = `${code} ${reason}`.trim();
		const ws = await dial('/echo?id=' + id);
		ws.close(code, reason);
		check('closed by this side', (await ws.closed).slice(0, 9), `true ${code}`);
		const seen = await dial('/seen?id=' + id);
		check('seen', await seen.next(), note);
		seen.close();
		const peer = await dial('/close');
		peer.send(note);
		check('closed by the other side', await peer.closed, `true ${note}`);
	}
	for (const [wanted, want] of [[['chat.v1'], 'chat.v1'], [['other', 'chat.v2'], 'chat.v2'], [[], '']]) {
		const ws = await dial('/echo', wanted);
		check('subprotocol', ws.protocol, want);
		ws.close();
		await ws.closed;
	}
	for (const ws of [echo, parts, pinged]) {
		ws.close();
		check('clean', (await ws.closed).startsWith('true'), true);
	}
	return checks;
}

if (typeof module !== 'undefined') {
	module.exports = exercise;
}
