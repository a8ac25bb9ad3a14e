// A server for HTTP/2 of Node's. The arguments are its port, and the files of its key and its
// certificate if it has TLS.
'use strict'
const fs = require('fs')
const http2 = require('http2')

const [port, key, cert] = process.argv.slice(2)
const server = key
	? http2.createSecureServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert) })
	: http2.createServer()

let text = ''
for (let i = 0; text.length < 4 << 20; i++) text += String(i).padStart(7, '0') + '\n'

server.on('stream', (stream, fields) => {
	stream.on('error', () => {})
	if (fields.expect) stream.additionalHeaders({ ':status': 100 })
	const [, kind, n] = fields[':path'].split('/')
	switch (kind) {
	case 'text':
		stream.respond({ ':status': 200, 'content-length': n })
		stream.end(fields[':method'] === 'HEAD' ? '' : text.slice(0, n))
		break
	case 'stream':
		stream.respond({ ':status': 200 })
		stream.end(text.slice(0, n))
		break
	case 'echo':
		stream.respond({ ':status': 200 })
		stream.pipe(stream)
		break
	case 'trailers':
		stream.on('trailers', t => { stream.sum = t['x-sum'] })
		stream.respond({ ':status': 200 }, { waitForTrailers: true })
		stream.on('wantTrailers', () => stream.sendTrailers({ 'x-end': stream.sum || 'yes' }))
		stream.pipe(stream)
		break
	default:
		stream.respond({ ':status': 404 }, { endStream: true })
	}
})
server.listen(port, '127.0.0.1')
