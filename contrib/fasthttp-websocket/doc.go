// Package websocket has the API of github.com/fasthttp/websocket v1.5.12, implemented by
// package github.com/valyala/fasthttp/websocket. A program that imports the former runs on the
// latter if its go.mod replaces the module: see README.md, which also lists the differences.
//
// New programs import github.com/valyala/fasthttp/websocket.
package websocket
