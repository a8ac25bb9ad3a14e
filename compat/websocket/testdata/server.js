// A server of the module ws that does what service in service_test.go describes. It prints its
// port.
//
// Usage: node server.js on|off [CERTIFICATE KEY]
const fs = require('fs'), http = require('http'), https = require('https');
const { WebSocketServer } = require('ws');

const [compress, cert, key] = process.argv.slice(2);
const server = cert ? https.createServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) }) : http.createServer();
const wss = new WebSocketServer({
	server,
	perMessageDeflate: compress === 'on',
	maxPayload: 2 << 20,
	handleProtocols: offered => ['chat.v2', 'chat.v1'].find(p => offered.has(p)) || false,
});

const notes = new Map(), waiting = new Map();

wss.on('connection', (ws, req) => {
	const url = new URL(req.url, 'http://x'), id = url.searchParams.get('id') || '';
	ws.on('close', (code, reason) => {
		const note = `${code} ${reason}`.trim();
		notes.set(id, note);
		if (waiting.has(id)) {
			waiting.get(id)(note);
		}
	});
	ws.on('error', () => {});
	if (url.pathname === '/seen') {
		if (notes.has(id)) {
			ws.send(notes.get(id));
		} else {
			waiting.set(id, note => ws.send(note));
		}
	}
	ws.on('message', (data, binary) => {
		switch (url.pathname) {
		case '/parts': {
			const third = Math.floor(data.length / 3);
			ws.send(data.subarray(0, third), { binary, fin: false });
			ws.send(data.subarray(third, 2 * third), { binary, fin: false });
			ws.send(data.subarray(2 * third), { binary, fin: true });
			break;
		}
		case '/ping':
			ws.once('pong', got => ws.send(got.equals(data) ? 'ponged' : 'another pong'));
			ws.ping(data);
			break;
		case '/close': {
			const [code, ...reason] = data.toString().split(' ');
			ws.close(Number(code), reason.join(' '));
			break;
		}
		default:
			ws.send(data, { binary });
		}
	});
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
