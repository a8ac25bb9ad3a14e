module github.com/valyala/fasthttp/compat/h2spec

go 1.26.0

require (
	github.com/summerwind/h2spec v2.2.1+incompatible
	github.com/valyala/fasthttp v1.77.0
	github.com/valyala/fasthttp/compat v0.0.0-00010101000000-000000000000
)

require (
	github.com/andybalholm/brotli v1.2.8 // indirect
	github.com/fatih/color v1.19.0 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/mattn/go-colorable v0.1.14 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace (
	github.com/valyala/fasthttp => ../..
	github.com/valyala/fasthttp/compat => ..
)
