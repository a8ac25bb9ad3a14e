module github.com/valyala/fasthttp/bench/servers/websocket

go 1.26.0

require (
	github.com/coder/websocket v1.8.15
	github.com/fasthttp/websocket v1.5.12
	github.com/gobwas/ws v1.5.0
	github.com/gorilla/websocket v1.5.3
	github.com/lxzan/gws v1.8.9
	github.com/valyala/fasthttp v1.77.0
	github.com/valyala/fasthttp/bench v0.0.0
)

require (
	github.com/andybalholm/brotli v1.2.8 // indirect
	github.com/dolthub/maphash v0.1.0 // indirect
	github.com/gobwas/httphead v0.1.0 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/savsgio/gotils v0.0.0-20240704082632-aef3928b8a38 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace (
	github.com/valyala/fasthttp => ../../..
	github.com/valyala/fasthttp/bench => ../..
)
