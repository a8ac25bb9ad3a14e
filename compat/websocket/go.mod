module github.com/valyala/fasthttp/compat/websocket

go 1.26.0

require (
	github.com/coder/websocket v1.8.15
	github.com/gorilla/websocket v1.5.3
	github.com/valyala/fasthttp/compat v0.0.0-00010101000000-000000000000
)

replace (
	github.com/valyala/fasthttp => ../..
	github.com/valyala/fasthttp/compat => ..
)
