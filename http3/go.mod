module github.com/valyala/fasthttp/http3

go 1.26.0

require (
	github.com/quic-go/qpack v0.6.0
	github.com/valyala/fasthttp v1.77.0
)

require (
	github.com/stretchr/testify v1.12.1 // indirect
	golang.org/x/net v0.62.0 // indirect
)

replace github.com/valyala/fasthttp => ../
