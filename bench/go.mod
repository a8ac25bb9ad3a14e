module github.com/valyala/fasthttp/bench

go 1.26.0

require (
	github.com/valyala/fasthttp v1.77.0
	github.com/valyala/fasthttp/bench/gateway v0.0.0
	golang.org/x/net v0.62.0
	golang.org/x/sys v0.49.0
)

require (
	github.com/andybalholm/brotli v1.2.8 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/valyala/fasthttp => ..

replace github.com/valyala/fasthttp/bench/gateway => ./gateway/ours
