// Package websocket implements the WebSocket protocol (RFC 6455), for servers and clients.
//
// An [Upgrader] upgrades requests of a fasthttp.Server, and a [Dialer] connects to servers.
// Both yield a [Conn], which has the methods of github.com/gorilla/websocket: programs that
// use that package, or github.com/fasthttp/websocket, change their imports.
package websocket
