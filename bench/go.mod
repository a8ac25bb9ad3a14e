module github.com/valyala/fasthttp/bench

go 1.26.0

require github.com/valyala/fasthttp v1.77.0

require github.com/klauspost/compress v1.20.3 // indirect

replace github.com/valyala/fasthttp => ..
