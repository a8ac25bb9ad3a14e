// The origin of the tests on Node's http module: see origin_test.go.
'use strict';

const http = require('http');
const zlib = require('zlib');

let connections = 0;
let requests = 0;

const text = 'compressed text\n'.repeat(200);

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

const routes = {
  '/hello': (req, res) => res.setHeader('Content-Length', 6).end('hello\n'),
  '/204': (req, res) => res.writeHead(204).end(),
  '/304': (req, res) => res.writeHead(304, { ETag: '"x"' }).end(),
  '/redirect': (req, res) => res.writeHead(302, { Location: '/hello' }).end(),
  '/redirect307': (req, res) => res.writeHead(307, { Location: '/echo' }).end('elsewhere'),
  '/echo': (req, res) => {
    const framing = req.headers['transfer-encoding'] || (req.headers['content-length'] ? 'length' : 'none');
    res.writeHead(200, { 'X-Method': req.method, 'X-Framing': framing });
    res.end(req.content);
  },
  '/gzip': (req, res) => {
    if (!/gzip/.test(req.headers['accept-encoding'] || '')) return res.end(text);
    return res.setHeader('Content-Encoding', 'gzip').end(zlib.gzipSync(text));
  },
  '/hints': (req, res) => res.writeEarlyHints({ link: '</a.css>; rel=preload' }, () => res.end('hinted')),
  '/stream': async (req, res) => {
    for (let i = 0; i < 20; i++) {
      res.write(`piece ${i}\n`);
      await pause(1);
    }
    res.end();
  },
  '/close': (req, res) => res.writeHead(200, { Connection: 'close', 'Content-Length': 4 }).end('last'),
  '/until-close': (req, res) => {
    res.useChunkedEncodingByDefault = false;
    res.writeHead(200, { Connection: 'close' });
    res.write('until the ');
    res.end('end');
  },
  '/drop': (req, res) => {
    res.on('finish', () => req.socket.end());
    res.end('dropped');
  },
  '/truncate': (req, res) => {
    res.writeHead(200, { 'Content-Length': 100 });
    res.write('only this', () => req.socket.end());
  },
  '/truncate-chunked': (req, res) => {
    res.write('only this', () => req.socket.end());
  },
};

const server = http.createServer(async (req, res) => {
  res.setHeader('X-Connection', req.socket.number);
  res.setHeader('X-Request', ++requests);
  const parts = [];
  for await (const part of req) parts.push(part);
  req.content = Buffer.concat(parts);
  const route = routes[req.url];
  if (!route) return res.writeHead(404).end('not found');
  return route(req, res);
});
server.on('connection', (socket) => { socket.number = ++connections; });
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
