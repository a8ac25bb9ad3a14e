module github.com/valyala/fasthttp/examples/http3

go 1.26.0

require (
	github.com/valyala/fasthttp v1.77.0
	github.com/valyala/fasthttp/http3 v0.0.0
)

require (
	github.com/andybalholm/brotli v1.2.8 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/quic-go/quic-go v0.65.0 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace (
	github.com/valyala/fasthttp => ../..
	github.com/valyala/fasthttp/http3 => ../../http3
)
