// Package pools has faults: values of pools that are released never, twice or too early.
package pools

import (
	"bytes"
	"errors"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

func use(...any) {}

var client fasthttp.Client

func neverReleases() error {
	req := fasthttp.AcquireRequest() // want `the result of AcquireRequest is not released on each path`
	req.SetRequestURI("http://a/")
	return nil
}

func earlyReturn(uri string) error {
	req := fasthttp.AcquireRequest() // want `the result of AcquireRequest is not released on each path: call ReleaseRequest, also before the return in line 25`
	if uri == "" {
		return errors.New("no uri")
	}
	req.SetRequestURI(uri)
	fasthttp.ReleaseRequest(req)
	return nil
}

func releasesOneOfTwo(uri string) (int, error) {
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	resp := fasthttp.AcquireResponse() // want `the result of AcquireResponse is not released on each path`
	if err := client.Do(req, resp); err != nil {
		return 0, err
	}
	code := resp.StatusCode()
	fasthttp.ReleaseResponse(resp)
	return code, nil
}

func usesAfterRelease() int {
	resp := fasthttp.AcquireResponse()
	fasthttp.ReleaseResponse(resp)
	return resp.StatusCode() // want `the result of AcquireResponse is used after its release in line 46`
}

func usesBodyAfterRelease() {
	resp := fasthttp.AcquireResponse()
	body := resp.Body()
	fasthttp.ReleaseResponse(resp)
	use(body) // want `the result of AcquireResponse is used after its release`
}

func returnsBodyAfterRelease() []byte {
	resp := fasthttp.AcquireResponse()
	body := bytes.TrimSpace(resp.Body())
	fasthttp.ReleaseResponse(resp)
	return body // want `the result of AcquireResponse is used after its release`
}

func returnsBodyOfDeferred(req *fasthttp.Request) ([]byte, error) {
	resp := fasthttp.AcquireResponse()
	defer fasthttp.ReleaseResponse(resp)
	if err := client.Do(req, resp); err != nil {
		return nil, err
	}
	return resp.Body(), nil // want `the function returns memory of the result of AcquireResponse, which a deferred call releases: copy it`
}

func returnsItselfThoughDeferred() *fasthttp.Response {
	resp := fasthttp.AcquireResponse()
	defer fasthttp.ReleaseResponse(resp)
	return resp // want `the function returns memory of the result of AcquireResponse, which a deferred call releases`
}

func returnsBodyOfDeferredLiteral() []byte {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer func() {
		fasthttp.ReleaseRequest(req)
		fasthttp.ReleaseResponse(resp)
	}()
	return resp.Body() // want `the function returns memory of the result of AcquireResponse, which a deferred call releases`
}

func sendsBodyOfDeferred(c *fiber.Ctx) error {
	resp := fasthttp.AcquireResponse()
	defer fasthttp.ReleaseResponse(resp)
	return c.Send(resp.Body()) // want `Send does not copy its argument, which is memory of the result of AcquireResponse`
}

func setsRawBodyOfDeferred(ctx *fasthttp.RequestCtx) {
	resp := fasthttp.AcquireResponse()
	defer fasthttp.ReleaseResponse(resp)
	ctx.Response.SetBodyRaw(resp.Body()) // want `SetBodyRaw does not copy its argument`
}

func releasesTwice() {
	args := fasthttp.AcquireArgs()
	fasthttp.ReleaseArgs(args)
	fasthttp.ReleaseArgs(args) // want `the result of AcquireArgs is released twice`
}

func releasesTwiceOnError(err error) {
	uri := fasthttp.AcquireURI()
	defer fasthttp.ReleaseURI(uri)
	if err != nil {
		fasthttp.ReleaseURI(uri) // want `the result of AcquireURI is released twice: line 108 defers a release, too`
		return
	}
	use(uri.String())
}

func defersTwice() {
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseRequest(req) // want `the result of AcquireRequest is released twice`
}

func releasesParameter(req *fasthttp.Request) {
	fasthttp.ReleaseRequest(req)
	req.SetRequestURI("http://a/") // want `req is used after its release`
}

func finish(resp *fasthttp.Response) { fasthttp.ReleaseResponse(resp) }

func usesAfterHelper() {
	resp := fasthttp.AcquireResponse()
	finish(resp)
	use(resp.Body()) // want `the result of AcquireResponse is used after its release`
}

func leaksInLoop(uris []string) {
	for _, uri := range uris {
		req := fasthttp.AcquireRequest() // want `the result of AcquireRequest is not released on each path`
		if uri == "" {
			continue
		}
		req.SetRequestURI(uri)
		fasthttp.ReleaseRequest(req)
	}
}
