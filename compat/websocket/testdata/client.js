// Usage: node client.js URL [MODULE]
//
// It exercises a server with the WebSocket of Node, or that of a module, and prints the number of
// its checks.
const exercise = require('./exercise.js');
const WebSocket = process.argv[3] ? require(process.argv[3]) : globalThis.WebSocket;
exercise(WebSocket, process.argv[2]).then(
	checks => { console.log(checks); process.exit(0); },
	err => { console.error(err); process.exit(1); });
