module github.com/valyala/fasthttp/compat/bridge

go 1.26.0

require (
	github.com/coder/websocket v1.8.15
	github.com/gorilla/websocket v1.5.3
	github.com/valyala/fasthttp v1.77.0
	github.com/valyala/fasthttp/compat v0.0.0-00010101000000-000000000000
)

require (
	github.com/andybalholm/brotli v1.2.8 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace (
	github.com/valyala/fasthttp => ../..
	github.com/valyala/fasthttp/compat => ..
)
