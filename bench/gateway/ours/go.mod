module github.com/valyala/fasthttp/bench/gateway

go 1.26.0

require github.com/valyala/fasthttp v1.77.0
